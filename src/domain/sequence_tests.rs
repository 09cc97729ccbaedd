use super::*;
use proptest::prelude::*;

fn known(next: i64, held: &[i64], chain: Option<i64>) -> Sequences {
    Sequences {
        next,
        held: held.iter().copied().collect(),
        chain,
    }
}

#[test]
fn the_lowest_free_sequence_goes_first() {
    use Allocation::{Fresh, Full, Gap};
    let table = [
        (known(6, &[], None), Fresh { after: 5, last: 7 }, "at rest"),
        (
            known(6, &[6], None),
            Fresh { after: 6, last: 7 },
            "one behind the first",
        ),
        (known(6, &[6, 7], None), Full, "both are out"),
        (
            known(6, &[7], None),
            Gap(6),
            "the first one died and was given back",
        ),
        (
            known(7, &[6, 7], None),
            Fresh { after: 7, last: 8 },
            "the first is used but not settled",
        ),
        (
            known(6, &[6, 7], Some(7)),
            Full,
            "used on the chain, but by what is held",
        ),
        (
            known(6, &[], Some(5)),
            Fresh { after: 5, last: 7 },
            "the chain agrees",
        ),
        (
            known(6, &[], Some(3)),
            Fresh { after: 5, last: 7 },
            "a node that lags",
        ),
        (known(6, &[], Some(6)), Gap(6), "used by nobody we know"),
        (known(6, &[6], Some(9)), Gap(7), "the one after ours too"),
        (known(6, &[9], None), Gap(6), "held from before"),
    ];
    for (sequences, expected, why) in table {
        assert_eq!(sequences.allocate(2), expected, "{why}: {sequences:?}");
    }
    assert_eq!(known(6, &[], None).allocate(0), Full);
}

#[test]
fn the_last_sequences_of_all_end_in_a_refusal_not_in_a_wrap() {
    let end = known(i64::MAX, &[i64::MAX], None);
    assert_eq!(end.allocate(2), Allocation::Full);
    assert_eq!(end.admit(i64::MAX, 2), Err(Refusal::Held));
}

#[test]
fn only_the_next_few_that_nobody_holds_are_admitted() {
    let sequences = known(6, &[7], Some(5));
    let table = [
        (i64::MIN, Err(Refusal::Used)),
        (5, Err(Refusal::Used)),
        (6, Ok(())),
        (7, Err(Refusal::Held)),
        (8, Err(Refusal::Ahead)),
        (i64::MAX, Err(Refusal::Ahead)),
    ];
    for (sequence, expected) in table {
        assert_eq!(sequences.admit(sequence, 2), expected, "{sequence}");
    }
}

#[test]
fn what_is_not_the_next_waits() {
    let sequences = known(6, &[6, 7], None);
    assert!(sequences.is_turn(6));
    assert!(!sequences.is_turn(7));
    assert!(
        sequences.is_turn(5),
        "a used one is the reconciler's to settle"
    );
}

#[test]
fn a_row_without_an_envelope_blocks_those_above_it() {
    assert!(Sequences::blocks(6, [6, 7]));
    assert!(!Sequences::blocks(7, [6, 7]));
    assert!(!Sequences::blocks(6, [6]));
}

/// What may be known of an account, the ends of the range among it.
fn anything_known() -> impl Strategy<Value = Sequences> {
    let near = |next: i64| next.saturating_sub(3)..=next.saturating_add(6);
    let next = prop_oneof![4 => 5_i64..50, 1 => i64::MAX - 5..=i64::MAX, 1 => 1_i64..=i64::MAX - 9];
    next.prop_flat_map(move |next| {
        let held = prop::collection::btree_set(near(next), 0..6);
        (held, prop::option::of(near(next))).prop_map(move |(held, chain)| Sequences {
            next,
            held,
            chain,
        })
    })
}

proptest! {
    /// Handing out and admitting agree: what goes next is the lowest that is admitted, and there is none where none is.
    #[test]
    fn what_goes_next_is_the_lowest_that_is_admitted(known in anything_known(), depth in 0_u32..6) {
        let end = known.next.saturating_add(8);
        let lowest = (known.next.saturating_sub(4)..=end).find(|it| known.admit(*it, depth).is_ok());
        let next = match known.allocate(depth) {
            Allocation::Gap(gap) => {
                let behind = known.held.iter().any(|held| *held > gap);
                prop_assert!(behind || known.chain.is_some_and(|chain| chain >= gap));
                Some(gap)
            }
            Allocation::Fresh { after, last } => {
                prop_assert!(known.held.iter().chain(&known.chain).all(|it| *it <= after));
                let fresh = (after + 1)..=last;
                prop_assert!(fresh.clone().count() <= depth as usize);
                for sequence in fresh {
                    prop_assert_eq!(known.admit(sequence, depth), Ok(()));
                }
                prop_assert!(known.admit(last + 1, depth).is_err());
                Some(after + 1)
            }
            Allocation::Full => None,
        };
        prop_assert_eq!(next, lowest);
    }

    #[test]
    fn nothing_is_admitted_that_is_used_held_or_too_far_ahead(
        known in anything_known(), sequence in any::<i64>(), off in -4_i64..9, near in any::<bool>(), depth in 0_u32..6,
    ) {
        let sequence = if near { known.next.saturating_add(off) } else { sequence };
        let ahead = i128::from(sequence) - i128::from(known.next);
        let expected = if ahead < 0 {
            Err(Refusal::Used)
        } else if known.held.contains(&sequence) {
            Err(Refusal::Held)
        } else if ahead >= i128::from(depth) {
            Err(Refusal::Ahead)
        } else {
            Ok(())
        };
        // The very last number of all is never reached.
        let reachable = i128::from(known.next) + i128::from(depth) <= i128::from(i64::MAX);
        if reachable || expected.is_err() {
            prop_assert_eq!(known.admit(sequence, depth), expected);
        }
    }
}

/// What happens to an account that submissions share.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A claim, for which somebody may propose whatever they like.
    Claim { proposed: Option<i64> },
    /// The chain applies what is next, if an envelope of it is alive.
    Apply,
    /// An envelope dies unapplied and its row gives the pair back.
    Die { nth: usize },
    /// What the chain applied is settled.
    Settle { nth: usize },
}

fn happening() -> impl Strategy<Value = Happening> {
    let lie = prop_oneof![
        Just(None),
        (90_i64..120).prop_map(Some),
        any::<i64>().prop_map(Some),
    ];
    prop_oneof![
        4 => lie.prop_map(|proposed| Happening::Claim { proposed }),
        3 => Just(Happening::Apply),
        1 => (0_usize..4).prop_map(|nth| Happening::Die { nth }),
        3 => (0_usize..4).prop_map(|nth| Happening::Settle { nth }),
    ]
}

/// The ledger's account, and the chain's.
#[derive(Debug)]
struct Account {
    sequences: Sequences,
    applied: i64,
    claims: usize,
}

impl Account {
    fn go(&mut self, what: Happening, depth: u32) {
        match what {
            Happening::Claim { proposed } => self.claim(proposed, depth),
            Happening::Apply if self.sequences.held.contains(&(self.applied + 1)) => {
                self.applied += 1;
            }
            Happening::Apply => {}
            Happening::Die { nth } => {
                let unused = self.sequences.held.iter().filter(|it| **it > self.applied);
                if let Some(sequence) = unused.copied().nth(nth) {
                    self.sequences.held.remove(&sequence);
                }
            }
            Happening::Settle { nth } => {
                let used = self.sequences.held.iter().filter(|it| **it <= self.applied);
                if let Some(sequence) = used.copied().nth(nth) {
                    self.sequences.held.remove(&sequence);
                    self.sequences.next = self.sequences.next.max(sequence + 1);
                }
            }
        }
    }

    fn claim(&mut self, proposed: Option<i64>, depth: u32) {
        let sequence = match (proposed, self.sequences.allocate(depth)) {
            (Some(proposed), _) => proposed,
            (None, Allocation::Gap(gap)) => gap,
            (None, Allocation::Fresh { after, .. }) => after + 1,
            (None, Allocation::Full) => return,
        };
        let admitted = self.sequences.admit(sequence, depth);
        assert!(proposed.is_some() || admitted.is_ok(), "its own is refused");
        if admitted.is_ok() {
            assert!(sequence > self.applied, "it is used: {self:?}");
            assert!(self.sequences.held.insert(sequence), "held twice: {self:?}");
            self.claims += 1;
        }
    }
}

proptest! {
    #[test]
    fn no_sequence_is_held_twice_or_after_it_was_used_whoever_proposes_it(
        happenings in prop::collection::vec(happening(), 1..200),
        depth in 1_u32..5,
    ) {
        let mut account = Account {
            sequences: known(100, &[], None),
            applied: 99,
            claims: 0,
        };
        for what in happenings {
            // Everything used is held or was settled in the order of the chain, or the account moved without us.
            account.go(what, depth);
            let ahead = account.sequences.held.iter().filter(|it| **it > account.applied);
            prop_assert!(ahead.count() <= depth as usize, "{account:?}");
        }
    }

    #[test]
    fn an_account_always_goes_on_whatever_died(
        happenings in prop::collection::vec(happening(), 0..60),
        depth in 1_u32..5,
    ) {
        let mut account = Account {
            sequences: known(100, &[], None),
            applied: 99,
            claims: 0,
        };
        for what in happenings {
            account.go(what, depth);
        }
        let (before, claims) = (account.applied, account.claims);
        for _ in 0..20 {
            account.go(Happening::Claim { proposed: None }, depth);
            account.go(Happening::Apply, depth);
            account.go(Happening::Settle { nth: 0 }, depth);
        }
        prop_assert!(account.applied >= before + 15, "{account:?}");
        prop_assert!(account.claims >= claims + 10, "{account:?}");
    }
}
