//! What goes wrong on purpose.
//!
//! A [`FaultPlan`] is a list of [`Rule`]s. A rule either picks calls and says how their answers go wrong, or picks
//! ledgers and says how their closes do. Faults add up: a late answer may also be wrong, and an envelope whose answer is
//! lost may also be held back. Picking is a pure function of the plan's seed and of what was asked before, so the same
//! plan and the same calls in the same order give the same faults. Whoever answers calls ([`crate::rpc::FrontEnd`]) and
//! closes ledgers ([`crate::node::DevNode`]) asks the plan and applies what it says.
//!
//! A fault never breaks the chain's own rules: whatever a client is told, a transaction is in a ledger at most once, in
//! its bounds and with its sequence number. A node that claims a success that never was is not among the faults.
//!
//! - `fault`: what can go wrong
//! - `rule`: when it does
//! - `plan`: all rules together, and the report of what they did
//! - `losses`: the plan of the demo, a share of sends lost in turn before and after the network took them
//! - `weather`: faults of ledgers that last for several of them
//! - `json`: a plan as the admin endpoint takes it

mod fault;
mod json;
mod losses;
mod plan;
mod rule;
mod weather;

pub use fault::{
    CloseFault, Fault, LONGEST_HANG, LONGEST_SKEW_S, Loss, MAX_LEDGERS, MAX_OVERSIZE, Malformed,
    Release,
};
pub use json::{MAX_PLAN_BYTES, PlanError, report_json};
pub use plan::{Call, FaultPlan, FaultReport, Hit, RuleReport};
pub use rule::{
    CallRule, CloseRule, HashScope, Hashes, MAX_HASHES, MAX_RULES, Rule, RuleError, When,
};

pub use crate::past::MAX_LAG;
pub(crate) use plan::Decision;
pub(crate) use weather::Weather;
