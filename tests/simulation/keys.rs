//! What is asked for, by key.

use serde_json::{Value, json};
use tender::domain::ids::SubmissionId;
use tender::domain::key::KeyTag;
use tender::flow::accept::{self, Outcome};
use tender::ledger::Ledger;

use crate::chance::Chance;
use crate::net::{payee, stranger, usd};

/// A key and its request.
pub struct Key {
    pub name: String,
    request: Value,
    pub tag: KeyTag,
    /// Once it is accepted.
    pub id: Option<SubmissionId>,
}

impl Key {
    pub fn any(number: usize, chance: &mut Chance) -> Self {
        let name = format!("key-{number}");
        let operation = match chance.below(10) {
            0..4 => paying("native", &payee().to_string()),
            // Fails until somebody has made the account.
            4..7 => paying("native", &stranger().to_string()),
            7 => json!({
                "type": "create_account",
                "destination": stranger().to_string(),
                "starting_balance": "5",
            }),
            8 => paying(&usd().to_string(), &payee().to_string()),
            // Fails without a trustline.
            _ => paying(&usd().to_string(), &stranger().to_string()),
        };
        Self {
            tag: KeyTag::of(&"acme".parse().unwrap(), &name.parse().unwrap()),
            request: json!({ "operation": operation }),
            name,
            id: None,
        }
    }

    /// Accepts it, or posts it again.
    pub async fn accept(&mut self, ledger: &Ledger) -> &'static str {
        let request = accept::parse(&self.request).unwrap();
        let (tenant, key) = ("acme".parse().unwrap(), self.name.parse().unwrap());
        let accepted = accept::accept(ledger, &tenant, &key, &request);
        match accepted.await.unwrap() {
            Outcome::New(row) => {
                assert!(self.id.is_none(), "accepted twice");
                self.id = Some(row.id);
                "new"
            }
            Outcome::Replayed(row) => {
                assert_eq!(self.id, Some(row.id), "another row");
                "replayed"
            }
            Outcome::Conflict { pointers } => panic!("the same request: {pointers:?}"),
        }
    }

    pub fn asks(&self) -> String {
        format!("{} asks {}", self.name, self.request)
    }
}

fn paying(asset: &str, to: &str) -> Value {
    json!({ "type": "payment", "destination": to, "asset": asset, "amount": "1" })
}
