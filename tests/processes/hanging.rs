//! Answers that a sender waits for in vain.

use stellar_xdr::Hash;
use tender_devnet::{
    faults::{Call, Fault, FaultPlan, Loss},
    rpc::Method,
};

/// When the network's answer is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    BeforeAccept,
    AfterAccept,
}

/// A plan that keeps the first sender waiting for an answer that never comes.
pub fn hanging(lost: Lost) -> FaultPlan {
    let hash = Hash([0; 32]);
    let call = Call {
        method: Method::SendTransaction,
        hash: Some(&hash),
    };
    let wanted = match lost {
        Lost::BeforeAccept => Fault::AnswerLostBeforeAccept(Loss::Hang),
        Lost::AfterAccept => Fault::AnswerLostAfterAccept(Loss::Hang),
    };
    (0..64)
        .map(|seed| FaultPlan::seeded(seed, 1000, &[Loss::Hang]))
        .find(|plan| plan.clone().decide(call) == Some(wanted))
        .expect("plans begin either way")
}
