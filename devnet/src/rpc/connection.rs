//! Connections that can be cut: reset without an answer, as a crashing node or a bad network does.

use poem::listener::Acceptor;
use poem::web::{LocalAddr, RemoteAddr};
use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most connections at once; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;
/// Pause after a failed accept, which is likely to fail again at once when the process has no more files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The open connections by the address of the client.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    open: Arc<Mutex<HashMap<SocketAddr, Arc<AtomicBool>>>>,
}

impl Connections {
    /// Resets the connection of that client at its next read or write.
    pub fn cut(&self, client: &RemoteAddr) {
        if let Some(cut) = client
            .as_socket_addr()
            .and_then(|addr| self.lock().get(addr).cloned())
        {
            cut.store(true, Ordering::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Arc<AtomicBool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts connections and registers them.
pub struct Gate {
    listener: TcpListener,
    local: SocketAddr,
    connections: Connections,
    permits: Arc<Semaphore>,
}

impl Gate {
    /// A gate on a bound listener.
    ///
    /// # Errors
    /// The listener has no local address.
    pub fn new(listener: TcpListener, connections: Connections) -> io::Result<Self> {
        Ok(Self {
            local: listener.local_addr()?,
            listener,
            connections,
            permits: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        })
    }

    async fn next(&self) -> io::Result<Connection> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        let (stream, client) = match self.listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                return Err(error);
            }
        };
        stream.set_nodelay(true)?;
        let cut = Arc::new(AtomicBool::new(false));
        self.connections.lock().insert(client, Arc::clone(&cut));
        Ok(Connection {
            stream,
            client,
            cut,
            connections: self.connections.clone(),
            _permit: permit,
        })
    }
}

impl Acceptor for Gate {
    type Io = Connection;

    fn local_addr(&self) -> Vec<LocalAddr> {
        vec![LocalAddr(self.local.into())]
    }

    async fn accept(
        &mut self,
    ) -> io::Result<(Self::Io, LocalAddr, RemoteAddr, poem::http::uri::Scheme)> {
        let connection = self.next().await?;
        let client = RemoteAddr(connection.client.into());
        Ok((
            connection,
            LocalAddr(self.local.into()),
            client,
            poem::http::uri::Scheme::HTTP,
        ))
    }
}

/// A connection that ends with a reset once it is cut.
pub struct Connection {
    stream: TcpStream,
    client: SocketAddr,
    cut: Arc<AtomicBool>,
    connections: Connections,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn check(&self) -> io::Result<()> {
        if !self.cut.load(Ordering::Acquire) {
            return Ok(());
        }
        // Without lingering, closing the socket sends a reset instead of a regular end.
        self.stream.set_zero_linger()?;
        Err(ErrorKind::ConnectionReset.into())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.client);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
