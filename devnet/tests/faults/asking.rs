//! What these tests do with a served node all the time.

use crate::support::Served;
use serde_json::{Value, json};
use tender_devnet::faults::{FaultPlan, Rule};

impl Served {
    /// Lets these things go wrong from now on.
    pub fn rules(&self, rules: Vec<Rule>) {
        self.node.set_faults(FaultPlan::ruled(1, rules).unwrap());
    }

    /// The answer to the question for a transaction.
    pub async fn look_up(&self, hash: &str) -> Value {
        self.call("getTransaction", json!({"hash": hash})).await
    }
}
