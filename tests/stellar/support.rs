//! A server that answers JSON-RPC, or fails to, exactly as a test tells it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::Rpc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Long enough never to pass in a test that does not wait for it.
pub const NEVER: Duration = Duration::from_mins(1);

/// The network of every client.
pub const PASSPHRASE: &str = "Standalone Network ; February 2017";

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers with that result.
    Result(Value),
    /// Answers with an error of that code.
    Error(i32),
    /// Answers with that HTTP status and a page for people.
    Status(u16),
    /// Answers 200 with that body.
    Body(Vec<u8>),
    /// Announces that many bytes and sends one of them, then ends the connection.
    Cut(usize),
    /// Sends that many bytes in chunks, without announcing how many.
    Chunks(usize),
    /// Ends the connection.
    Close,
    /// Resets the connection.
    Reset,
    /// Sends bytes that are no HTTP.
    Garbage,
    /// Answers with the result under another request's id.
    OtherId(Value),
    /// Says nothing.
    Hang,
}

/// The server.
pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers every request by `reply`, which gets the method and the parameters.
    pub async fn start(reply: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let reply = Arc::new(reply);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                let reply = Arc::clone(&reply);
                tokio::spawn(async move { serve(stream, &*reply).await });
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// Always the same reply.
    pub async fn always(reply: Reply) -> Self {
        Self::start(move |_, _| reply.clone()).await
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of this server alone, without timeouts that matter.
    pub fn client(&self) -> Rpc {
        client(&[self.url()], NEVER, NEVER)
    }

    /// Connections taken so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

pub fn client(urls: &[String], send: Duration, read: Duration) -> Rpc {
    let network = NetworkId::new(PASSPHRASE);
    Rpc::new(network, urls, send, read).unwrap()
}

/// An address that takes no connections.
pub async fn dead_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn serve(stream: TcpStream, reply: &(impl Fn(&str, &Value) -> Reply + ?Sized)) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream).await {
        let method = request["method"].as_str().unwrap();
        let id = request["id"].clone();
        let body = match reply(method, &request["params"]) {
            Reply::Result(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Reply::OtherId(result) => json!({ "jsonrpc": "2.0", "id": 999_999, "result": result }),
            Reply::Error(code) => {
                let error = json!({ "code": code, "message": "as told" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
            Reply::Close => return,
            Reply::Hang => return std::future::pending().await,
            Reply::Reset => {
                stream.get_ref().set_zero_linger().unwrap();
                return;
            }
            odd => {
                let keep = write_odd(stream.get_mut(), odd).await;
                if keep {
                    continue;
                }
                return;
            }
        };
        let body = body.to_string().into_bytes();
        write(stream.get_mut(), 200, &body).await;
    }
}

/// Whether the connection can be used further.
async fn write_odd(stream: &mut TcpStream, reply: Reply) -> bool {
    match reply {
        Reply::Status(status) => {
            write(stream, status, b"<html>for people</html>").await;
            true
        }
        Reply::Body(body) => {
            write(stream, 200, &body).await;
            true
        }
        Reply::Cut(length) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{{");
            stream.write_all(head.as_bytes()).await.unwrap();
            false
        }
        Reply::Garbage => {
            stream.write_all(b"SSH-2.0-OpenSSH\r\n\r\n").await.unwrap();
            false
        }
        Reply::Chunks(mut left) => {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n";
            stream.write_all(head).await.unwrap();
            let spaces = vec![b' '; 1 << 16];
            while left > 0 {
                let length = left.min(spaces.len());
                let head = format!("{length:x}\r\n");
                let chunk = [head.as_bytes(), &spaces[..length], b"\r\n"].concat();
                // The client hangs up as soon as it has had enough.
                if stream.write_all(&chunk).await.is_err() {
                    break;
                }
                left -= length;
            }
            false
        }
        regular => panic!("{regular:?} is written elsewhere"),
    }
}

async fn write(stream: &mut TcpStream, status: u16, body: &[u8]) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Told\r\ncontent-length: {length}\r\n\r\n");
    let answer = [head.as_bytes(), body].concat();
    // The client may have given up.
    let _ = stream.write_all(&answer).await;
}

/// The next request of the connection, or `None` at its end.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
