//! What an issuer decides about trustlines of its asset: who may hold it, and taking it back.

use crate::common::{Key, LUMEN, World, config, operation, refusal, signed, transaction};
use stellar_xdr::{
    AccountFlags, AllowTrustOp, AllowTrustResult, AlphaNum4, Asset, AssetCode, AssetCode4,
    ChangeTrustAsset, ChangeTrustOp, ClawbackOp, ClawbackResult, ContractEventBody,
    LedgerEntryData, LedgerKey, LedgerKeyTrustLine, Operation, OperationBody, OperationResult,
    OperationResultTr, PaymentOp, PaymentResult, ScVal, SetOptionsOp, SetTrustLineFlagsOp,
    SetTrustLineFlagsResult, TransactionEnvelope, TransactionMeta, TransactionResultResult,
    TrustLineAsset,
};
use tender_devnet::history::AppliedTransaction;

const AUTHORIZED: u32 = 1;
const MAINTAIN: u32 = 2;
const CLAWBACK: u32 = 4;

struct Market {
    world: World,
    issuer: Key,
    holder: Key,
}

impl Market {
    /// An issuer with these flags, and a holder with an empty line of the asset.
    fn new(flags: &[AccountFlags]) -> Self {
        let (issuer, holder) = (Key::named("issuer"), Key::named("holder"));
        let accounts = [(&issuer, 10 * LUMEN), (&holder, 10 * LUMEN)];
        let mut market = Self {
            world: World::with_accounts(config(), &accounts),
            issuer,
            holder,
        };
        market.set_account_flags(flags);
        let line = ChangeTrustAsset::CreditAlphanum4(market.alphanum());
        let trust = OperationBody::ChangeTrust(ChangeTrustOp { line, limit: 100 });
        let holder = market.holder.clone();
        assert!(market.apply(&holder, trust).is_success());
        market
    }

    fn set_account_flags(&mut self, flags: &[AccountFlags]) {
        let flags = flags.iter().fold(0, |all, flag| all | *flag as u32);
        let options = OperationBody::SetOptions(SetOptionsOp {
            inflation_dest: None,
            clear_flags: Some(15 & !flags),
            set_flags: Some(flags),
            master_weight: None,
            low_threshold: None,
            med_threshold: None,
            high_threshold: None,
            home_domain: None,
            signer: None,
        });
        let issuer = self.issuer.clone();
        assert!(self.apply(&issuer, options).is_success());
    }

    fn alphanum(&self) -> AlphaNum4 {
        AlphaNum4 {
            asset_code: AssetCode4(*b"USDC"),
            issuer: self.issuer.id(),
        }
    }

    fn asset(&self) -> Asset {
        Asset::CreditAlphanum4(self.alphanum())
    }

    fn one(&self, source: &Key, body: OperationBody) -> TransactionEnvelope {
        let operation: Operation = operation(body);
        let sequence = self.world.next_sequence(source);
        let tx = transaction(source, sequence, 100, vec![operation]);
        TransactionEnvelope::Tx(signed(&tx, &[source]))
    }

    fn apply(&mut self, source: &Key, body: OperationBody) -> AppliedTransaction {
        let envelope = self.one(source, body);
        self.world.submit_ok(&envelope);
        self.world.close().transactions[0].clone()
    }

    fn set(&mut self, set_flags: u32, clear_flags: u32) -> AppliedTransaction {
        let issuer = self.issuer.clone();
        let body = OperationBody::SetTrustLineFlags(SetTrustLineFlagsOp {
            trustor: self.holder.id(),
            asset: self.asset(),
            clear_flags,
            set_flags,
        });
        self.apply(&issuer, body)
    }

    fn allow(&mut self, authorize: u32) -> AppliedTransaction {
        let issuer = self.issuer.clone();
        let body = OperationBody::AllowTrust(AllowTrustOp {
            trustor: self.holder.id(),
            asset: AssetCode::CreditAlphanum4(AssetCode4(*b"USDC")),
            authorize,
        });
        self.apply(&issuer, body)
    }

    /// The issuer pays the holder, or the holder pays back.
    fn pay(&mut self, from: &Key, to: &Key, amount: i64) -> AppliedTransaction {
        let body = OperationBody::Payment(PaymentOp {
            destination: to.muxed(),
            asset: self.asset(),
            amount,
        });
        self.apply(from, body)
    }

    fn claw_back(&mut self, amount: i64) -> AppliedTransaction {
        let issuer = self.issuer.clone();
        let body = OperationBody::Clawback(ClawbackOp {
            asset: self.asset(),
            from: self.holder.muxed(),
            amount,
        });
        self.apply(&issuer, body)
    }

    /// Balance and flags of the holder's line.
    fn line(&self) -> (i64, u32) {
        let key = LedgerKey::Trustline(LedgerKeyTrustLine {
            account_id: self.holder.id(),
            asset: TrustLineAsset::CreditAlphanum4(self.alphanum()),
        });
        match &self.world.network.entry(&key).unwrap().data {
            LedgerEntryData::Trustline(line) => (line.balance, line.flags),
            _ => unreachable!("the key of a trustline"),
        }
    }
}

fn result(tx: &AppliedTransaction) -> OperationResultTr {
    let (TransactionResultResult::TxSuccess(results) | TransactionResultResult::TxFailed(results)) =
        &tx.result.result
    else {
        panic!("{:?}", tx.result);
    };
    match &results[0] {
        OperationResult::OpInner(inner) => inner.clone(),
        other => panic!("{other:?}"),
    }
}

/// Name and data of the operation's only event.
fn event(tx: &AppliedTransaction) -> (String, ScVal) {
    let TransactionMeta::V4(meta) = &tx.meta else {
        panic!("meta of version 4")
    };
    let [event] = meta.operations[0].events.as_slice() else {
        panic!("one event")
    };
    let ContractEventBody::V0(body) = &event.body;
    let ScVal::Symbol(name) = &body.topics[0] else {
        panic!("the first topic is a name")
    };
    (name.0.to_string(), body.data.clone())
}

#[test]
fn a_line_waits_for_the_issuer_and_can_be_stopped_again() {
    let mut market = Market::new(&[AccountFlags::RequiredFlag, AccountFlags::RevocableFlag]);
    let (issuer, holder) = (market.issuer.clone(), market.holder.clone());
    assert_eq!(market.line(), (0, 0));
    let refused = market.pay(&issuer, &holder, 10);
    let expected = OperationResultTr::Payment(PaymentResult::NotAuthorized);
    assert_eq!(result(&refused), expected);
    let allowed = market.set(AUTHORIZED, 0);
    assert!(allowed.is_success());
    assert_eq!(
        event(&allowed),
        ("set_authorized".to_owned(), ScVal::Bool(true))
    );
    assert!(market.pay(&issuer, &holder, 10).is_success());
    let stopped = market.set(MAINTAIN, AUTHORIZED);
    assert_eq!(
        event(&stopped),
        ("set_authorized".to_owned(), ScVal::Bool(false))
    );
    assert_eq!(market.line(), (10, MAINTAIN));
    let refused = market.pay(&holder, &issuer, 1);
    let expected = OperationResultTr::Payment(PaymentResult::SrcNotAuthorized);
    assert_eq!(result(&refused), expected);
    let invalid = result(&market.set(AUTHORIZED, 0));
    let expected = SetTrustLineFlagsResult::InvalidState;
    assert_eq!(invalid, OperationResultTr::SetTrustLineFlags(expected));
    assert!(market.allow(AUTHORIZED).is_success());
    assert_eq!(market.line(), (10, AUTHORIZED));
    assert!(market.allow(0).is_success());
    assert_eq!(market.line(), (10, 0));
}

#[test]
fn an_issuer_that_may_not_revoke_cannot() {
    let mut market = Market::new(&[AccountFlags::RequiredFlag]);
    assert!(market.allow(MAINTAIN).is_success());
    assert!(market.allow(AUTHORIZED).is_success());
    for refused in [market.allow(MAINTAIN), market.allow(0)] {
        let expected = OperationResultTr::AllowTrust(AllowTrustResult::CantRevoke);
        assert_eq!(result(&refused), expected);
    }
    for (set, clear) in [(0, AUTHORIZED), (MAINTAIN, AUTHORIZED)] {
        let expected = OperationResultTr::SetTrustLineFlags(SetTrustLineFlagsResult::CantRevoke);
        assert_eq!(result(&market.set(set, clear)), expected);
    }
    assert_eq!(market.line(), (0, AUTHORIZED));
}

#[test]
fn an_asset_is_clawed_back_only_from_lines_that_allow_it() {
    let flags = [
        AccountFlags::RevocableFlag,
        AccountFlags::ClawbackEnabledFlag,
    ];
    let mut market = Market::new(&flags);
    let (issuer, holder) = (market.issuer.clone(), market.holder.clone());
    assert_eq!(market.line(), (0, AUTHORIZED | CLAWBACK));
    market.pay(&issuer, &holder, 10);
    let taken = market.claw_back(4);
    assert!(taken.is_success());
    assert_eq!(event(&taken).0, "clawback");
    assert_eq!(market.line().0, 6);
    let over = OperationResultTr::Clawback(ClawbackResult::Underfunded);
    assert_eq!(result(&market.claw_back(7)), over);
    assert!(market.set(0, CLAWBACK).is_success());
    let refused = OperationResultTr::Clawback(ClawbackResult::NotClawbackEnabled);
    assert_eq!(result(&market.claw_back(1)), refused);
    assert_eq!(market.line(), (6, AUTHORIZED));
}

#[test]
fn what_makes_no_sense_is_refused_before_any_ledger() {
    let mut market = Market::new(&[AccountFlags::RevocableFlag]);
    let (issuer, holder) = (market.issuer.clone(), market.holder.clone());
    let set = |trustor: &Key, set_flags, clear_flags| {
        OperationBody::SetTrustLineFlags(SetTrustLineFlagsOp {
            trustor: trustor.id(),
            asset: market.asset(),
            clear_flags,
            set_flags,
        })
    };
    let allow = OperationBody::AllowTrust(AllowTrustOp {
        trustor: holder.id(),
        asset: AssetCode::CreditAlphanum4(AssetCode4(*b"USDC")),
        authorize: 3,
    });
    let claw = OperationBody::Clawback(ClawbackOp {
        asset: market.asset(),
        from: issuer.muxed(),
        amount: 1,
    });
    let bodies = [
        (&issuer, set(&holder, AUTHORIZED | MAINTAIN, 0)),
        (&issuer, set(&holder, CLAWBACK, 0)),
        (&issuer, set(&holder, AUTHORIZED, AUTHORIZED)),
        (&issuer, set(&holder, 0, 8)),
        (&issuer, set(&issuer, AUTHORIZED, 0)),
        (&holder, set(&issuer, AUTHORIZED, 0)),
        (&issuer, allow),
        (&issuer, claw),
    ];
    for (source, body) in bodies {
        let envelope = market.one(source, body);
        assert_eq!(refusal(&market.world.submit(&envelope)), "TxFailed");
    }
}

#[test]
fn a_line_that_is_not_there_is_told() {
    let mut market = Market::new(&[AccountFlags::RevocableFlag]);
    market.holder = Key::named("nobody");
    let missing = OperationResultTr::SetTrustLineFlags(SetTrustLineFlagsResult::NoTrustLine);
    assert_eq!(result(&market.set(AUTHORIZED, 0)), missing);
    let missing = OperationResultTr::AllowTrust(AllowTrustResult::NoTrustLine);
    assert_eq!(result(&market.allow(AUTHORIZED)), missing);
    let missing = OperationResultTr::Clawback(ClawbackResult::NoTrust);
    assert_eq!(result(&market.claw_back(1)), missing);
}
