//! Figures, the goals they are held against, and the table of both.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::machine::Machine;

/// What a figure should come to.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

/// A measured figure: the median of its runs.
#[derive(Debug, Serialize)]
pub struct Figure {
    name: String,
    unit: &'static str,
    value: f64,
    runs: Vec<f64>,
    goal: Option<Goal>,
    met: Option<bool>,
}

/// Everything measured in one go.
#[derive(Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    figures: Vec<Figure>,
}

impl Report {
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            figures: Vec::new(),
        }
    }

    /// Adds a figure that has no goal of its own.
    pub fn note(&mut self, name: impl Into<String>, unit: &'static str, runs: &[f64]) {
        self.add(name.into(), unit, runs, None);
    }

    /// Adds a figure that is held against a goal.
    pub fn judge(&mut self, name: impl Into<String>, unit: &'static str, runs: &[f64], goal: Goal) {
        self.add(name.into(), unit, runs, Some(goal));
    }

    fn add(&mut self, name: String, unit: &'static str, runs: &[f64], goal: Option<Goal>) {
        let value = median(runs);
        eprintln!("   {name}: {} {unit}", Shown(value));
        self.figures.push(Figure {
            name,
            unit,
            value,
            runs: runs.to_vec(),
            goal,
            met: goal.map(|goal| goal.is_met(value)),
        });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.machine)?;
        writeln!(f, "| figure | measured | unit | goal | met | runs |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for figure in &self.figures {
            let goal = match figure.goal {
                None => String::new(),
                Some(Goal::AtLeast(least)) => format!(">= {}", Shown(least)),
                Some(Goal::AtMost(most)) => format!("<= {}", Shown(most)),
            };
            let met = match figure.met {
                None => "",
                Some(true) => "yes",
                Some(false) => "no",
            };
            let runs = if figure.runs.len() > 1 {
                let runs: Vec<_> = figure
                    .runs
                    .iter()
                    .map(|run| Shown(*run).to_string())
                    .collect();
                runs.join(", ")
            } else {
                String::new()
            };
            writeln!(
                f,
                "| {} | {} | {} | {goal} | {met} | {runs} |",
                figure.name,
                Shown(figure.value),
                figure.unit
            )?;
        }
        Ok(())
    }
}

/// As many digits as mean something.
struct Shown(f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() >= 100.0 || self.0.fract() == 0.0 {
            write!(f, "{:.0}", self.0)
        } else {
            write!(f, "{:.2}", self.0)
        }
    }
}

/// The middle one; of an even number the lower of the two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get(sorted.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(f64::NAN)
}

/// The smallest time that `percent` of the times do not exceed, in milliseconds.
pub fn quantile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100).max(1) - 1;
    times
        .get(rank)
        .map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// A count as a number to calculate with.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a measurement are far below 2^52"
)]
pub fn number(count: usize) -> f64 {
    count as f64
}
