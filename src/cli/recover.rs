//! `tender recover`: a ledger that was set back learns from the chain what it has forgotten.

use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;

use super::CliError;
use crate::app;
use crate::config::{ChannelsConfig, Source, StoreConfig};
use crate::domain::ids::AccountId;
use crate::domain::memory::{MemoryState, RecoveredKind};
use crate::flow::chain::Chain;
use crate::flow::reason::Reason;
use crate::flow::recover::{Acceptance, Identify, Recovery, Survey};
use crate::ledger::Memory;
use crate::stellar::keyring::Identity;
use crate::stellar::network::NetworkId;
use crate::stellar::signer::Signer;

/// What to do about a ledger that was set back.
#[derive(Args, Clone, Debug)]
pub struct RecoverArgs {
    /// Tell how the ledger stands, and change nothing
    #[arg(long, conflicts_with_all = ["stop", "accept_unknown"])]
    pub status: bool,
    /// Declare that the ledger was set back: nothing is sent or decided from now on
    #[arg(long, requires = "reason", conflicts_with = "accept_unknown")]
    pub stop: bool,
    /// Go on although nobody can tell who used this sequence, or these; it may have been a payment that is made again
    #[arg(long, value_name = "ACCOUNT:SEQUENCE[-SEQUENCE]", requires = "reason")]
    pub accept_unknown: Vec<Unknown>,
    /// Why; it is kept with what was decided
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<Reason>,
}

/// Sequences of an account, as they are written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    account: AccountId,
    sequences: RangeInclusive<i64>,
}

impl FromStr for Unknown {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "ACCOUNT:SEQUENCE or ACCOUNT:FIRST-LAST is needed".to_owned();
        let (account, sequences) = text.split_once(':').ok_or_else(form)?;
        let (first, last) = sequences.split_once('-').unwrap_or((sequences, sequences));
        let number = |text: &str| text.parse::<i64>().map_err(|_| form());
        let sequences = number(first)?..=number(last)?;
        if sequences.is_empty() {
            return Err("the first sequence comes after the last".to_owned());
        }
        Ok(Self {
            account: account.parse().map_err(|_| form())?,
            sequences,
        })
    }
}

pub(super) async fn run(args: RecoverArgs, source: &Source) -> Result<ExitCode, CliError> {
    if args.status || args.stop {
        let config = StoreConfig::load(source)?;
        let ledger = app::ledger(&config.database, app::staff_rules()).await?;
        if let Some(reason) = args.reason.as_ref().filter(|_| args.stop) {
            let stopped = ledger.stop(&format!("staff: {}", reason.as_str())).await?;
            println!(
                "{}",
                if stopped {
                    "stopped"
                } else {
                    "was stopped already"
                }
            );
        }
        print_status(&ledger.memory().await?);
        return Ok(ExitCode::SUCCESS);
    }
    recover(args, &ChannelsConfig::load(source)?).await
}

async fn recover(args: RecoverArgs, config: &ChannelsConfig) -> Result<ExitCode, CliError> {
    let network = NetworkId::new(&config.network.passphrase);
    let ledger = app::ledger(&config.database, app::recovery_rules()).await?;
    let rpc = app::rpc(&config.rpc, &network)?;
    if !app::serves_network(&rpc, &network).await? {
        return Err(CliError::Refused("no RPC node answers".to_owned()));
    }
    let signers = app::channel_signers(&config.signers.channels)?;
    let channels: Vec<_> = signers.iter().map(Signer::account).collect();
    let identity = Identity {
        network,
        treasury: app::signer(&config.signers.treasury)?.account(),
    };
    let accepted = args.accept_unknown.into_iter().map(|unknown| Acceptance {
        account: unknown.account,
        sequences: unknown.sequences,
    });
    let accepted: Vec<_> = accepted.collect();
    let parts = Identify {
        ledger: &ledger,
        rpc: &rpc,
        identity: &identity,
    };
    let reason = args.reason.as_ref().map_or("", Reason::as_str);
    let recovery = parts
        .recover(&Arc::new(Chain::default()), &channels, &accepted, reason)
        .await?;
    tell(recovery)
}

fn tell(recovery: Recovery) -> Result<ExitCode, CliError> {
    match recovery {
        Recovery::Open => println!("Nothing to recover: the ledger is open."),
        Recovery::Waits { now, until } => {
            return Err(CliError::Refused(format!(
                "forgotten envelopes may still be applied: wait until the network's time is past {until}, in {} s",
                (until + 1).saturating_sub(now)
            )));
        }
        Recovery::Held(survey) => {
            print_found(&survey);
            for unexplained in &survey.unexplained {
                let (first, last) = (unexplained.sequences.start(), unexplained.sequences.end());
                let account = unexplained.account;
                println!("unknown  {account}:{first}-{last}  {}", unexplained.why);
            }
            return Err(CliError::Refused(
                "what is unknown may be payments: configure a node with a longer history and run this again, or decide with --accept-unknown ACCOUNT:FIRST-LAST --reason TEXT"
                    .to_owned(),
            ));
        }
        Recovery::Reopened(survey) => {
            print_found(&survey);
            println!("Every consumer is known: the ledger is open, and payments go on.");
        }
        Recovery::Overtaken => {
            return Err(CliError::Refused(
                "somebody else recovers it too: run this again".to_owned(),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_found(survey: &Survey) {
    for found in &survey.found {
        let (account, sequence) = (found.pair.account, found.pair.sequence);
        let hash = found.hash.map(|hash| hash.to_string()).unwrap_or_default();
        println!("{:<8} {account}:{sequence}  {hash}", found.kind.as_str());
    }
    let paid = survey
        .found
        .iter()
        .filter(|it| it.kind == RecoveredKind::Paid);
    println!(
        "{} forgotten transactions found, {} of them payments",
        survey.found.len(),
        paid.count()
    );
}

fn print_status(memory: &Memory) {
    let state = match memory.state {
        MemoryState::Open if memory.doubt.is_some() => {
            "open, but the database is not to be trusted"
        }
        MemoryState::Open => "open: payments go on",
        MemoryState::Lost => "lost: nothing is sent or decided until the longest window is over",
        MemoryState::Held => {
            "held: nothing is sent or decided until `tender recover` has done its work"
        }
    };
    println!("state    {state}");
    if let Some(reason) = memory.refusal() {
        println!("reason   {reason}");
    }
    if let Some(until) = memory.resume_after {
        println!("until    {until} (unix seconds, by the network's clock)");
    }
    println!(
        "ledger   {}, epoch {}, line {}",
        memory.ledger_id, memory.mark.epoch, memory.mark.line
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_written_alone_or_as_a_range() {
        let account = AccountId([7; 32]);
        let unknown = |text: &str| format!("{account}:{text}").parse::<Unknown>();
        let of = |sequences| Ok(Unknown { account, sequences });
        assert_eq!(unknown("5"), of(5..=5));
        assert_eq!(unknown("5-9"), of(5..=9));
        for bad in ["", "x", "9-5", "5-", "-5"] {
            assert!(unknown(bad).is_err(), "{bad}");
        }
        assert!("5-9".parse::<Unknown>().is_err());
    }
}
