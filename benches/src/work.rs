//! What is asked for: payments as callers write them, and ledgers to put them in.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tender::domain::ids::AccountId;
use tender::domain::key::{Fingerprint, Tenant};
use tender::domain::schedule::Priority;
use tender::domain::submission::Budget;
use tender::flow::accept::{Request, canonical, parse};
use tender::flow::backoff::full_jitter;
use tender::ledger::{Ledger, NewSubmission, Rules};
use tender::stellar::signer::Signer;

use crate::Outcome;
use crate::web::{self, Requests};

/// Whose payments they are.
pub const TENANT: &str = "bench";

/// The rules that a worker with default settings applies on a network of 1-s ledgers.
pub fn rules() -> Rules {
    Rules {
        budget: Budget {
            transient_failures: 5,
            claims: 20,
        },
        backoff: full_jitter,
        backoff_base: Duration::from_secs(2),
        backoff_max: Duration::from_secs(120),
        claim_ttl: Duration::from_secs(30),
        resend_after: Duration::from_secs(1),
        max_in_flight: None,
    }
}

/// Opens a ledger that is empty, with as many connections as a process opens by default.
pub async fn fresh_ledger(url: &str, connections: u32) -> Outcome<Ledger> {
    let ledger = Ledger::connect(url, connections, rules()).await?;
    ledger.migrate_up().await?;
    Ok(ledger)
}

/// An account nobody else has.
pub fn fresh_account() -> AccountId {
    Signer::from_seed(&rand::random()).account()
}

/// A payment of a few stroops as the API takes it.
pub fn body(payee: AccountId, number: usize) -> Value {
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

/// The checked request and what the ledger takes, each under a new key.
pub struct Template {
    tenant: Tenant,
    request: Request,
    payload: Value,
    fingerprint: Fingerprint,
}

impl Template {
    pub fn new() -> Outcome<Self> {
        let request = parse(&body(fresh_account(), 1)).map_err(|fault| format!("{fault:?}"))?;
        let payload = request.normal_form();
        Ok(Self {
            tenant: TENANT.parse()?,
            fingerprint: Fingerprint::of(&canonical(&payload)),
            request,
            payload,
        })
    }

    pub fn fresh(&self) -> Outcome<NewSubmission> {
        Ok(NewSubmission {
            tenant: self.tenant.clone(),
            key: uuid::Uuid::new_v4().to_string().parse()?,
            kind: self.request.operation.kind(),
            priority: Priority::Normal,
            business_ref: self.request.business_ref.clone(),
            payload: self.payload.clone(),
            fingerprint: self.fingerprint,
        })
    }
}

/// Posts of new payments.
pub fn posts(key: &str) -> Requests {
    let (key, payee) = (key.to_owned(), fresh_account());
    Arc::new(move |number| {
        let name = uuid::Uuid::new_v4().to_string();
        web::post(
            "/transactions",
            &key,
            &name,
            &body(payee, number).to_string(),
        )
    })
}
