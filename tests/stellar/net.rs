//! A simulated network whose clock the test turns, behind the real HTTP client.

use soroban_client::xdr;
use tender::domain::ids::{AccountId, Pair};
use tender::domain::key::KeyTag;
use tender::domain::operation::{Asset, CreateAccount, Destination, Memo, Operation, Payment};
use tender::stellar::effect::{self, Effect};
use tender::stellar::envelope::{Recipe, SignedEnvelope, build};
use tender::stellar::network::NetworkId;
use tender::stellar::rpc::{Lookup, Rpc};
use tender::stellar::signer::Signer;
use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};
use tender_devnet::rpc::serve;
use tokio::net::TcpListener;

use crate::support::{NEVER, PASSPHRASE, client};

pub const CLOSE_S: u64 = 5;

/// Who is in the network from its start; all but the stranger have an account.
pub fn treasury() -> Signer {
    Signer::from_seed(&[2; 32])
}

pub fn payee() -> AccountId {
    Signer::from_seed(&[3; 32]).account()
}

pub fn issuer() -> AccountId {
    Signer::from_seed(&[4; 32]).account()
}

pub fn stranger() -> AccountId {
    Signer::from_seed(&[5; 32]).account()
}

pub fn channel(number: u8) -> Signer {
    Signer::from_seed(&[100 + number; 32])
}

/// `USD`, of which treasury and payee hold some.
pub fn usd() -> Asset {
    format!("USD:{}", issuer()).parse().unwrap()
}

/// `OWN`, which the treasury issues and the payee trusts.
pub fn own() -> Asset {
    format!("OWN:{}", treasury().account()).parse().unwrap()
}

pub fn paying(asset: Asset, to: AccountId, amount: &str) -> Operation {
    Operation::Payment(Payment {
        destination: Destination {
            account: to,
            muxed_id: None,
        },
        asset,
        amount: amount.parse().unwrap(),
        memo: None,
    })
}

pub fn creating(account: AccountId, balance: &str, memo: Option<Memo>) -> Operation {
    Operation::CreateAccount(CreateAccount {
        destination: account,
        starting_balance: balance.parse().unwrap(),
        memo,
    })
}

pub struct Net {
    pub node: DevNode,
    pub url: String,
    pub id: NetworkId,
    pub rpc: Rpc,
}

impl Net {
    pub async fn start() -> Self {
        Self::with_clock(0).await
    }

    /// A network whose clock is so many seconds ahead of this host's, or behind it.
    pub async fn with_clock(ahead: i64) -> Self {
        let mut config = NetworkConfig::development(PASSPHRASE);
        config.start_close_time = config.start_close_time.strict_add_signed(ahead);
        config.initial_state = initial_state();
        let node = DevNode::start(config, Pace::ByHand);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(node.clone(), listener, std::future::pending()));
        Self {
            node,
            rpc: client(std::slice::from_ref(&url), NEVER, NEVER),
            url,
            id: NetworkId::new(PASSPHRASE),
        }
    }

    /// Closes a ledger; its close time.
    pub fn close(&self) -> u64 {
        let next = self.closed_at() + CLOSE_S;
        self.node.close_ledger_at(next).close_time
    }

    pub fn closed_at(&self) -> u64 {
        self.node.latest().borrow().close_time
    }

    /// An envelope of that channel's n-th sequence after its start, valid for two minutes, with a tag of 40 + n.
    pub async fn build(&self, channel: &Signer, nth: i64, operation: &Operation) -> SignedEnvelope {
        self.build_for(&self.id, channel, nth, operation).await
    }

    pub async fn build_for(
        &self,
        network: &NetworkId,
        channel: &Signer,
        nth: i64,
        operation: &Operation,
    ) -> SignedEnvelope {
        let recipe = Recipe {
            network,
            pair: Pair {
                account: channel.account(),
                sequence: FIRST_SEQUENCE + nth,
            },
            channel,
            treasury: &treasury(),
            operation,
            tag: KeyTag(40 + u64::try_from(nth).unwrap()),
            fee: 100,
            max_time: self.closed_at() + 120,
        };
        build(recipe).await.unwrap()
    }

    pub fn effect(&self, operation: &Operation) -> Effect {
        effect::expected(&self.id, treasury().account(), operation)
    }

    pub async fn look(&self, envelope: &SignedEnvelope, operation: &Operation) -> Lookup {
        let effect = self.effect(operation);
        self.rpc.transaction(envelope.hash, &effect).await.unwrap()
    }
}

/// Sequence number of every account at the start.
pub const FIRST_SEQUENCE: i64 = 1 << 32;

pub fn initial_state() -> Vec<(xdr::LedgerKey, xdr::LedgerEntry)> {
    let channels = (0..4).map(|number| channel(number).account());
    let accounts = channels.chain([treasury().account(), payee(), issuer()]);
    let lines = [
        trustline(treasury().account(), "USD", issuer()),
        trustline(payee(), "USD", issuer()),
        trustline(payee(), "OWN", treasury().account()),
    ];
    accounts.map(account).chain(lines).map(entry).collect()
}

fn entry(data: xdr::LedgerEntryData) -> (xdr::LedgerKey, xdr::LedgerEntry) {
    let entry = xdr::LedgerEntry {
        last_modified_ledger_seq: 1,
        data,
        ext: xdr::LedgerEntryExt::V0,
    };
    (entry.to_key(), entry)
}

fn account_id(account: AccountId) -> xdr::AccountId {
    xdr::AccountId(xdr::PublicKey::PublicKeyTypeEd25519(xdr::Uint256(
        account.0,
    )))
}

fn account(account: AccountId) -> xdr::LedgerEntryData {
    xdr::LedgerEntryData::Account(xdr::AccountEntry {
        account_id: account_id(account),
        balance: 1_000_000_000,
        seq_num: xdr::SequenceNumber(FIRST_SEQUENCE),
        num_sub_entries: 2,
        inflation_dest: None,
        flags: 0,
        home_domain: xdr::String32::default(),
        thresholds: xdr::Thresholds([1, 0, 0, 0]),
        signers: xdr::VecM::default(),
        ext: xdr::AccountEntryExt::V0,
    })
}

fn trustline(holder: AccountId, code: &str, issuer: AccountId) -> xdr::LedgerEntryData {
    let mut asset_code = [0; 4];
    asset_code[..code.len()].copy_from_slice(code.as_bytes());
    xdr::LedgerEntryData::Trustline(xdr::TrustLineEntry {
        account_id: account_id(holder),
        asset: xdr::TrustLineAsset::CreditAlphanum4(xdr::AlphaNum4 {
            asset_code: xdr::AssetCode4(asset_code),
            issuer: account_id(issuer),
        }),
        balance: 500_000_000,
        limit: i64::MAX,
        flags: 1,
        ext: xdr::TrustLineEntryExt::V0,
    })
}
