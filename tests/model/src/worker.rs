//! Workers: claim, record, send, note the answer. The last two are a reconciler's as well.

use tender::domain::classify::{
    Cause, Class, Fault, Refusal, SendAnswer, SendDecision, after_send,
};
use tender::domain::codes::{Failure, OpFailure, PaymentCode, TxCode};
use tender::domain::submission::{Event, Gap, Status};

use crate::bugs::Bug;
use crate::chain::WINDOW_S;
use crate::checker::Protocol;
use crate::ledger::{Brings, Change};
use crate::world::{Answer, Channel, Doing, Id, Key, Pair, Sending, World};

impl World {
    /// Pairs that a claim of the row may get: the one it holds, or the next of a free account.
    pub fn claimable(&self, key: Key) -> Vec<Pair> {
        let row = self.row(key);
        if row.state.status != Status::Pending {
            return Vec::new();
        }
        if let Some(held) = row.held() {
            return vec![held];
        }
        let pool = (0u8..).zip(&self.pool);
        pool.filter_map(|(account, channel)| match *channel {
            Channel::Free { next_sequence } => Some(Pair {
                account,
                sequence: next_sequence,
            }),
            Channel::Leased { .. } | Channel::Quarantined => None,
        })
        .collect()
    }

    pub fn claim(&mut self, protocol: &Protocol, key: Key, pair: Pair) -> Option<Doing> {
        let change = Change {
            brings: Brings::Claim(pair),
            ..Change::new(key, self.row(key).version, Event::Claimed)
        };
        self.apply(protocol, &change).then(|| Doing::Claimed {
            key,
            version: self.row(key).version,
            fence: self.row(key).fence,
        })
    }

    /// Builds for the pair of the claim, dated by a ledger seen some time ago.
    pub fn build(&mut self, key: Key, seen: u8) -> Option<Id> {
        let pair = self.row(key).pair?;
        let max_time = self.chain.closed_at(seen) + WINDOW_S;
        Some(self.sign(key, pair, None, max_time))
    }

    /// Hands bytes over. A copy that cannot be included any more is as good as none.
    pub fn send(&mut self, id: Id, arrives: bool) {
        if arrives && self.alive(id) {
            self.envelope_mut(id).abroad = true;
        }
    }

    /// Notes what a send was answered, on the row as it was read before the call.
    pub fn note(&mut self, protocol: &Protocol, id: Id, version: u8, answer: Answer) {
        if self.misread(protocol, id, answer) {
            return;
        }
        let decision = after_send(&as_told(answer));
        let event = match decision {
            SendDecision::Acknowledged => Event::Acknowledged,
            SendDecision::Resend(..) | SendDecision::RaiseFee { .. } | SendDecision::Stop(_) => {
                Event::AnswerNoted
            }
        };
        let sending = match decision {
            SendDecision::Acknowledged | SendDecision::Resend(..) => Sending::Resend,
            SendDecision::RaiseFee { .. } => Sending::RaiseFee,
            SendDecision::Stop(cause) => Sending::Stopped {
                terminal: cause.class == Class::Terminal,
            },
        };
        let change = Change {
            sending: Some(sending),
            ..Change::new(id.key, version, event)
        };
        self.apply(protocol, &change);
    }

    /// What a planted bug makes of an answer.
    fn misread(&mut self, protocol: &Protocol, id: Id, answer: Answer) -> bool {
        let pair = self.envelope(id).pair;
        let version = self.row(id.key).version;
        let Some(bug) = protocol.bug else {
            return false;
        };
        if (bug, answer) == (Bug::RebuildOnTimeOut, Answer::TimeOut) {
            let dead = Event::ProvenDead(Cause::expired(), Gap::Below);
            let change = Change {
                sequence: Some(pair.sequence),
                ..Change::new(id.key, version, dead)
            };
            self.apply(protocol, &change);
        } else if (bug, answer) == (Bug::LeaseFreedOnTimeOut, Answer::TimeOut) {
            self.pool[usize::from(pair.account)] = Channel::Free {
                next_sequence: pair.sequence,
            };
        } else if (bug, answer) == (Bug::RefusalMeansFailed, Answer::Refused) {
            let dead = Event::ProvenDead(cause(true), Gap::None);
            self.apply(protocol, &Change::new(id.key, version, dead));
        } else {
            return false;
        }
        true
    }
}

/// The cause of a failure of that kind.
pub fn cause(terminal: bool) -> Cause {
    if terminal {
        Cause {
            class: Class::Terminal,
            code: "refused".to_owned(),
        }
    } else {
        Cause::expired()
    }
}

fn as_told(answer: Answer) -> SendAnswer {
    let refused = |failure| {
        SendAnswer::Refused(Refusal {
            failure,
            fee_charged: 200,
        })
    };
    match answer {
        Answer::Pending => SendAnswer::Pending,
        Answer::TimeOut => SendAnswer::Unknown(Fault::Timeout),
        Answer::FeeTooLow => refused(Failure::Tx(TxCode::InsufficientFee)),
        Answer::TooLate => refused(Failure::Tx(TxCode::TooLate)),
        Answer::Refused => refused(Failure::Op(OpFailure::Payment(PaymentCode::NoTrust))),
    }
}
