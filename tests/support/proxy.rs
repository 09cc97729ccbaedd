//! A loopback proxy in front of a server, for what the server itself cannot be made to do: answer late, be out of reach,
//! keep silent, or lose the answer to what it did.

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::{Instant, timeout_at},
};

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Longer than any test: the end of a wait that ends by something else.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// What becomes of what passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Fair,
    /// Each answer arrives so much later.
    Late(Duration),
    /// Connections are cut, and new ones end at once.
    Down,
    /// Connections stay, and nothing passes through; they end when the weather changes.
    Silent,
    /// After a request that contains these bytes the connection is cut, once the server has answered it; each time that
    /// so many of them have passed.
    LosesAnswers { to: &'static [u8], one_in: u64 },
}

/// The proxy. Connections end with it.
pub struct Proxy {
    address: SocketAddr,
    target: watch::Sender<SocketAddr>,
    weather: watch::Sender<Weather>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    matched: AtomicU64,
    lost: AtomicU64,
}

impl Proxy {
    /// A proxy in front of that address, in fair weather.
    pub async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (target, aim) = watch::channel(target);
        let (weather, follow) = watch::channel(Weather::Fair);
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(
                    client,
                    aim.clone(),
                    follow.clone(),
                    Arc::clone(&counted),
                ));
            }
        });
        Self {
            address,
            target,
            weather,
            counts,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// Cuts all connections; those made from now on go to another address.
    pub fn redirect(&self, target: SocketAddr) {
        self.target.send_replace(target);
    }

    /// Answers lost so far.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }
}

/// One connection, until either side ends it or the weather does.
async fn pass(
    client: TcpStream,
    mut aim: watch::Receiver<SocketAddr>,
    mut weather: watch::Receiver<Weather>,
    counts: Arc<Counts>,
) {
    let (now, target) = (*weather.borrow_and_update(), *aim.borrow_and_update());
    match now {
        Weather::Down => return,
        Weather::Silent => {
            // Held until it changes; whoever still waits then is told by the end of the connection.
            let _ = weather.changed().await;
            return;
        }
        Weather::Fair | Weather::Late(_) | Weather::LosesAnswers { .. } => {}
    }
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let losing = watch::Sender::new(false);
    let lost = losing.subscribe();
    tokio::select! {
        () = requests(from_client, to_server, weather.clone(), &counts, &losing) => {}
        () = answers(from_server, to_client, weather.clone(), lost) => {}
        () = bad(weather) => {}
        _ = aim.changed() => {}
    }
}

/// Waits until a connection is of no use any more.
async fn bad(mut weather: watch::Receiver<Weather>) {
    let seen = weather.wait_for(|now| matches!(now, Weather::Down | Weather::Silent));
    if matches!(seen.await.as_deref(), Ok(Weather::Silent)) {
        let _ = weather.changed().await;
    }
}

fn silent(weather: &watch::Receiver<Weather>) -> bool {
    matches!(*weather.borrow(), Weather::Silent | Weather::Down)
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    weather: watch::Receiver<Weather>,
    counts: &Counts,
    losing: &watch::Sender<bool>,
) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        if silent(&weather) {
            return std::future::pending().await;
        }
        if let Weather::LosesAnswers { to, one_in } = *weather.borrow()
            && chunk[..length].windows(to.len()).any(|part| part == to)
            && (counts.matched.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(one_in)
        {
            counts.lost.fetch_add(1, Ordering::Relaxed);
            losing.send_replace(true);
        }
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    weather: watch::Receiver<Weather>,
    losing: watch::Receiver<bool>,
) {
    let mut chunk = vec![0; CHUNK];
    let mut waiting: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    loop {
        let due = waiting
            .front()
            .map_or_else(|| Instant::now() + FOR_EVER, |(due, _)| *due);
        match timeout_at(due, from.read(&mut chunk)).await {
            Ok(Ok(length @ 1..)) => {
                if *losing.borrow() {
                    return;
                }
                let delay = match *weather.borrow() {
                    Weather::Late(delay) => delay,
                    Weather::Fair
                    | Weather::Down
                    | Weather::Silent
                    | Weather::LosesAnswers { .. } => Duration::ZERO,
                };
                waiting.push_back((Instant::now() + delay, chunk[..length].to_vec()));
            }
            Ok(Ok(_) | Err(_)) => return,
            Err(_) => {
                let Some((_, answer)) = waiting.pop_front() else {
                    continue;
                };
                if silent(&weather) {
                    return std::future::pending().await;
                }
                if to.write_all(&answer).await.is_err() {
                    return;
                }
            }
        }
    }
}
