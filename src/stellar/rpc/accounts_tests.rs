use super::*;
use crate::stellar::recorded::{NEW_ACCOUNT, USED_ACCOUNT};

/// The RPC gives the entry's data only.
fn data(entry: &str) -> String {
    let entry: xdr::LedgerEntry = convert::read(entry).expect("an entry");
    convert::write(&entry.data)
}

fn account(text: &str) -> AccountId {
    text.parse().expect("an account")
}

fn entry(recorded: (&str, i64, &str)) -> Entry {
    Entry {
        key: key_of(account(recorded.0)),
        xdr: data(recorded.2),
    }
}

fn page(asked: &[AccountId], entries: Vec<Entry>) -> Result<Page, Fault> {
    let keys: Vec<_> = asked.iter().map(|account| key_of(*account)).collect();
    let answer = Answer {
        entries,
        latest_ledger: 20,
    };
    read(asked, &keys, answer)
}

#[test]
fn states_come_in_the_order_asked_and_tell_since_when() {
    let used = account(USED_ACCOUNT.0);
    let new = account(NEW_ACCOUNT.0);
    let nobody = AccountId([9; 32]);
    let found = page(
        &[nobody, used, new],
        vec![entry(NEW_ACCOUNT), entry(USED_ACCOUNT)],
    );
    let present = |sequence, since_ledger| AccountState::Present {
        sequence,
        since_ledger,
    };
    let expected = Page {
        ledger: 20,
        accounts: vec![
            (nobody, AccountState::Absent),
            (used, present(USED_ACCOUNT.1, Some(11))),
            (new, present(NEW_ACCOUNT.1, None)),
        ],
    };
    assert_eq!(found, Ok(expected));
}

#[test]
fn an_entry_that_does_not_fit_makes_no_account_seem_absent() {
    let used = account(USED_ACCOUNT.0);
    let new = account(NEW_ACCOUNT.0);
    let swapped = Entry {
        key: key_of(new),
        xdr: data(USED_ACCOUNT.2),
    };
    let unreadable = Entry {
        key: key_of(used),
        xdr: data(USED_ACCOUNT.2)[..40].to_owned(),
    };
    let tables = [
        vec![entry(USED_ACCOUNT), entry(NEW_ACCOUNT)],
        vec![entry(USED_ACCOUNT), entry(USED_ACCOUNT)],
        vec![swapped],
        vec![unreadable],
    ];
    for entries in tables {
        assert_eq!(page(&[used], entries), Err(Fault::Malformed));
    }
}
