//! Provision: creates the channel accounts on the network and enters them into the pool. It can be repeated at any
//! time: what exists is left alone.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::chain::Chain;
use super::fresh::{self, NotFresh};
use crate::domain::classify::{Fault, SendAnswer};
use crate::domain::ids::AccountId;
use crate::domain::plan::AccountState;
use crate::ledger::{Ledger, LedgerError};
use crate::stellar::envelope::BuildError;
use crate::stellar::funding::{self, Funding};
use crate::stellar::network::NetworkId;
use crate::stellar::rpc::Rpc;
use crate::stellar::signer::Signer;

/// Accounts created by one transaction: the network's limit of operations in one.
const BATCH: usize = 100;
/// Life of a funding transaction after the last close time, in seconds.
const WINDOW_S: u64 = 60;
/// Transactions that may die before provisioning gives up.
const MOST_DEATHS: usize = 5;
/// Pause between two looks at the network.
const POLL: Duration = Duration::from_millis(250);
/// Longest a funding transaction may stay undecided: its window, and a network that stands still meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(WINDOW_S * 5);

/// Creates accounts from the treasury.
pub struct Provisioner {
    rpc: Rpc,
    chain: Arc<Chain>,
    network: NetworkId,
    treasury: Signer,
    /// Bid for one operation, in stroops.
    base_fee: i64,
}

/// Why accounts were not created. Those that were, stay; another run goes on.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The network did not answer.
    #[error("the network did not answer: {}", .0.code())]
    Network(Fault),
    /// No node shows accounts as of the highest ledger seen: an old sequence number must not enter the pool.
    #[error("the RPC nodes lag behind ledger {0}, which one of them has shown: try again")]
    Lagging(u32),
    /// The treasury has no account.
    #[error("the treasury {0} does not exist on this network: fund it first")]
    NoTreasury(AccountId),
    /// The network refused the transaction.
    #[error("the network refuses to create accounts: {0}")]
    Refused(String),
    /// The transaction was included and failed, or kept expiring.
    #[error("accounts were not created: is the treasury {0} funded well enough?")]
    NotCreated(AccountId),
    /// The network stands still.
    #[error("the network closed no ledger that decides the transaction")]
    Stalled,
    /// Signing or encoding failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The ledger did not answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<NotFresh> for ProvisionError {
    fn from(not_fresh: NotFresh) -> Self {
        match not_fresh {
            NotFresh::Network(fault) => Self::Network(fault),
            NotFresh::Lagging(ledger) => Self::Lagging(ledger),
        }
    }
}

impl From<Fault> for ProvisionError {
    fn from(fault: Fault) -> Self {
        Self::Network(fault)
    }
}

/// How a funding transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The treasury's sequence was used.
    Consumed,
    /// It can never be applied.
    Dead,
}

impl Provisioner {
    /// A provisioner that pays from `treasury`.
    #[must_use]
    pub fn new(
        rpc: Rpc,
        chain: Arc<Chain>,
        network: NetworkId,
        treasury: Signer,
        base_fee: i64,
    ) -> Self {
        Self {
            rpc,
            chain,
            network,
            treasury,
            base_fee,
        }
    }

    /// Creates what is missing of `accounts`, each with `balance` stroops, and enters all of them into the pool.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn channels(
        &self,
        ledger: &Ledger,
        accounts: &[AccountId],
        balance: i64,
    ) -> Result<(), ProvisionError> {
        let known = ledger.channels().await?;
        let unknown: Vec<_> = accounts
            .iter()
            .copied()
            .filter(|account| known.iter().all(|channel| channel.account != *account))
            .collect();
        let sequences = self.accounts(&unknown, balance).await?;
        step!("provision.add", ledger.add_channels(&sequences).await)?;
        Ok(())
    }

    /// Creates what is missing of `accounts`, each with `balance` stroops; returns their sequence numbers.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn accounts(
        &self,
        accounts: &[AccountId],
        balance: i64,
    ) -> Result<Vec<(AccountId, i64)>, ProvisionError> {
        let mut deaths = 0;
        loop {
            let (present, missing) = self.look(accounts).await?;
            let Some(batch) = missing.chunks(BATCH).next() else {
                return Ok(present);
            };
            tracing::info!(
                missing = missing.len(),
                creating = batch.len(),
                "creating accounts"
            );
            match step!("provision.create", self.create(batch, balance).await)? {
                Ended::Consumed => {
                    let (_, still) = self.look(batch).await?;
                    if !still.is_empty() {
                        return Err(ProvisionError::NotCreated(self.treasury.account()));
                    }
                }
                Ended::Dead if deaths == MOST_DEATHS => {
                    return Err(ProvisionError::NotCreated(self.treasury.account()));
                }
                Ended::Dead => deaths += 1,
            }
        }
    }

    /// Which accounts exist, with their sequence numbers, and which do not.
    async fn look(
        &self,
        accounts: &[AccountId],
    ) -> Result<(Vec<(AccountId, i64)>, Vec<AccountId>), ProvisionError> {
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        if accounts.is_empty() {
            return Ok((present, missing));
        }
        for (account, state) in fresh::accounts(&self.rpc, &self.chain, accounts).await? {
            match state {
                AccountState::Present { sequence, .. } => present.push((account, sequence)),
                AccountState::Absent => missing.push(account),
            }
        }
        Ok((present, missing))
    }

    /// Sends one funding transaction and waits until the chain has decided it.
    async fn create(&self, batch: &[AccountId], balance: i64) -> Result<Ended, ProvisionError> {
        let account = self.treasury.account();
        let (present, _) = self.look(&[account]).await?;
        let Some((_, used)) = present.first().copied() else {
            return Err(ProvisionError::NoTreasury(account));
        };
        let seen = self.rpc.latest().await?;
        let max_time = seen.close_time + WINDOW_S;
        let signed = funding::create_accounts(Funding {
            network: &self.network,
            treasury: &self.treasury,
            sequence: used + 1,
            accounts: batch,
            balance,
            base_fee: self.base_fee,
            max_time,
        })
        .await?;
        let sent = step!(
            "provision.send",
            self.rpc.send_transaction(signed.hash, &signed.xdr).await
        );
        if let SendAnswer::Refused(refusal) = sent.answer {
            // Nothing else holds these bytes: a refusal of the only send of an unrecorded transaction still may race a
            // proxy's retry, so the sequence is waited for all the same unless the answer can never change.
            tracing::warn!(refusal = %refusal.failure, "a funding transaction was refused");
        }
        timeout(LONGEST_WAIT, self.decided(used + 1, max_time))
            .await
            .map_err(|_| ProvisionError::Stalled)?
    }

    async fn decided(&self, sequence: i64, max_time: u64) -> Result<Ended, ProvisionError> {
        let account = self.treasury.account();
        loop {
            // The close time is read first: it belongs to a ledger at or before the snapshot's.
            let closed = self.rpc.latest().await?;
            self.chain.observe(closed);
            for page in self.rpc.accounts(&[account]).await? {
                match page.accounts.first() {
                    Some((_, AccountState::Present { sequence: used, .. }))
                        if *used >= sequence =>
                    {
                        return Ok(Ended::Consumed);
                    }
                    Some((_, AccountState::Present { .. }))
                        if page.ledger >= closed.ledger && closed.close_time > max_time =>
                    {
                        return Ok(Ended::Dead);
                    }
                    Some(_) | None => {}
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
