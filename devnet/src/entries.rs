//! Rules of a single account or trustline entry: reserves, liabilities, extensions.

use crate::xdr::list;
use stellar_xdr::{
    AccountEntry, AccountEntryExt, AccountEntryExtensionV1, AccountEntryExtensionV1Ext,
    AccountEntryExtensionV2, AccountEntryExtensionV2Ext, AccountEntryExtensionV3, AccountId,
    ExtensionPoint, LedgerEntry, LedgerEntryData, LedgerEntryExt, LedgerEntryExtensionV1,
    Liabilities, SequenceNumber, SponsorshipDescriptor, String32, Thresholds, TimePoint,
    TrustLineEntry, TrustLineEntryExt, TrustLineEntryV1Ext, TrustLineFlags, VecM,
};

/// What the rules need to know of the ledger they run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerParams {
    /// Sequence of the ledger being applied, or of the next one when an envelope is judged before.
    pub ledger_seq: u32,
    /// Close time of that ledger; of the last closed one when an envelope is judged before.
    pub close_time: u64,
    /// Minimum fee of one operation, in stroops.
    pub base_fee: u32,
    /// Reserve of one entry, in stroops.
    pub base_reserve: u32,
}

/// Sequence number an account created in `ledger` starts with; no transaction of that ledger may use it.
pub fn starting_sequence(ledger: u32) -> i64 {
    i64::from(ledger) << 32
}

/// An account as `create_account` makes it.
pub fn new_account(account_id: AccountId, balance: i64, ledger: u32) -> AccountEntry {
    AccountEntry {
        account_id,
        balance,
        seq_num: SequenceNumber(starting_sequence(ledger)),
        num_sub_entries: 0,
        inflation_dest: None,
        flags: 0,
        home_domain: String32::default(),
        thresholds: Thresholds([1, 0, 0, 0]),
        signers: VecM::default(),
        ext: AccountEntryExt::V0,
    }
}

/// A ledger entry around its data, without a sponsor.
pub fn entry(data: LedgerEntryData, ledger: u32) -> LedgerEntry {
    LedgerEntry {
        last_modified_ledger_seq: ledger,
        data,
        ext: LedgerEntryExt::V0,
    }
}

/// Who sponsors an entry's reserve.
pub fn sponsor(entry: &LedgerEntry) -> Option<&AccountId> {
    match &entry.ext {
        LedgerEntryExt::V0 => None,
        LedgerEntryExt::V1(v1) => v1.sponsoring_id.0.as_ref(),
    }
}

/// Writes or clears who sponsors an entry's reserve.
pub fn set_sponsor(entry: &mut LedgerEntry, sponsor: Option<AccountId>) {
    entry.ext = LedgerEntryExt::V1(LedgerEntryExtensionV1 {
        sponsoring_id: SponsorshipDescriptor(sponsor),
        ext: stellar_xdr::LedgerEntryExtensionV1Ext::V0,
    });
}

fn extension_v1(account: &AccountEntry) -> Option<&AccountEntryExtensionV1> {
    match &account.ext {
        AccountEntryExt::V0 => None,
        AccountEntryExt::V1(v1) => Some(v1),
    }
}

/// The account's extension with sponsorship counters, if it has one.
pub fn extension_v2(account: &AccountEntry) -> Option<&AccountEntryExtensionV2> {
    match &extension_v1(account)?.ext {
        AccountEntryExtensionV1Ext::V0 => None,
        AccountEntryExtensionV1Ext::V2(v2) => Some(v2),
    }
}

/// The account's extension with the ledger and time of its last sequence change, if it has one.
pub fn extension_v3(account: &AccountEntry) -> Option<&AccountEntryExtensionV3> {
    match &extension_v2(account)?.ext {
        AccountEntryExtensionV2Ext::V0 => None,
        AccountEntryExtensionV2Ext::V3(v3) => Some(v3),
    }
}

/// The account's extension with sponsorship counters, made if there is none.
pub fn extension_v2_mut(account: &mut AccountEntry) -> &mut AccountEntryExtensionV2 {
    let signers = account.signers.len();
    if matches!(account.ext, AccountEntryExt::V0) {
        account.ext = AccountEntryExt::V1(AccountEntryExtensionV1 {
            liabilities: Liabilities {
                buying: 0,
                selling: 0,
            },
            ext: AccountEntryExtensionV1Ext::V0,
        });
    }
    let AccountEntryExt::V1(v1) = &mut account.ext else {
        unreachable!("the extension was just made")
    };
    if matches!(v1.ext, AccountEntryExtensionV1Ext::V0) {
        v1.ext = AccountEntryExtensionV1Ext::V2(AccountEntryExtensionV2 {
            num_sponsored: 0,
            num_sponsoring: 0,
            signer_sponsoring_i_ds: list(vec![SponsorshipDescriptor(None); signers]),
            ext: AccountEntryExtensionV2Ext::V0,
        });
    }
    let AccountEntryExtensionV1Ext::V2(v2) = &mut v1.ext else {
        unreachable!("the extension was just made")
    };
    v2
}

/// Notes in the account when its sequence number took its present value.
pub fn stamp_sequence(account: &mut AccountEntry, ledger: &LedgerParams) {
    extension_v2_mut(account).ext = AccountEntryExtensionV2Ext::V3(AccountEntryExtensionV3 {
        ext: ExtensionPoint::V0,
        seq_ledger: ledger.ledger_seq,
        seq_time: TimePoint(ledger.close_time),
    });
}

/// Entries this account pays the reserve of for others.
pub fn num_sponsoring(account: &AccountEntry) -> u32 {
    extension_v2(account).map_or(0, |v2| v2.num_sponsoring)
}

/// Entries of this account whose reserve others pay.
pub fn num_sponsored(account: &AccountEntry) -> u32 {
    extension_v2(account).map_or(0, |v2| v2.num_sponsored)
}

fn liabilities(account: &AccountEntry) -> (i64, i64) {
    extension_v1(account).map_or((0, 0), |v1| (v1.liabilities.buying, v1.liabilities.selling))
}

/// Lumens the account must keep, in stroops.
pub fn min_balance(account: &AccountEntry, base_reserve: u32) -> i64 {
    let entries = 2 + i64::from(account.num_sub_entries) + i64::from(num_sponsoring(account))
        - i64::from(num_sponsored(account));
    entries.saturating_mul(i64::from(base_reserve))
}

/// Lumens above reserve and selling liabilities, in stroops; negative below.
pub fn available_balance(account: &AccountEntry, base_reserve: u32) -> i64 {
    account
        .balance
        .saturating_sub(min_balance(account, base_reserve))
        .saturating_sub(liabilities(account).1)
}

/// Adds `delta` stroops; false, and nothing changed, if reserve, liabilities or the number range forbid it.
pub fn add_lumens(account: &mut AccountEntry, delta: i64, base_reserve: u32) -> bool {
    if delta == 0 {
        return true;
    }
    let (buying, selling) = liabilities(account);
    let Some(balance) = account.balance.checked_add(delta).filter(|b| *b >= 0) else {
        return false;
    };
    let too_low = delta < 0 && balance.saturating_sub(min_balance(account, base_reserve)) < selling;
    if too_low || balance > i64::MAX - buying {
        return false;
    }
    account.balance = balance;
    true
}

fn line_liabilities(line: &TrustLineEntry) -> (i64, i64) {
    match &line.ext {
        TrustLineEntryExt::V0 => (0, 0),
        TrustLineEntryExt::V1(v1) => (v1.liabilities.buying, v1.liabilities.selling),
    }
}

/// Whether the issuer lets this line send and receive.
pub fn is_authorized(line: &TrustLineEntry) -> bool {
    line.flags & (TrustLineFlags::AuthorizedFlag as u32) != 0
}

/// The lowest limit the line may be given: what it holds and may still buy.
pub fn minimum_limit(line: &TrustLineEntry) -> i64 {
    line.balance.saturating_add(line_liabilities(line).0)
}

/// Liquidity pools that need this line.
pub fn pool_use_count(line: &TrustLineEntry) -> i32 {
    match &line.ext {
        TrustLineEntryExt::V0 => 0,
        TrustLineEntryExt::V1(v1) => match &v1.ext {
            TrustLineEntryV1Ext::V0 => 0,
            TrustLineEntryV1Ext::V2(v2) => v2.liquidity_pool_use_count,
        },
    }
}

/// Adds `delta` to a line; false, and nothing changed, if limit or liabilities forbid it.
pub fn add_to_line(line: &mut TrustLineEntry, delta: i64) -> bool {
    if delta == 0 {
        return true;
    }
    let (buying, selling) = line_liabilities(line);
    let Some(balance) = line.balance.checked_add(delta).filter(|b| *b >= 0) else {
        return false;
    };
    if balance > line.limit - buying || (delta < 0 && balance < selling) {
        return false;
    }
    line.balance = balance;
    true
}
