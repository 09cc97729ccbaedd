//! Which transitions the rules allow, by the names that the log has for them.

use std::collections::BTreeSet;

use tender::domain::classify::{Cause, Class};
use tender::domain::submission::{
    Budget, Consumer, Event, Gap, Paid, PairUse, State, Status, Verdict,
};
use tender::domain::transition::next;

/// From, event, to.
pub type Transition = (&'static str, &'static str, &'static str);

const BUDGETS: [Budget; 2] = [
    Budget {
        transient_failures: 0,
        claims: 0,
    },
    Budget {
        transient_failures: u32::MAX,
        claims: u32::MAX,
    },
];

/// Every transition that some state allows: what the domain says, asked for all of them.
pub fn transitions() -> BTreeSet<Transition> {
    let mut legal = BTreeSet::new();
    for status in Status::ALL {
        let in_flight = matches!(status, Status::Submitted | Status::Confirming);
        for verdict in Verdict::ALL {
            // No row of another status is of unknown outcome.
            if verdict == Verdict::Indeterminate && !in_flight {
                continue;
            }
            for holds_pair in [false, true] {
                let state = State {
                    status,
                    verdict,
                    holds_pair,
                    ..State::ACCEPTED
                };
                for (event, budget) in events()
                    .iter()
                    .flat_map(|event| BUDGETS.map(|budget| (event, budget)))
                {
                    if let Ok(next) = next(&state, event, budget) {
                        legal.insert((status.as_str(), event.as_str(), next.state.status.as_str()));
                    }
                }
            }
        }
    }
    legal
}

fn events() -> Vec<Event> {
    let causes = [Class::Transient, Class::Terminal].map(|class| Cause {
        class,
        code: String::new(),
    });
    let mut events = vec![
        Event::Claimed,
        Event::ClaimLapsed,
        Event::EnvelopeRecorded,
        Event::ResendBegun,
        Event::Acknowledged,
        Event::AnswerNoted,
        Event::Succeeded,
        Event::EffectMissing,
        Event::ConsumedByForeign,
        Event::ConsumerBeyondReach,
        Event::Recovered(Paid::AsAsked, PairUse::Used),
        Event::Recovered(Paid::AsAsked, PairUse::Unused),
        Event::Recovered(Paid::Otherwise, PairUse::Used),
        Event::Recovered(Paid::Otherwise, PairUse::Unused),
        Event::ResolvedPaid,
        Event::ResolvedNotPaid,
        Event::Cancelled,
        Event::Requeued,
        Event::Deferred,
    ];
    for cause in causes {
        events.push(Event::LedgerFailed(cause.clone()));
        events.push(Event::ProvenDead(cause.clone(), Gap::None));
        events.push(Event::ProvenDead(cause, Gap::Below));
    }
    let consumers = [Consumer::Ours, Consumer::Foreign, Consumer::Unknown];
    events.extend(consumers.map(Event::IdlePairConsumed));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_what_may_and_what_may_not_happen() {
        let legal = transitions();
        assert!(legal.contains(&("pending", "claimed", "building")));
        assert!(legal.contains(&("submitted", "proven_dead", "pending")));
        assert!(!legal.contains(&("confirmed", "requeued", "pending")));
        assert!(!legal.contains(&("pending", "succeeded", "confirmed")));
    }
}
