//! What goes wrong with the network all the while, by the seed.

use tender_devnet::faults::{
    CallRule, CloseFault, Fault, FaultPlan, Hashes, Loss, Malformed, Release, Rule, When,
};
use tender_devnet::rpc::Method;

use Method::{GetEvents, GetLedgerEntries, GetTransaction, GetTransactions, SendTransaction};

/// Losses, lies by omission, delays and bad ledgers, each now and then; some envelopes never arrive, so that they die.
pub fn storm(seed: u64) -> FaultPlan {
    let send = |fault, share| Rule::call(fault, &[SendTransaction], When::Share(share));
    let any = |fault, share| Rule::call(fault, &[], When::Share(share));
    let rules = vec![
        send(Fault::AnswerLostAfterAccept(Loss::Reset), 60),
        send(Fault::AnswerLostAfterAccept(Loss::Hang), 15),
        send(Fault::AnswerLostBeforeAccept(Loss::GatewayTimeout), 60),
        send(Fault::UnknownStatus { taken: true }, 20),
        send(Fault::TryAgainLater { taken: true }, 20),
        send(Fault::TryAgainLater { taken: false }, 20),
        send(Fault::BadSequence { ledgers: 2 }, 50),
        send(
            Fault::Held {
                until: Release::After(3),
                dropped: false,
            },
            30,
        ),
        send(Fault::WrongHash, 10),
        any(Fault::AnswerLostBeforeAccept(Loss::RpcInternal), 15),
        any(Fault::AnswerLostBeforeAccept(Loss::ServiceUnavailable), 15),
        any(Fault::Malformed(Malformed::Truncated), 10),
        any(Fault::Slow { ms: 150 }, 40),
        any(Fault::Lag { ledgers: 2 }, 20),
        Rule::Call(CallRule {
            methods: vec![GetTransaction, GetTransactions, GetEvents],
            hashes: Hashes::Share(150),
            when: When::Always,
            fault: Fault::IndexLag { ledgers: 4 },
        }),
        Rule::Call(CallRule {
            methods: vec![SendTransaction],
            hashes: Hashes::Share(40),
            when: When::Always,
            fault: Fault::AnswerLostBeforeAccept(Loss::BadGateway),
        }),
        Rule::close(CloseFault::Empty { ledgers: 2 }, When::Share(30)),
        Rule::close(CloseFault::Stall { intervals: 4 }, When::Share(8)),
        Rule::close(surge(3_000, 6), When::Share(10)),
    ];
    FaultPlan::ruled(seed, rules).expect("the rules can be followed")
}

/// Every answer to a send is lost, and the network has nothing.
pub fn nothing_arrives() -> FaultPlan {
    let lost = Fault::AnswerLostBeforeAccept(Loss::ServiceUnavailable);
    plan(Rule::call(lost, &[SendTransaction], When::Always))
}

/// No node has more history than its last ledger.
pub fn short_history() -> FaultPlan {
    plan(Rule::call(
        Fault::ShortHistory { ledgers: 1 },
        &[],
        When::Always,
    ))
}

/// Sends are slow, so that workers are busy.
pub fn slow_sends() -> FaultPlan {
    plan(Rule::call(
        Fault::Slow { ms: 250 },
        &[SendTransaction],
        When::Always,
    ))
}

/// Reads of accounts are slow, so that a process that starts is waited for there.
pub fn slow_accounts() -> FaultPlan {
    plan(Rule::call(
        Fault::Slow { ms: 1_000 },
        &[GetLedgerEntries],
        When::Always,
    ))
}

/// From the next ledger on nothing below that bid gets in.
pub fn fees_rise(min_bid: u32) -> FaultPlan {
    plan(Rule::close(surge(min_bid, 10_000), When::UpTo(1)))
}

fn surge(min_bid: u32, ledgers: u32) -> CloseFault {
    CloseFault::FeeSurge {
        min_bid,
        ledgers,
        queue_full: true,
    }
}

fn plan(rule: Rule) -> FaultPlan {
    FaultPlan::ruled(0, vec![rule]).expect("the rule can be followed")
}
