//! The one connection of a process to Redis, made again whenever it fails.
//!
//! The client library's own connection manager is not used: it keeps a refusal for ever (a server that is still
//! loading its data set, a password not set yet), and goes on waiting on a connection whose peer is silently gone.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use ::redis::{
    AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, ProtocolVersion, PushInfo,
    PushKind, RedisError, ServerErrorKind, aio::MultiplexedConnection,
};
use tokio::sync::{Mutex, watch};

use crate::queue::QueueError;

/// How long a server may take for one answer. Above the stalls of a healthy server (saving, a slow disk).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(4);

/// How long making a connection may take. A greeting is an answer too, and as slow as the server's others.
const CONNECTION_TIMEOUT: Duration = RESPONSE_TIMEOUT;

/// A connection to Redis. Its `Debug` shows no address, as that may hold a password.
pub(super) struct Link {
    client: Client,
    config: AsyncConnectionConfig,
    channel: String,
    state: Mutex<Option<Connected>>,
    /// Attempts to connect so far, so that callers who queued behind a failed one fail with it.
    attempts: AtomicU64,
    listening: AtomicBool,
}

/// Whether a connection may be of no use after this error. A server that has become a read-only replica answers well,
/// but another one is the master by now, and a new connection finds it.
fn is_useless_after(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_unrecoverable_error()
        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

/// A connection that was made once, and may be gone by now.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    generation: u64,
    subscribed: bool,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Link {
    /// Prepares a connection that tells `wake` of messages on `channel`; connects on first use.
    pub(super) fn new(
        url: &str,
        channel: String,
        wake: watch::Sender<()>,
    ) -> Result<Self, QueueError> {
        let info = url.into_connection_info().map_err(|_| QueueError::BadUrl)?;
        // Protocol 3 carries wake-ups and answers on the same connection.
        let settings = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP3);
        let client =
            Client::open(info.set_redis_settings(settings)).map_err(|_| QueueError::BadUrl)?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(CONNECTION_TIMEOUT))
            .set_push_sender(move |push: PushInfo| {
                if push.kind == PushKind::Message {
                    wake.send_replace(());
                }
                Ok::<(), ()>(())
            });
        Ok(Self {
            client,
            config,
            channel,
            state: Mutex::default(),
            attempts: AtomicU64::new(0),
            listening: AtomicBool::new(false),
        })
    }

    /// Wake-ups are wanted from now on: processes that only push do not ask for them.
    pub(super) fn listen(&self) {
        self.listening.store(true, Ordering::Relaxed);
    }

    /// The connection, made now if there is none.
    pub(super) async fn connection(&self) -> Result<Connected, QueueError> {
        let before = self.attempts.load(Ordering::Acquire);
        let mut state = self.state.lock().await;
        let wanted = self.listening.load(Ordering::Relaxed);
        if let Some(connected) = state.as_ref()
            && (connected.subscribed || !wanted)
        {
            return Ok(connected.clone());
        }
        if state.is_none() && self.attempts.load(Ordering::Acquire) != before {
            return Err(QueueError::Unreachable);
        }
        let generation = self.attempts.fetch_add(1, Ordering::AcqRel);
        // Taken out, so that a failure on the way leaves none behind.
        let connection = match state.take() {
            Some(connected) => connected.connection,
            None => {
                self.client
                    .get_multiplexed_async_connection_with_config(&self.config)
                    .await?
            }
        };
        let mut connected = Connected {
            connection,
            generation,
            subscribed: wanted,
        };
        if wanted {
            connected.connection.subscribe(&self.channel).await?;
        }
        Ok(state.insert(connected).clone())
    }

    /// Gives the connection up if its answer says that it is of no use any more, or may not be.
    pub(super) async fn judge<T>(
        &self,
        connected: &Connected,
        answer: Result<T, RedisError>,
    ) -> Result<T, QueueError> {
        if let Err(error) = &answer
            && is_useless_after(error)
        {
            // Somebody may have made a new one meanwhile.
            let mut state = self.state.lock().await;
            state.take_if(|current| current.generation == connected.generation);
        }
        Ok(answer?)
    }
}
