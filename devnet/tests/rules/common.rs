//! Keys, transactions and a small network to try rules on.

use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest, Sha256};
use stellar_xdr::{
    AccountEntry, AccountId, Asset, CreateAccountOp, DecoratedSignature, EnvelopeType,
    FeeBumpTransaction, FeeBumpTransactionEnvelope, FeeBumpTransactionExt,
    FeeBumpTransactionInnerTx, Hash, LedgerEntryData, LedgerKey, LedgerKeyAccount, Limits, Memo,
    MuxedAccount, Operation, OperationBody, PaymentOp, Preconditions, PublicKey, SequenceNumber,
    Signature, SignatureHint, Transaction, TransactionEnvelope, TransactionExt, TransactionResult,
    TransactionResultResult, TransactionV1Envelope, Uint256, WriteXdr,
};
use tender_devnet::config::NetworkConfig;
use tender_devnet::history::ClosedLedger;
use tender_devnet::network::{Network, SubmitStatus};

pub const PASSPHRASE: &str = "Test of the rules";
pub const LUMEN: i64 = 10_000_000;
pub const START: u64 = 1_000_000;

/// A key pair made from a name.
#[derive(Clone)]
pub struct Key(pub SigningKey);

impl Key {
    pub fn named(name: &str) -> Self {
        Self(SigningKey::from_bytes(
            &Sha256::digest(name.as_bytes()).into(),
        ))
    }

    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    pub fn id(&self) -> AccountId {
        AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(self.public())))
    }

    pub fn muxed(&self) -> MuxedAccount {
        MuxedAccount::Ed25519(Uint256(self.public()))
    }

    pub fn entry_key(&self) -> LedgerKey {
        LedgerKey::Account(LedgerKeyAccount {
            account_id: self.id(),
        })
    }

    pub fn sign(&self, hash: &Hash) -> DecoratedSignature {
        let public = self.public();
        DecoratedSignature {
            hint: SignatureHint(public[28..].try_into().unwrap()),
            signature: Signature(self.0.sign(&hash.0).to_bytes().to_vec().try_into().unwrap()),
        }
    }
}

pub fn config() -> NetworkConfig {
    NetworkConfig {
        start_ledger: 10,
        start_close_time: START,
        ..NetworkConfig::development(PASSPHRASE)
    }
}

pub fn root() -> Key {
    Key(SigningKey::from_bytes(&config().root_seed()))
}

pub fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    Hash(hasher.finalize().into())
}

fn hash_of<T: WriteXdr>(kind: EnvelopeType, tx: &T) -> Hash {
    let id = config().network_id();
    let kind = kind.to_xdr(Limits::none()).unwrap();
    sha256(&[&id.0, &kind, &tx.to_xdr(Limits::none()).unwrap()])
}

/// An unsigned transaction of `source`.
pub fn transaction(
    source: &Key,
    sequence: i64,
    fee: u32,
    operations: Vec<Operation>,
) -> Transaction {
    Transaction {
        source_account: source.muxed(),
        fee,
        seq_num: SequenceNumber(sequence),
        cond: Preconditions::None,
        memo: Memo::None,
        operations: operations.try_into().unwrap(),
        ext: TransactionExt::V0,
    }
}

pub fn tx_hash(tx: &Transaction) -> Hash {
    hash_of(EnvelopeType::Tx, tx)
}

pub fn signed(tx: &Transaction, signers: &[&Key]) -> TransactionV1Envelope {
    let hash = tx_hash(tx);
    let signatures: Vec<_> = signers.iter().map(|key| key.sign(&hash)).collect();
    TransactionV1Envelope {
        tx: tx.clone(),
        signatures: signatures.try_into().unwrap(),
    }
}

pub fn bumped(inner: &TransactionV1Envelope, payer: &Key, fee: i64) -> TransactionEnvelope {
    let tx = FeeBumpTransaction {
        fee_source: payer.muxed(),
        fee,
        inner_tx: FeeBumpTransactionInnerTx::Tx(inner.clone()),
        ext: FeeBumpTransactionExt::V0,
    };
    let signatures = vec![payer.sign(&hash_of(EnvelopeType::TxFeeBump, &tx))];
    TransactionEnvelope::TxFeeBump(FeeBumpTransactionEnvelope {
        tx,
        signatures: signatures.try_into().unwrap(),
    })
}

pub fn operation(body: OperationBody) -> Operation {
    Operation {
        source_account: None,
        body,
    }
}

pub fn pay(to: &Key, amount: i64) -> Operation {
    operation(OperationBody::Payment(PaymentOp {
        destination: to.muxed(),
        asset: Asset::Native,
        amount,
    }))
}

pub fn create(account: &Key, balance: i64) -> Operation {
    operation(OperationBody::CreateAccount(CreateAccountOp {
        destination: account.id(),
        starting_balance: balance,
    }))
}

/// A network whose clock the test moves on.
pub struct World {
    pub network: Network,
    time: u64,
}

impl World {
    pub fn new(config: NetworkConfig) -> Self {
        Self {
            time: config.start_close_time,
            network: Network::new(config),
        }
    }

    /// A network with these accounts, made by the root account in its first ledgers.
    pub fn with_accounts(config: NetworkConfig, accounts: &[(&Key, i64)]) -> Self {
        let at_once = config.max_tx_set_ops.min(100) as usize;
        let mut world = Self::new(config);
        for some in accounts.chunks(at_once) {
            let create = some.iter().map(|(k, b)| create(k, *b)).collect();
            let fee = 100 * u32::try_from(some.len()).unwrap();
            let tx = transaction(&root(), world.next_sequence(&root()), fee, create);
            world.submit_ok(&TransactionEnvelope::Tx(signed(&tx, &[&root()])));
            assert!(world.close().transactions[0].is_success());
        }
        world
    }

    pub fn submit(&mut self, envelope: &TransactionEnvelope) -> SubmitStatus {
        let bytes = envelope.to_xdr(Limits::none()).unwrap();
        self.network.submit(&bytes).unwrap().status
    }

    pub fn submit_ok(&mut self, envelope: &TransactionEnvelope) {
        assert_eq!(self.submit(envelope), SubmitStatus::Pending);
    }

    pub fn submit_tx(&mut self, tx: &Transaction, signers: &[&Key]) -> SubmitStatus {
        self.submit(&TransactionEnvelope::Tx(signed(tx, signers)))
    }

    pub fn close(&mut self) -> &ClosedLedger {
        self.time += 5;
        self.network.close(self.time)
    }

    pub fn account(&self, key: &Key) -> &AccountEntry {
        match &self.network.entry(&key.entry_key()).unwrap().data {
            LedgerEntryData::Account(account) => account,
            _ => unreachable!("the key of an account"),
        }
    }

    pub fn next_sequence(&self, key: &Key) -> i64 {
        self.account(key).seq_num.0 + 1
    }

    /// All lumens in accounts and in the fee pool, in stroops.
    pub fn lumens(&self) -> i64 {
        let header = &self.network.ledgers().last().unwrap().header;
        let held: i64 = self
            .network
            .entries()
            .map(|entry| match &entry.data {
                LedgerEntryData::Account(account) => account.balance,
                _ => 0,
            })
            .sum();
        held + header.fee_pool
    }
}

/// Name of a result's code.
pub fn code(result: &TransactionResult) -> &'static str {
    match &result.result {
        TransactionResultResult::TxFeeBumpInnerFailed(pair) => pair.result.result.name(),
        other => other.name(),
    }
}

/// Name of the code a refused envelope got.
pub fn refusal(status: &SubmitStatus) -> &'static str {
    match status {
        SubmitStatus::Error(result) => code(result),
        other => panic!("not refused: {other:?}"),
    }
}
