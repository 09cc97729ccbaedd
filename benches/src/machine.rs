//! The machine that was measured on: figures mean nothing without it.

use std::fmt;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Outcome;
use crate::report::{median, quantile};

/// Writes that tell how long the disk takes.
const SYNCS: usize = 200;

/// What there is to know of it.
#[derive(Debug, Serialize)]
pub struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    memory_gib: u64,
    /// Writing 8 KiB and waiting for the disk, half of the tries, in milliseconds.
    sync_p50_ms: f64,
    load_before: String,
    pub load_after: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} cores, {} GiB, Linux {}; 8 KiB written and synced in {:.2} ms; load before {}, after {}",
            self.processor,
            self.cores,
            self.memory_gib,
            self.kernel,
            self.sync_p50_ms,
            self.load_before,
            self.load_after
        )
    }
}

/// Describes this machine.
pub fn describe() -> Outcome<Machine> {
    let field = |file: &str, name: &str| -> Outcome<String> {
        let text = fs::read_to_string(file)?;
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        Ok(value.map_or_else(|| "unknown".to_owned(), |(_, it)| it.trim().to_owned()))
    };
    let memory = field("/proc/meminfo", "MemTotal")?;
    let kib: u64 = memory.trim_end_matches(" kB").parse()?;
    Ok(Machine {
        processor: field("/proc/cpuinfo", "model name")?,
        cores: std::thread::available_parallelism()?.get(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
            .trim()
            .to_owned(),
        memory_gib: kib.div_ceil(1024 * 1024),
        sync_p50_ms: sync()?,
        load_before: load()?,
        load_after: String::new(),
    })
}

/// The load averages. Other people's work shows here.
pub fn load() -> Outcome<String> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').take(2).collect::<Vec<_>>().join(" "))
}

/// In the directory where the servers keep their files.
fn sync() -> Outcome<f64> {
    let mut file = tempfile::tempfile()?;
    let mut times: Vec<Duration> = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let began = Instant::now();
        file.write_all(&[7; 8192])?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    Ok(median(&[quantile(&mut times, 50)]))
}
