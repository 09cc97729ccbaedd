//! What a process costs, as the kernel counts it.

use std::fs;
use std::time::Duration;

use crate::Outcome;

/// Kernel ticks are hundredths of a second on every Linux this runs on (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// Processor time so far, user and system.
pub fn processor_time(id: i32) -> Outcome<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name in brackets may hold anything; fields are counted after it.
    let (_, fields) = stat.rsplit_once(')').ok_or("stat has a name")?;
    let ticks: Vec<u32> = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(TICK * ticks.iter().sum())
}

/// Resident memory, in MB (10^6 bytes).
pub fn resident(id: i32) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("status says VmRSS")?
        .parse()?;
    Ok(kib * 1.024 / 1000.0)
}
