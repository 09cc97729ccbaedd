//! Who is asking: API keys in `Authorization: Bearer`, their scopes, and how often they may ask.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaSecurityScheme, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use crate::domain::key::Tenant;
use crate::flow::keys::{Scope, Token, allows};
use crate::ledger::ApiKey;
use crate::ledger::Ledger;
use crate::ledger::LedgerError;

use super::patience::reading;
use super::problem::{Code, Problem};

const SCHEME: &str = "ApiKey";
/// A key that was read is believed for that long: so soon a revocation works everywhere.
const BELIEVED: Duration = Duration::from_secs(3);
/// Keys remembered at once.
const MAX_REMEMBERED: usize = 10_000;

/// A scope as a type, so that an operation's signature says what it needs.
pub trait Needs: Send + Sync + 'static {
    /// The scope.
    const SCOPE: Scope;
}

/// Pushing transactions.
pub struct Pushes;
/// Reading the tenant's transactions.
pub struct Reads;
/// Changing any tenant's transactions as staff.
pub struct Operates;

impl Needs for Pushes {
    const SCOPE: Scope = Scope::TransactionsWrite;
}
impl Needs for Reads {
    const SCOPE: Scope = Scope::TransactionsRead;
}
impl Needs for Operates {
    const SCOPE: Scope = Scope::OutboxWrite;
}

/// A caller whose key is valid and has the scope. Extracted before the body is read.
pub struct Caller<N> {
    key: Arc<ApiKey>,
    needs: PhantomData<fn() -> N>,
}

impl<N> Caller<N> {
    /// Whose submissions the caller may see and push.
    pub fn tenant(&self) -> &Tenant {
        &self.key.tenant
    }

    /// The caller's name in logs and evidence.
    pub fn actor(&self) -> String {
        format!("key:{}", self.key.id)
    }
}

impl<'a, N: Needs> ApiExtractor<'a> for Caller<N> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        let scheme = MetaSecurityScheme {
            ty: "http",
            description: Some("An API key: `Authorization: Bearer tender_<id>_<secret>`"),
            name: None,
            key_in: None,
            scheme: Some("bearer"),
            bearer_format: Some("tender_<id>_<secret>"),
            flows: None,
            openid_connect_url: None,
        };
        registry.create_security_scheme(SCHEME, scheme);
    }

    fn security_schemes() -> Vec<&'static str> {
        vec![SCHEME]
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let guard = request
            .data::<Arc<Guard>>()
            .ok_or_else(|| Problem::new(Code::Internal, "no guard is set up"))?;
        let key = guard.admit(bearer(request)?, N::SCOPE).await?;
        Ok(Self {
            key,
            needs: PhantomData,
        })
    }
}

fn bearer(request: &Request) -> Result<&str, Problem> {
    let missing = "an API key is needed: `Authorization: Bearer tender_<id>_<secret>`";
    request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| Problem::new(Code::Unauthenticated, missing))
}

struct Remembered {
    key: Arc<ApiKey>,
    read_at: Instant,
}

/// Checks keys against the ledger and keeps callers within their rate.
pub struct Guard {
    ledger: Ledger,
    remembered: Mutex<HashMap<String, Remembered>>,
    limiter: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
}

impl Guard {
    /// A guard that allows each key so many requests.
    pub fn new(ledger: Ledger, quota: Quota) -> Self {
        Self {
            ledger,
            remembered: Mutex::default(),
            limiter: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
        }
    }

    async fn admit(&self, token: &str, scope: Scope) -> Result<Arc<ApiKey>, Problem> {
        let invalid = || Problem::new(Code::Unauthenticated, "the API key is not valid");
        let token = Token::parse(token).ok_or_else(invalid)?;
        let key = self.find(&token.id).await?.ok_or_else(invalid)?;
        if !token.opens(&key) || key.revoked_at.is_some() {
            return Err(invalid());
        }
        // Only authenticated keys are counted, so the limiter's memory is bounded by their number.
        if let Err(early) = self.limiter.check_key(&key.id) {
            let wait = early.wait_time_from(self.clock.now());
            return Err(
                Problem::new(Code::RateLimited, "too many requests with this API key")
                    .with_retry_after(wait.as_secs() + 1),
            );
        }
        if !allows(&key, scope) {
            let detail = format!("the API key lacks the scope `{scope}`");
            return Err(Problem::new(Code::MissingScope, detail));
        }
        Ok(key)
    }

    async fn find(&self, id: &str) -> Result<Option<Arc<ApiKey>>, LedgerError> {
        if let Some(key) = self.recall(id) {
            return Ok(Some(key));
        }
        let found = reading(self.ledger.find_key(id)).await?.map(Arc::new);
        if let Some(key) = &found {
            self.remember(key);
        }
        Ok(found)
    }

    fn recall(&self, id: &str) -> Option<Arc<ApiKey>> {
        let remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        remembered
            .get(id)
            .filter(|entry| entry.read_at.elapsed() < BELIEVED)
            .map(|entry| Arc::clone(&entry.key))
    }

    fn remember(&self, key: &Arc<ApiKey>) {
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        let entry = Remembered {
            key: Arc::clone(key),
            read_at: Instant::now(),
        };
        remembered.insert(key.id.clone(), entry);
    }
}
