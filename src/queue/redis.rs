//! The lanes on a Redis server.
//!
//! A lane is three keys: a hash of its jobs (id to submission), a list of those that wait, and a sorted set of those
//! that run, scored with the end of their lease by the server's clock. Each change is one script, so a lane is whole
//! at any moment; an empty lane is no key at all. One key more, the mark, tells the feed whether the server still is the
//! one it filled, and one for each ledger how far that was seen to reach.

mod link;

use std::{sync::Arc, time::Duration};

use ::redis::{FromRedisValue, Script, ScriptInvocation};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;

use super::{Draw, Drawn, Job, Pushed, QueueError, Reach};
use crate::domain::{ids::SubmissionId, key::JobId, memory::Mark, schedule::Priority};
use link::Link;

/// How long a job stays with a worker that no longer speaks of it. With [`BEAT`], the longest time from the death of a
/// worker to another one taking its jobs; long enough to outlive a server that stalls for two seconds.
const LEASE: Duration = Duration::from_secs(3);

/// How often a worker renews its leases and looks for lapsed ones. Also how long a lost wake-up can matter.
pub(super) const BEAT: Duration = Duration::from_millis(500);

/// Most jobs in one script call, so that none holds the server up.
const BATCH: usize = 500;

/// How the lanes are kept.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// What every key starts with, so that several services can share a server.
    pub prefix: String,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: "tender:".to_owned(),
        }
    }
}

/// Jobs on a Redis server, in three lanes.
#[derive(Clone, Debug)]
pub struct Redis(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: Link,
    lanes: [Keys; Priority::ALL.len()],
    channel: String,
    mark: String,
    sequences: String,
    ping: String,
    reached: String,
    wake: watch::Sender<()>,
    scripts: Scripts,
}

#[derive(Debug)]
struct Keys {
    waiting: String,
    jobs: String,
    leases: String,
}

#[derive(Debug)]
struct Scripts {
    push: Script,
    take: Script,
    finish: Script,
    give_back: Script,
    beat: Script,
    remember: Script,
    sequence: Script,
    ping: Script,
    reach: Script,
}

impl Scripts {
    fn new() -> Self {
        Self {
            push: Script::new(include_str!("scripts/push.lua")),
            take: Script::new(include_str!("scripts/take.lua")),
            finish: Script::new(include_str!("scripts/finish.lua")),
            give_back: Script::new(include_str!("scripts/give_back.lua")),
            beat: Script::new(include_str!("scripts/beat.lua")),
            remember: Script::new(include_str!("scripts/remember.lua")),
            sequence: Script::new(include_str!("scripts/sequence.lua")),
            ping: Script::new(include_str!("scripts/ping.lua")),
            reach: Script::new(include_str!("scripts/reach.lua")),
        }
    }
}

fn index(lane: Priority) -> usize {
    match lane {
        Priority::Critical => 0,
        Priority::Normal => 1,
        Priority::Low => 2,
    }
}

impl Redis {
    pub(super) fn new(url: &SecretString, options: RedisOptions) -> Result<Self, QueueError> {
        let wake = watch::Sender::new(());
        let RedisOptions { prefix } = options;
        let channel = format!("{prefix}wake");
        let lanes = Priority::ALL.map(|lane| {
            let key = |part| format!("{prefix}{}:{part}", lane.as_str().to_ascii_lowercase());
            Keys {
                waiting: key("waiting"),
                jobs: key("jobs"),
                leases: key("leases"),
            }
        });
        Ok(Self(Arc::new(Inner {
            link: Link::new(url.expose_secret(), channel.clone(), wake.clone())?,
            lanes,
            channel,
            mark: format!("{prefix}mark"),
            sequences: format!("{prefix}sequence:"),
            ping: format!("{prefix}ping"),
            reached: format!("{prefix}reached:"),
            wake,
            scripts: Scripts::new(),
        })))
    }

    fn keys(&self, lane: Priority) -> &Keys {
        &self.0.lanes[index(lane)]
    }

    async fn call<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, QueueError> {
        let mut connected = self.0.link.connection().await?;
        let answer = call.invoke_async(&mut connected.connection).await;
        self.0.link.judge(&connected, answer).await
    }

    pub(super) async fn push(&self, jobs: &[Job]) -> Result<Vec<Pushed>, QueueError> {
        let mut pushed = vec![Pushed::Duplicate; jobs.len()];
        for lane in Priority::ALL {
            let places: Vec<usize> = (0..jobs.len()).filter(|i| jobs[*i].lane == lane).collect();
            for places in places.chunks(BATCH) {
                let mut call = self.0.scripts.push.prepare_invoke();
                call.key(&self.keys(lane).waiting)
                    .key(&self.keys(lane).jobs)
                    .arg(&self.0.channel);
                for place in places {
                    let job = &jobs[*place];
                    call.arg(job.id.as_str()).arg(job.submission.to_string());
                }
                let new: Vec<bool> = step!("queue.push", self.call(&call).await)?;
                for (place, new) in places.iter().zip(new) {
                    if new {
                        pushed[*place] = Pushed::New;
                    }
                }
            }
        }
        Ok(pushed)
    }

    pub(super) async fn take(&self, reach: Reach) -> Result<Option<Job>, QueueError> {
        loop {
            let mut call = self.0.scripts.take.prepare_invoke();
            for lane in reach.lanes() {
                add_lane(&mut call, self.keys(*lane));
            }
            call.arg(millis(LEASE));
            let Some((lane, id, submission)) = step!(
                "queue.take",
                self.call::<Option<(usize, String, String)>>(&call).await
            )?
            else {
                return Ok(None);
            };
            let lane = reach.lanes().get(lane).copied();
            let (Some(lane), Ok(job), Ok(submission)) = (
                lane,
                id.parse::<JobId>(),
                submission.parse::<SubmissionId>(),
            ) else {
                tracing::error!(job = %id, "not a job of ours in the queue; it is dropped");
                self.forget(lane.unwrap_or(Priority::Low), &id).await?;
                continue;
            };
            return Ok(Some(Job {
                id: job,
                submission,
                lane,
            }));
        }
    }

    async fn forget(&self, lane: Priority, id: &str) -> Result<(), QueueError> {
        let mut call = self.0.scripts.finish.prepare_invoke();
        add_lane(&mut call, self.keys(lane));
        call.arg(id);
        self.call::<u64>(&call).await.map(drop)
    }

    pub(super) async fn finish(&self, job: &Job) -> Result<(), QueueError> {
        step!("queue.finish", self.forget(job.lane, job.id.as_str()).await)
    }

    pub(super) async fn give_back(&self, job: &Job) -> Result<(), QueueError> {
        let mut call = self.0.scripts.give_back.prepare_invoke();
        add_lane(&mut call, self.keys(job.lane));
        call.arg(job.id.as_str()).arg(&self.0.channel);
        step!("queue.give_back", self.call::<u64>(&call).await).map(drop)
    }

    /// Renews the leases of what runs here, brings back what runs nowhere, and wakes the workers here if jobs wait.
    pub(super) async fn beat(&self, running: &[(JobId, Priority)]) -> Result<(), QueueError> {
        self.0.link.listen();
        let mut call = self.0.scripts.beat.prepare_invoke();
        for lane in Priority::ALL {
            add_lane(&mut call, self.keys(lane));
        }
        call.arg(millis(LEASE)).arg(&self.0.channel).arg(BATCH);
        for (id, lane) in running {
            call.arg(index(*lane)).arg(id.as_str());
        }
        let (back, waiting): (u64, u64) = step!("queue.beat", self.call(&call).await)?;
        if back > 0 {
            tracing::warn!(jobs = back, "leases lapsed; the jobs wait again");
        }
        if waiting > 0 {
            self.0.wake.send_replace(());
        }
        Ok(())
    }

    pub(super) async fn forgot(&self) -> Result<bool, QueueError> {
        let mut call = self.0.scripts.remember.prepare_invoke();
        call.key(&self.0.mark);
        step!("queue.remember", self.call(&call).await)
    }

    pub(super) async fn draw(&self, draw: Draw) -> Result<Drawn, QueueError> {
        let mut call = self.0.scripts.sequence.prepare_invoke();
        call.key(format!("{}{}", self.0.sequences, draw.account))
            .arg(draw.after)
            .arg(draw.last)
            .arg(if draw.anew { "anew" } else { "on" });
        let (remembered, sequence): (bool, Option<String>) = self.call(&call).await?;
        Ok(Drawn {
            // Whatever a key may have been made to hold, no number comes of it that was not asked for.
            sequence: sequence
                .and_then(|text| text.parse().ok())
                .filter(|sequence| draw.after < *sequence && *sequence <= draw.last),
            remembered,
        })
    }

    pub(super) async fn reached(&self, ledger_id: &str, mark: Mark) -> Result<Mark, QueueError> {
        let mut call = self.0.scripts.reach.prepare_invoke();
        call.key(format!("{}{ledger_id}", self.0.reached))
            .arg(mark.epoch)
            .arg(mark.line);
        let (epoch, line) = self.call(&call).await?;
        Ok(Mark { epoch, line })
    }

    pub(super) async fn depth(&self, lane: Priority) -> Result<u64, QueueError> {
        let mut connected = self.0.link.connection().await?;
        let answer = ::redis::cmd("HLEN")
            .arg(&self.keys(lane).jobs)
            .query_async(&mut connected.connection)
            .await;
        self.0.link.judge(&connected, answer).await
    }

    pub(super) async fn ping(&self) -> Result<(), QueueError> {
        let mut call = self.0.scripts.ping.prepare_invoke();
        call.key(&self.0.ping);
        self.call::<u64>(&call).await.map(drop)
    }

    pub(super) fn wake_ups(&self) -> watch::Receiver<()> {
        self.0.wake.subscribe()
    }
}

fn add_lane(call: &mut ScriptInvocation<'_>, keys: &Keys) {
    call.key(&keys.waiting).key(&keys.jobs).key(&keys.leases);
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
