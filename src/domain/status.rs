//! Where a submission can stand, what is known of its effect, and why it failed.

/// Where a submission stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Waits for its turn. It may hold a pair whose envelopes are all proven dead.
    Pending,
    /// Claimed by a worker that holds a pair and has not recorded an envelope of this claim yet.
    Building,
    /// An envelope is recorded. The network may have it.
    Submitted,
    /// A node acknowledged an envelope: it is in a queue, or was.
    Confirming,
    /// In a ledger, with the expected effect. Terminal.
    Confirmed,
    /// Without effect for certain, except when the category says `effect_missing`. Terminal until staff requeue it.
    Failed,
    /// Withdrawn before any envelope could take effect. Terminal.
    Cancelled,
    /// Checked without sending. Terminal.
    Simulated,
}

impl Status {
    /// All states.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Building,
        Self::Submitted,
        Self::Confirming,
        Self::Confirmed,
        Self::Failed,
        Self::Cancelled,
        Self::Simulated,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Building => "building",
            Self::Submitted => "submitted",
            Self::Confirming => "confirming",
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Simulated => "simulated",
        }
    }

    /// Whether pollers may stop: nothing but staff moves the row from here.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Pending | Self::Building | Self::Submitted | Self::Confirming => false,
            Self::Confirmed | Self::Failed | Self::Cancelled | Self::Simulated => true,
        }
    }
}

/// What is known of the effect on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing was decided yet.
    Pending,
    /// A transaction of the key succeeded in a ledger.
    Success,
    /// A transaction of the key is in a ledger, failed: no effect.
    Failed,
    /// No envelope of the key can be applied any more, and none was.
    Expired,
    /// Withdrawn before it could take effect.
    Cancelled,
    /// The sequence is used and the history that would tell by whom is out of reach. Staff decide.
    Indeterminate,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Success,
        Self::Failed,
        Self::Expired,
        Self::Cancelled,
        Self::Indeterminate,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Expired => "EXPIRED",
            Self::Cancelled => "CANCELLED",
            Self::Indeterminate => "INDETERMINATE",
        }
    }
}

/// Why a submission failed, as far as frontends need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// It could have worked, but the retry budget is spent.
    TransientExhausted,
    /// Trying again changes nothing.
    Terminal,
    /// The transaction succeeded without the expected event: money may have moved.
    EffectMissing,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 3] = [
        Self::TransientExhausted,
        Self::Terminal,
        Self::EffectMissing,
    ];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TransientExhausted => "transient_exhausted",
            Self::Terminal => "terminal",
            Self::EffectMissing => "effect_missing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows keep these names, and callers compare them: another spelling would orphan both.
    #[test]
    fn states_verdicts_and_categories_keep_their_names() {
        assert_eq!(
            Status::ALL.map(Status::as_str),
            [
                "pending",
                "building",
                "submitted",
                "confirming",
                "confirmed",
                "failed",
                "cancelled",
                "simulated"
            ]
        );
        assert_eq!(
            Verdict::ALL.map(Verdict::as_str),
            [
                "PENDING",
                "SUCCESS",
                "FAILED",
                "EXPIRED",
                "CANCELLED",
                "INDETERMINATE"
            ]
        );
        assert_eq!(
            Category::ALL.map(Category::as_str),
            ["transient_exhausted", "terminal", "effect_missing"]
        );
    }

    #[test]
    fn pollers_stop_at_the_four_states_that_end() {
        let ended: Vec<_> = Status::ALL
            .into_iter()
            .filter(|status| status.is_terminal())
            .collect();
        assert_eq!(
            ended,
            [
                Status::Confirmed,
                Status::Failed,
                Status::Cancelled,
                Status::Simulated
            ]
        );
    }
}
