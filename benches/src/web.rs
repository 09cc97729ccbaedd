//! A small HTTP client. It shares two cores with what it measures, so it does as little as it can.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Outcome;

/// Largest answer that is read.
const LIMIT: usize = 1024 * 1024;

/// A connection that is kept open.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Outcome<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

/// Host and port of a plain URL without a path.
pub fn address(url: &str) -> Outcome<SocketAddr> {
    Ok(url
        .strip_prefix("http://")
        .ok_or("a plain URL")?
        .trim_end_matches('/')
        .parse()?)
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n").into_bytes()
}

pub fn post(path: &str, key: &str, idempotency_key: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nIdempotency-Key: {idempotency_key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Connection {
    pub async fn open(to: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(4096),
        })
    }

    /// One request, one answer.
    pub async fn ask(&mut self, request: &[u8]) -> Outcome<Answer> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if let Some((status, head, length)) = parse_head(&self.buffer)? {
                while self.buffer.len() < head + length {
                    self.read().await?;
                }
                let body = self
                    .buffer
                    .get(head..head + length)
                    .unwrap_or_default()
                    .to_vec();
                return Ok(Answer { status, body });
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Outcome<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 || self.buffer.len() > LIMIT {
            return Err("the answer broke off, or was too long".into());
        }
        Ok(())
    }
}

/// Status, length of the head and length of the body, once the head is there.
fn parse_head(bytes: &[u8]) -> Outcome<Option<(u16, usize, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(bytes.get(..end).unwrap_or_default())?;
    let status: u16 = head.split(' ').nth(1).ok_or("a status line")?.parse()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>())
    });
    // Answers without a body need no length.
    let length = length.transpose()?;
    if length.is_none() && status != 304 && status != 204 {
        return Err("an answer without a length".into());
    }
    Ok(Some((status, end + 4, length.unwrap_or(0))))
}

/// What a run of requests came to.
#[derive(Default)]
pub struct Run {
    pub latencies: Vec<Duration>,
    pub elapsed: Duration,
}

impl Run {
    #[must_use]
    pub fn per_second(&self) -> f64 {
        crate::report::number(self.latencies.len()) / self.elapsed.as_secs_f64()
    }
}

/// What to send as the n-th request.
pub type Requests = Arc<dyn Fn(usize) -> Vec<u8> + Send + Sync>;

/// Each connection asks again as soon as it is answered, for so long.
pub async fn closed_loop(
    to: SocketAddr,
    connections: usize,
    time: Duration,
    requests: Requests,
) -> Outcome<Run> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(to).await?);
    }
    let began = Instant::now();
    for mut connection in open {
        let (next, requests) = (Arc::clone(&next), Arc::clone(&requests));
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            while began.elapsed() < time {
                let request = requests(next.fetch_add(1, Ordering::Relaxed));
                let asked = Instant::now();
                succeeded(&connection.ask(&request).await?)?;
                latencies.push(asked.elapsed());
            }
            Outcome::Ok(latencies)
        });
    }
    gather(tasks, began).await
}

/// Requests start at their appointed times whether or not earlier ones are answered, and are timed from then: a
/// service that stalls is charged for every request that should have been sent meanwhile.
pub async fn open_loop(
    to: SocketAddr,
    connections: usize,
    per_second: u32,
    time: Duration,
    requests: Requests,
) -> Outcome<Run> {
    let total = (time.as_millis() * u128::from(per_second) / 1000).try_into()?;
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(to).await?);
    }
    let (due, next) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now() + Duration::from_millis(20);
    let appointed = move |n: usize| {
        began + Duration::from_secs_f64(crate::report::number(n) / f64::from(per_second))
    };
    let mut tasks = JoinSet::new();
    for mut connection in open {
        let (due, next, requests) = (Arc::clone(&due), Arc::clone(&next), Arc::clone(&requests));
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            while let Ok(turn) = due.acquire().await {
                turn.forget();
                let n = next.fetch_add(1, Ordering::Relaxed);
                succeeded(&connection.ask(&requests(n)).await?)?;
                latencies.push(appointed(n).elapsed());
            }
            Outcome::Ok(latencies)
        });
    }
    let clock = std::thread::spawn(move || keep_appointments(total, appointed, &due));
    let run = gather(tasks, began).await?;
    clock.join().map_err(|_| "the clock failed")?;
    Ok(run)
}

/// Lets a request go at each of its times. On a thread of its own: the runtime's timer is accurate to a millisecond.
#[expect(
    clippy::disallowed_methods,
    reason = "the thread does nothing but wait"
)]
fn keep_appointments(total: usize, appointed: impl Fn(usize) -> Instant, due: &Semaphore) {
    for n in 0..total {
        std::thread::sleep(appointed(n).saturating_duration_since(Instant::now()));
        due.add_permits(1);
    }
    // Whoever still waits is let go once the last turn is taken.
    while due.available_permits() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    due.close();
}

fn succeeded(answer: &Answer) -> Outcome<()> {
    if (200..400).contains(&answer.status) {
        return Ok(());
    }
    let body = String::from_utf8_lossy(&answer.body);
    Err(format!("refused with {}: {body}", answer.status).into())
}

async fn gather(mut tasks: JoinSet<Outcome<Vec<Duration>>>, began: Instant) -> Outcome<Run> {
    let mut run = Run::default();
    while let Some(latencies) = tasks.join_next().await {
        run.latencies.extend(latencies??);
    }
    run.elapsed = began.elapsed();
    Ok(run)
}
