//! Posts the payments over HTTP, duplicates mixed in, from several clients at once.

use std::collections::HashMap;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::DemoError;
use crate::domain::ids::AccountId;
use crate::domain::key::{IdempotencyKey, KeyTag, Tenant};

/// Requests under way at once.
const CLIENTS: usize = 8;
/// Tries of one request before the demonstration gives up.
const MOST_TRIES: usize = 10;

/// What is posted, and to whom.
pub(super) struct Load {
    pub(super) url: String,
    pub(super) api_key: String,
    pub(super) tenant: Tenant,
    pub(super) payees: Vec<AccountId>,
    pub(super) payments: u32,
    pub(super) duplicates: u32,
}

/// When each key was first answered.
pub(super) type Accepted = HashMap<KeyTag, Instant>;

impl Load {
    /// The keys to post, each at least once, in random order.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.payments).collect();
        order.extend((0..self.duplicates).map(|n| n % self.payments));
        order.shuffle(&mut rand::rng());
        order
    }

    /// Posts everything; returns when each key was accepted.
    ///
    /// # Errors
    /// A request was refused, or could not be made at all.
    pub(super) async fn post_all(self) -> Result<Accepted, DemoError> {
        let load = Arc::new(self);
        let client = reqwest::Client::new();
        let answers: Vec<_> = stream::iter(load.order())
            .map(|number| {
                let (load, client) = (Arc::clone(&load), client.clone());
                async move { load.post(&client, number).await }
            })
            .buffer_unordered(CLIENTS)
            .collect()
            .await;
        let mut accepted = Accepted::new();
        for answer in answers {
            let (tag, at) = answer?;
            accepted.entry(tag).and_modify(|first| *first = at.min(*first)).or_insert(at);
        }
        Ok(accepted)
    }

    async fn post(&self, client: &reqwest::Client, number: u32) -> Result<(KeyTag, Instant), DemoError> {
        let name = format!("demo-{number}");
        let key: IdempotencyKey = name.parse().map_err(|_| DemoError::Refused(name.clone()))?;
        let body = self.body(number);
        let mut last = String::new();
        for _ in 0..MOST_TRIES {
            let request = client
                .post(format!("{}/transactions", self.url))
                .bearer_auth(&self.api_key)
                .header("Idempotency-Key", key.as_str())
                .json(&body);
            match request.send().await {
                Ok(answer) if answer.status().is_success() => {
                    return Ok((KeyTag::of(&self.tenant, &key), Instant::now()));
                }
                Ok(answer) if answer.status().is_client_error() && answer.status().as_u16() != 429 => {
                    return Err(DemoError::Refused(answer.text().await.unwrap_or_default()));
                }
                // The same key again is always safe: that is the point.
                Ok(answer) => last = answer.status().to_string(),
                Err(error) => last = error.to_string(),
            }
        }
        Err(DemoError::Refused(last))
    }

    fn body(&self, number: u32) -> Value {
        let payee = self.payees[number as usize % self.payees.len()];
        json!({
            "business_ref": format!("invoice-{number}"),
            "operation": {
                "type": "payment",
                "destination": payee.to_string(),
                "asset": "native",
                "amount": format!("0.{:07}", number % 9_999_999 + 1),
                "memo": { "type": "id", "value": number.to_string() },
            },
        })
    }
}
