//! What may be paid for being included.

use super::reader::Reader;
use super::registry::Group;
use super::setting::Setting;

static MAX_ABS_FEE: Setting = Setting::number(
    "OUTBOX_MAX_ABS_FEE",
    "100000",
    ("stroops", 200, 10_000_000_000),
    "Hard ceiling on the total fee of one transaction, fee-bumps included. At least twice FEE_ORACLE_DEFAULT_BASE_FEE.",
);
static DEFAULT_BASE_FEE: Setting = Setting::number(
    "FEE_ORACLE_DEFAULT_BASE_FEE",
    "100",
    ("stroops", 100, 1_000_000_000),
    "Fee bid per operation while nothing better is known. The network's minimum is 100.",
);

static SETTINGS: &[&Setting] = &[&MAX_ABS_FEE, &DEFAULT_BASE_FEE];
pub(super) const GROUP: Group = Group {
    title: "Fees",
    settings: SETTINGS,
};

/// Bounds of fees, in stroops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Ceiling on the total fee of one transaction.
    pub max_abs_fee: i64,
    /// Fee per operation while nothing better is known.
    pub default_base_fee: i64,
}

impl Fees {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let max_abs_fee: Option<i64> = r.number(&MAX_ABS_FEE);
        let default_base_fee: Option<i64> = r.number(&DEFAULT_BASE_FEE);
        if let (Some(max), Some(base)) = (max_abs_fee, default_base_fee)
            && base * 2 > max
        {
            r.fault(&MAX_ABS_FEE, "contradicts FEE_ORACLE_DEFAULT_BASE_FEE: a fee-bump of one operation pays for two, which would pass the ceiling");
        }
        Some(Self {
            max_abs_fee: max_abs_fee?,
            default_base_fee: default_base_fee?,
        })
    }
}
