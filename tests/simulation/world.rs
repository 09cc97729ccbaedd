//! Everything of one run.

use sea_orm::{ConnectionTrait as _, DatabaseConnection};
use tender::domain::submission::Budget;
use tender::stellar::network::NetworkId;
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};

use crate::chain::Effects;
use crate::chance::{Chance, Trace};
use crate::fate::Mood;
use crate::keys::Key;
use crate::leaning::Leaning;
use crate::net::{FIRST_SEQUENCE, channel, initial_state};
use crate::place::Place;
use crate::plot::Plot;
use crate::process::{Process, Role, Site};
use crate::promises::{self, Broken, Pool};
use crate::shared::Shared;
use crate::support::PASSPHRASE;
use crate::view::View;

/// When the network starts: long ago, so that a clock of this machine that decides anything is noticed.
const START: u64 = 1_700_000_000;

pub struct World {
    pub chance: Chance,
    pub leaning: Leaning,
    pub trace: Trace,
    pub site: Site,
    pub db: DatabaseConnection,
    pub keys: Vec<Key>,
    pub processes: Vec<Process>,
    /// Envelopes of processes that are gone, still on their way to the network.
    pub wandering: Vec<Vec<u8>>,
    pub effects: Effects,
    pub view: View,
    pub step: u64,
    pub plot: Plot,
    /// How the network is in the next step, if the story says.
    pub told_mood: Option<Mood>,
    /// Nothing goes wrong any more.
    pub calm: bool,
    _place: Place,
}

impl World {
    pub async fn new(seed: u64, told: bool) -> Self {
        let mut chance = Chance::new(seed);
        let budget = Budget {
            transient_failures: *chance.pick(&[1, 1, 2, 3]),
            claims: u32::try_from(chance.between(1, 3)).unwrap(),
        };
        let channels = u8::try_from(chance.between(1, 2)).unwrap();
        let keys = usize::try_from(chance.between(2, 4)).unwrap();
        let shared = Shared::any(seed);
        let channels = if shared.is_some() { 1 } else { channels };
        let place = Place::new();
        let ledger = place.open(budget).await;
        let pool: Vec<_> = (0..channels)
            .map(|number| (channel(number).account(), FIRST_SEQUENCE))
            .collect();
        ledger.add_channels(&pool).await.unwrap();
        let site = Site {
            node: network(),
            network: NetworkId::new(PASSPHRASE),
            ledger,
            seed,
            channels,
            max_fee: *chance.pick(&[150, 1_000, 10_000]),
            shared,
        };
        let mut processes = Vec::new();
        for name in ["worker-a", "worker-b"] {
            processes.push(Process::start(name, Role::Worker, &site).await);
        }
        for name in ["reconciler-a", "reconciler-b"] {
            processes.push(Process::start(name, Role::Reconciler, &site).await);
        }
        Self {
            keys: (0..keys)
                .map(|number| Key::any(number, &mut chance))
                .collect(),
            leaning: Leaning::any(&mut chance),
            chance,
            trace: Trace::new(told),
            db: place.look().await,
            site,
            processes,
            wandering: Vec::new(),
            effects: Effects::default(),
            view: View::default(),
            step: 0,
            plot: Plot::default(),
            told_mood: None,
            calm: false,
            _place: place,
        }
    }

    pub fn pool(&self) -> Pool {
        Pool {
            channels: i64::from(self.site.channels),
            shared: self.site.shared.is_some(),
        }
    }

    pub fn closed_at(&self) -> u64 {
        self.site.node.latest().borrow().close_time
    }

    /// Looks at everything, tells it, and holds it against the promises.
    pub async fn look(&mut self, step: &str) -> Result<(), Broken> {
        self.order_channels().await;
        self.view = View::of(&self.db).await;
        self.effects.read(&self.site.node);
        let latest = *self.site.node.latest().borrow();
        let at = latest.close_time - START;
        self.trace.line(&format!(
            "{} {step} [ledger {} +{at}]",
            self.step, latest.sequence
        ));
        for process in &self.processes {
            for told in process.front.told() {
                self.trace.line(&format!("    {} {told}", process.name));
            }
        }
        for row in &self.view.rows {
            self.trace.line(&row.told());
        }
        promises::always(&self.view, &self.keys, &self.effects, self.pool())?;
        let memory = self.site.ledger.memory().await.unwrap();
        promises::of_memory(memory.refusal())
    }

    /// Channels that were used in one step have rested equally long, however fast the machine is.
    async fn order_channels(&self) {
        let sql = "UPDATE channel_accounts SET last_used_at = ";
        let sql = format!("{sql}{} WHERE last_used_at > 1000000", self.step);
        self.db.execute_unprepared(&sql).await.unwrap();
    }
}

fn network() -> DevNode {
    let mut config = NetworkConfig::development(PASSPHRASE);
    config.initial_state = initial_state();
    config.start_close_time = START;
    DevNode::start(config, Pace::ByHand)
}
