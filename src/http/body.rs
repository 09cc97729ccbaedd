//! The body of a request: bounded in size and time, sent as JSON, read strictly, and documented as a `T`.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::Shared;
use super::problem::{Code, Problem};
use crate::flow::json;

/// Of a body that is too large so much more is read, so that the caller gets the answer and not a broken connection.
const DRAINED_BYTES: usize = 4 * 1024 * 1024;
/// A body must have arrived within that time.
const ARRIVAL: Duration = Duration::from_secs(10);

/// A JSON body. Its fields are checked where faults can be collected, not here.
pub struct Document<T> {
    /// What was sent.
    pub value: Value,
    schema: PhantomData<fn() -> T>,
}

impl<'a, T: Type> ApiExtractor<'a> for Document<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Some(MetaRequest {
            description: None,
            content: vec![MetaMediaType {
                content_type: "application/json",
                schema: T::schema_ref(),
            }],
            required: true,
        })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        check_headers(request)?;
        let limit = limit(request)?;
        let reader = body.take()?.into_async_read();
        let bytes = tokio::time::timeout(ARRIVAL, read(reader, limit))
            .await
            .map_err(|_| Problem::new(Code::RequestTimeout, "the body did not arrive in time"))??;
        let value = json::read(&bytes).map_err(|fault| Problem::new(Code::InvalidJson, fault))?;
        Ok(Self {
            value,
            schema: PhantomData,
        })
    }
}

fn limit(request: &Request) -> Result<usize, Problem> {
    request
        .data::<Arc<Shared>>()
        .map(|shared| shared.settings.body_limit)
        .ok_or_else(|| Problem::new(Code::Internal, "no limit is set"))
}

fn check_headers(request: &Request) -> Result<(), Problem> {
    if !request.content_type().is_some_and(is_json) {
        let detail = "the body must be sent with `Content-Type: application/json`";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    if request.headers().contains_key(header::CONTENT_ENCODING) {
        let detail = "the body must be sent without `Content-Encoding`";
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    Ok(())
}

/// `application/json`, in UTF-8 if a charset is named.
fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    json && parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        Some(_) => true,
        None => parameter.is_empty(),
    })
}

async fn read(mut reader: impl AsyncRead + Unpin, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8 * 1024];
    let mut total = 0;
    while total <= limit.saturating_add(DRAINED_BYTES) {
        let count = reader
            .read(&mut chunk)
            .await
            .map_err(|_| Problem::new(Code::BadRequest, "the body did not arrive as a whole"))?;
        if count == 0 {
            break;
        }
        total += count;
        if total <= limit {
            bytes.extend_from_slice(&chunk[..count]);
        }
    }
    if total > limit {
        let detail = format!("the body is larger than {limit} bytes");
        return Err(Problem::new(Code::PayloadTooLarge, detail));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_in_utf8_is_json() {
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/json; profile=x",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonp",
            "application/json; charset=latin1",
            "application/json nonsense",
        ] {
            assert!(!is_json(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn bodies_are_bounded() {
        let fits = vec![b'x'; 100];
        assert_eq!(
            read(fits.as_slice(), 100)
                .await
                .ok()
                .map(|bytes| bytes.len()),
            Some(100)
        );
        let large = vec![b'x'; 101];
        let refused = read(large.as_slice(), 100)
            .await
            .err()
            .map(|problem| problem.code());
        assert_eq!(refused, Some(Code::PayloadTooLarge));
        let endless = read(tokio::io::repeat(b'x'), 100)
            .await
            .err()
            .map(|problem| problem.code());
        assert_eq!(refused, endless);
    }
}
