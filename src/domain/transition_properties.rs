//! What holds along every history of reported events, whatever the budget.

use super::*;
use proptest::sample::Index;

/// One event of a history: the row before it, and what it made of the row.
#[derive(Debug)]
struct Step {
    before: State,
    event: Event,
    after: Next,
}

fn budgets() -> impl Strategy<Value = Budget> {
    (0_u32..4, 0_u32..4).prop_map(|(transient_failures, claims)| Budget {
        transient_failures,
        claims,
    })
}

/// Histories of accepted rows: at each step one of the events that are legal there. That the chain knows more than the
/// ledger is rare, and ends a row.
fn histories() -> impl Strategy<Value = (Budget, Vec<Step>)> {
    let pick = (any::<Index>(), prop::bool::weighted(0.05));
    (budgets(), prop::collection::vec(pick, 0..60)).prop_map(|(budget, picks)| {
        let mut row = State::ACCEPTED;
        let mut steps = Vec::new();
        for (pick, forgotten) in picks {
            let legal = events().into_iter().filter_map(|event| {
                let after = next(&row, &event, budget).ok()?;
                let before = row;
                Some(Step {
                    before,
                    event,
                    after,
                })
            });
            let mut legal: Vec<_> = legal
                .filter(|step| is_recovery(step) == forgotten)
                .collect();
            if legal.is_empty() {
                break;
            }
            let step = legal.swap_remove(pick.index(legal.len()));
            row = step.after.state;
            steps.push(step);
        }
        (budget, steps)
    })
}

fn is_recovery(step: &Step) -> bool {
    matches!(step.event, Event::Recovered(..))
}

/// Whether a row that began as an accepted one may look like this.
fn is_possible(row: &State) -> bool {
    let (verdict_fits, pair_fits) = match row.status {
        Status::Pending => (row.verdict == Verdict::Pending, true),
        Status::Building => (row.verdict == Verdict::Pending, row.holds_pair),
        Status::Submitted | Status::Confirming => match row.verdict {
            Verdict::Pending => (true, row.holds_pair),
            Verdict::Indeterminate => (true, !row.holds_pair),
            Verdict::Success | Verdict::Failed | Verdict::Expired | Verdict::Cancelled => {
                (false, true)
            }
        },
        Status::Confirmed => (row.verdict == Verdict::Success, !row.holds_pair),
        Status::Failed => {
            let verdict = match row.category {
                Some(Category::EffectMissing) => row.verdict == Verdict::Success,
                Some(Category::Terminal | Category::TransientExhausted) => {
                    matches!(row.verdict, Verdict::Failed | Verdict::Expired)
                }
                None => false,
            };
            (verdict, !row.holds_pair)
        }
        Status::Cancelled => (row.verdict == Verdict::Cancelled, !row.holds_pair),
        Status::Simulated => (false, false),
    };
    verdict_fits && pair_fits && (row.category.is_none() || row.status == Status::Failed)
}

/// What the step adds to the count of transient failures, or `None` where it starts over.
fn failures_added(step: &Step) -> Option<u32> {
    let failed = matches!(step.event, Event::LedgerFailed(_) | Event::ProvenDead(..));
    let again = step.after.state.status == Status::Pending;
    (step.event != Event::Requeued).then_some(u32::from(failed && again))
}

/// What the step adds to the count of claims, or `None` where it starts over.
fn claims_added(step: &Step) -> Option<i64> {
    let starts_over = matches!(step.event, Event::EnvelopeRecorded | Event::Requeued);
    let put_off = step.event == Event::Deferred && step.before.status == Status::Building;
    let claimed = i64::from(step.event == Event::Claimed);
    (!starts_over).then_some(claimed - i64::from(put_off))
}

proptest! {
    #[test]
    fn no_history_leads_to_a_row_that_cannot_be((_, steps) in histories()) {
        for step in steps {
            prop_assert!(is_possible(&step.after.state), "{step:?}");
        }
    }

    /// A pair is leased before it is held, and given back once, by who holds it.
    #[test]
    fn the_fate_of_the_pair_is_what_the_row_says_it_holds((_, steps) in histories()) {
        for step in steps {
            let held = step.before.holds_pair;
            let holds = match step.after.pair {
                PairFate::Keep => held,
                PairFate::Lease => true,
                PairFate::Spent | PairFate::Unused | PairFate::Reseed | PairFate::Quarantine => {
                    prop_assert!(held, "what nobody holds is given back: {step:?}");
                    false
                }
            };
            prop_assert_eq!(step.after.state.holds_pair, holds, "{:?}", step);
        }
    }

    /// What ended moves by a requeue alone, into the next generation, unless the ledger had forgotten a payment; what
    /// succeeded moves no more.
    #[test]
    fn a_row_ends_at_most_once_in_a_generation((_, steps) in histories()) {
        let mut ended_in = None;
        for step in steps {
            let (before, after) = (&step.before, &step.after.state);
            prop_assert_ne!(before.verdict, Verdict::Success, "{:?}", step);
            if is_recovery(&step) {
                prop_assert_eq!((after.verdict, after.generation), (Verdict::Success, before.generation));
                continue;
            }
            if before.status.is_terminal() {
                prop_assert_eq!(&step.event, &Event::Requeued);
                prop_assert_eq!(*after, State { generation: before.generation + 1, ..State::ACCEPTED });
            } else {
                prop_assert_eq!(after.generation, before.generation);
            }
            if after.status.is_terminal() {
                prop_assert_ne!(ended_in.replace(after.generation), Some(after.generation));
            }
        }
    }

    #[test]
    fn budgets_count_failures_and_claims_and_nothing_else((budget, steps) in histories()) {
        for step in steps {
            let (before, after) = (&step.before, &step.after.state);
            let failures = failures_added(&step).map_or(0, |more| before.transient_failures + more);
            prop_assert_eq!(after.transient_failures, failures, "{:?}", step);
            prop_assert!(failures <= budget.transient_failures);
            let claims = claims_added(&step).map_or(0, |more| i64::from(before.claims) + more);
            prop_assert_eq!(i64::from(after.claims), claims, "{:?}", step);
        }
    }

    /// A retry is refused when its budget is spent, and not a step earlier.
    #[test]
    fn a_row_that_may_be_tried_again_ends_only_with_its_budget((budget, steps) in histories()) {
        for step in steps {
            let ended = step.after.state.category;
            let spent = match &step.event {
                Event::LedgerFailed(cause) | Event::ProvenDead(cause, _) => match cause.class {
                    Class::Transient => step.before.transient_failures >= budget.transient_failures,
                    Class::Terminal => {
                        prop_assert_eq!(ended, Some(Category::Terminal));
                        continue;
                    }
                },
                Event::ClaimLapsed => step.before.claims >= budget.claims,
                _neither => continue,
            };
            prop_assert_eq!(ended, spent.then_some(Category::TransientExhausted), "{:?}", step);
        }
    }

    /// Sends and their answers settle nothing: only the chain, staff and spent budgets end a row that was recorded.
    #[test]
    fn no_answer_ends_a_row_or_frees_its_pair((_, steps) in histories()) {
        for step in steps {
            let (before, after) = (&step.before, &step.after.state);
            let told_by_a_send = matches!(
                step.event,
                Event::Acknowledged | Event::AnswerNoted | Event::ResendBegun | Event::EnvelopeRecorded
            );
            if told_by_a_send {
                prop_assert!(matches!(after.status, Status::Submitted | Status::Confirming));
                prop_assert_eq!((after.verdict, after.holds_pair), (before.verdict, before.holds_pair));
                prop_assert_eq!(step.after.pair, PairFate::Keep);
            }
            if before.verdict == Verdict::Indeterminate {
                prop_assert!(!told_by_a_send && step.event != Event::Claimed, "{:?}", step);
            }
        }
    }
}
