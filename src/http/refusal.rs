//! One type an operation for the ways it refuses, so that the OpenAPI document lists them and no others.

use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaResponses, Registry};

use crate::ledger::LedgerError;

use super::problem::{self, Problem};

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident: $($status:literal),+;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Problem);

        impl $name {
            const STATUSES: &'static [u16] = &[$($status),+];
        }

        impl From<Problem> for $name {
            fn from(problem: Problem) -> Self {
                debug_assert!(Self::STATUSES.contains(&problem.status().as_u16()), "undocumented: {problem:?}");
                Self(problem)
            }
        }

        impl From<LedgerError> for $name {
            fn from(error: LedgerError) -> Self {
                Problem::from(error).into()
            }
        }

        impl From<$name> for poem::Error {
            fn from(refusal: $name) -> Self {
                refusal.0.into()
            }
        }

        impl ApiResponse for $name {
            fn meta() -> MetaResponses {
                problem::document(Self::STATUSES)
            }

            fn register(registry: &mut Registry) {
                problem::register(registry);
            }
        }
    )* };
}

refusals! {
    /// Pushing a transaction.
    PushRefused: 400, 401, 403, 408, 413, 415, 422, 429, 500, 503;
    /// Listing transactions.
    ListRefused: 400, 401, 403, 429, 500, 503;
    /// Reading one transaction.
    ReadRefused: 400, 401, 403, 404, 429, 500, 503;
    /// Reading a status, in public.
    StatusRefused: 400, 403, 404, 500, 503;
    /// Changing a transaction as staff.
    ChangeRefused: 400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503;
    /// Reading whether the process is alive.
    LiveRefused: 503;
    /// Reading whether the service is ready.
    ReadyRefused: 503;
    /// Reading metrics.
    MetricsRefused: 500;
}
