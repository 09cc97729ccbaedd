//! A steady flow of payments: callers who keep as many waiting as the pool can use for some ledgers, whatever happens.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tender::domain::classify::Fault;
use tender::domain::ids::AccountId;
use tender::domain::key::KeyTag;
use tender::domain::submission::Status;
use tender::ledger::Ledger;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::Outcome;
use crate::deployment::Payer;
use crate::web::{self, Answer, Connection};
use crate::work::{TENANT, body};

/// Callers at once.
const CALLERS: usize = 4;
/// Between two looks at how many are confirmed, and before a caller asks again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long one request may take.
const ONE_ANSWER: Duration = Duration::from_secs(15);
/// Until all that was accepted is confirmed, and until a payment is accepted.
const PATIENCE: Duration = Duration::from_secs(240);

/// Payments that go on being asked for.
pub struct Flow {
    allowed: Arc<watch::Sender<usize>>,
    callers: JoinSet<Outcome<Vec<String>>>,
    pace: JoinHandle<()>,
}

impl Flow {
    /// Keeps `waiting` payments on the way.
    pub fn start(payer: &Payer, waiting: usize) -> Self {
        let allowed = Arc::new(watch::Sender::new(0));
        let next = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let caller = Caller {
                api: payer.api,
                key: payer.key.clone(),
                payees: payer.payees.clone(),
            };
            callers.spawn(caller.call(Arc::clone(&next), allowed.subscribe()));
        }
        let (ledger, told) = (payer.ledger.clone(), Arc::clone(&allowed));
        let pace = tokio::spawn(async move {
            loop {
                // While the database is away nobody is told to go on.
                if let Ok(confirmed) = confirmed(&ledger).await {
                    told.send_replace(confirmed + waiting);
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self {
            allowed,
            callers,
            pace,
        }
    }

    /// Asks for no more, and waits until all that was asked for is confirmed. Returns the keys.
    pub async fn finish(mut self, payer: &Payer) -> Outcome<Vec<String>> {
        self.pace.abort();
        // Above every number that was allowed nobody goes on.
        drop(self.allowed);
        let _ = self.pace.await;
        let mut keys = Vec::new();
        while let Some(called) = self.callers.join_next().await {
            keys.extend(called??);
        }
        let began = Instant::now();
        while confirmed(&payer.ledger).await? < keys.len() {
            if began.elapsed() > PATIENCE {
                let counts = payer.ledger.counts().await?;
                eprintln!("   {} were accepted; at last: {counts:?}", keys.len());
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(keys)
    }
}

async fn confirmed(ledger: &Ledger) -> Outcome<usize> {
    let counts = ledger.counts().await?;
    let confirmed = counts.iter().filter(|it| it.0 == Status::Confirmed);
    Ok(usize::try_from(confirmed.map(|it| it.2).sum::<u64>())?)
}

struct Caller {
    api: SocketAddr,
    key: String,
    payees: Vec<AccountId>,
}

impl Caller {
    /// One payment after another, each asked for under its key until it is accepted. Returns the keys.
    async fn call(
        self,
        next: Arc<AtomicUsize>,
        mut allowed: watch::Receiver<usize>,
    ) -> Outcome<Vec<String>> {
        let (mut keys, mut connection) = (Vec::new(), None);
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if allowed.wait_for(|allowed| n < *allowed).await.is_err() {
                return Ok(keys);
            }
            let payee = self.payees.get(n % self.payees.len()).ok_or("a payee")?;
            let name = uuid::Uuid::new_v4().to_string();
            let text = body(*payee, n).to_string();
            let request = web::post("/transactions", &self.key, &name, &text);
            let began = Instant::now();
            while !self.ask(&mut connection, &request).await? {
                if began.elapsed() > PATIENCE {
                    return Err("a payment was not accepted".into());
                }
                tokio::time::sleep(PAUSE).await;
            }
            keys.push(name);
        }
    }

    /// Whether it was accepted.
    async fn ask(&self, connection: &mut Option<Connection>, request: &[u8]) -> Outcome<bool> {
        let asked = async {
            let open = match connection.take() {
                Some(open) => open,
                None => Connection::open(self.api).await?,
            };
            let answer = connection.insert(open).ask(request).await?;
            Outcome::<Answer>::Ok(answer)
        };
        match timeout(ONE_ANSWER, asked).await {
            Ok(Ok(answer)) if answer.status < 300 => Ok(true),
            Ok(Ok(answer)) if answer.status == 503 => Ok(false),
            Ok(Ok(answer)) => Err(format!("a payment was refused with {}", answer.status).into()),
            Ok(Err(_)) | Err(_) => {
                *connection = None;
                Ok(false)
            }
        }
    }
}

/// What is on the chain.
pub struct Effects {
    by_tag: HashMap<KeyTag, usize>,
    by_ledger: BTreeMap<u32, usize>,
}

impl Effects {
    pub async fn look(payer: &Payer) -> Outcome<Self> {
        let (mut by_tag, mut by_ledger) = (HashMap::new(), BTreeMap::new());
        let transactions = payer.rpc.transactions_from(2).await;
        for transaction in transactions.map_err(Fault::code)? {
            if let Some(tag) = transaction.inspected.tag.filter(|_| transaction.success) {
                *by_tag.entry(tag).or_default() += 1;
                *by_ledger.entry(transaction.ledger).or_default() += 1;
            }
        }
        Ok(Self { by_tag, by_ledger })
    }

    /// How many there are in so many ledgers from that one on.
    pub fn within(&self, from: u32, ledgers: u32) -> usize {
        let window = self.by_ledger.range(from..from.saturating_add(ledgers));
        window.map(|(_, paid)| paid).sum()
    }

    /// How many keys took effect more than once, and how many not at all.
    pub fn compare(&self, keys: &[String]) -> Outcome<(usize, usize)> {
        let (mut doubled, mut missing) = (0, 0);
        for key in keys {
            let tag = KeyTag::of(&TENANT.parse()?, &key.parse()?);
            match self.by_tag.get(&tag) {
                None => missing += 1,
                Some(1) => {}
                Some(_) => doubled += 1,
            }
        }
        Ok((doubled, missing))
    }
}
