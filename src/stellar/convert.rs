//! The domain's words in XDR and back.

use soroban_client::xdr;
use xdr::{Limits, ReadXdr, WriteXdr};

use crate::domain::ids::AccountId;
use crate::domain::key::KeyTag;
use crate::domain::money::Amount;
use crate::domain::operation::{
    Asset, CreateAccount, Destination, Memo, MemoText, Operation, Payment,
};

/// Bounds on what is read from the network: nothing that is read here nests deeper or is larger.
const READ: Limits = Limits {
    depth: 500,
    len: 8 << 20,
};

/// Reads base64 XDR, or says nothing: what a newer protocol adds cannot be read here.
pub(super) fn read<T: ReadXdr>(base64: &str) -> Option<T> {
    T::from_xdr_base64(base64, READ).ok()
}

/// Writes base64 XDR.
pub(super) fn write<T: WriteXdr>(value: &T) -> String {
    #[expect(clippy::expect_used, reason = "memory takes any length")]
    value
        .to_xdr_base64(Limits::none())
        .expect("writing to memory has no limit to hit")
}

/// Writes binary XDR, which is what hashes are taken of.
pub(super) fn bytes<T: WriteXdr>(value: &T) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "memory takes any length")]
    value
        .to_xdr(Limits::none())
        .expect("writing to memory has no limit to hit")
}

pub(super) fn account(account: AccountId) -> xdr::AccountId {
    xdr::AccountId(xdr::PublicKey::PublicKeyTypeEd25519(xdr::Uint256(
        account.0,
    )))
}

pub(super) fn account_back(account: &xdr::AccountId) -> AccountId {
    let xdr::PublicKey::PublicKeyTypeEd25519(key) = &account.0;
    AccountId(key.0)
}

pub(super) fn muxed(account: AccountId, id: Option<u64>) -> xdr::MuxedAccount {
    let ed25519 = xdr::Uint256(account.0);
    match id {
        None => xdr::MuxedAccount::Ed25519(ed25519),
        Some(id) => xdr::MuxedAccount::MuxedEd25519(xdr::MuxedAccountMed25519 { id, ed25519 }),
    }
}

pub(super) fn muxed_back(account: &xdr::MuxedAccount) -> (AccountId, Option<u64>) {
    match account {
        xdr::MuxedAccount::Ed25519(key) => (AccountId(key.0), None),
        xdr::MuxedAccount::MuxedEd25519(muxed) => (AccountId(muxed.ed25519.0), Some(muxed.id)),
    }
}

/// An asset. Built field by field: the client library's own type writes any spelling of `xlm` as `XLM`.
pub(super) fn asset(asset: &Asset) -> xdr::Asset {
    match asset {
        Asset::Native => xdr::Asset::Native,
        Asset::Issued { code, issuer } => {
            let bytes = code.as_str().as_bytes();
            let issuer = account(*issuer);
            if bytes.len() <= 4 {
                xdr::Asset::CreditAlphanum4(xdr::AlphaNum4 {
                    asset_code: xdr::AssetCode4(padded(bytes)),
                    issuer,
                })
            } else {
                xdr::Asset::CreditAlphanum12(xdr::AlphaNum12 {
                    asset_code: xdr::AssetCode12(padded(bytes)),
                    issuer,
                })
            }
        }
    }
}

fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut code = [0; N];
    let length = bytes.len().min(N);
    code[..length].copy_from_slice(&bytes[..length]);
    code
}

fn asset_back(asset: &xdr::Asset) -> Option<Asset> {
    let (code, issuer): (&[u8], _) = match asset {
        xdr::Asset::Native => return Some(Asset::Native),
        xdr::Asset::CreditAlphanum4(asset) => (&asset.asset_code.0, &asset.issuer),
        xdr::Asset::CreditAlphanum12(asset) => (&asset.asset_code.0, &asset.issuer),
    };
    let code = std::str::from_utf8(code).ok()?.trim_end_matches('\0');
    format!("{code}:{}", account_back(issuer)).parse().ok()
}

pub(super) fn memo(memo: Option<&Memo>) -> xdr::Memo {
    match memo {
        None => xdr::Memo::None,
        Some(Memo::Text(text)) => {
            #[expect(clippy::expect_used, reason = "a memo's text is at most 28 bytes")]
            let text = text.as_str().try_into().expect("at most 28 bytes");
            xdr::Memo::Text(text)
        }
        Some(Memo::Id(id)) => xdr::Memo::Id(*id),
        Some(Memo::Hash(hash)) => xdr::Memo::Hash(xdr::Hash(*hash)),
        Some(Memo::Return(hash)) => xdr::Memo::Return(xdr::Hash(*hash)),
    }
}

/// A memo that is there but is none of the domain's: its text is not UTF-8.
struct ForeignMemo;

fn memo_back(memo: &xdr::Memo) -> Result<Option<Memo>, ForeignMemo> {
    Ok(match memo {
        xdr::Memo::None => None,
        xdr::Memo::Text(text) => {
            let text = text.to_utf8_string().map_err(|_| ForeignMemo)?;
            Some(Memo::Text(MemoText::new(&text).map_err(|_| ForeignMemo)?))
        }
        xdr::Memo::Id(id) => Some(Memo::Id(*id)),
        xdr::Memo::Hash(hash) => Some(Memo::Hash(hash.0)),
        xdr::Memo::Return(hash) => Some(Memo::Return(hash.0)),
    })
}

/// An operation whose source is the treasury, named with the key's tag.
pub(super) fn operation(operation: &Operation, treasury: AccountId, tag: KeyTag) -> xdr::Operation {
    let body = match operation {
        Operation::Payment(payment) => xdr::OperationBody::Payment(xdr::PaymentOp {
            destination: muxed(payment.destination.account, payment.destination.muxed_id),
            asset: asset(&payment.asset),
            amount: payment.amount.units(),
        }),
        Operation::CreateAccount(create) => {
            xdr::OperationBody::CreateAccount(xdr::CreateAccountOp {
                destination: account(create.destination),
                starting_balance: create.starting_balance.units(),
            })
        }
    };
    xdr::Operation {
        source_account: Some(muxed(treasury, Some(tag.0))),
        body,
    }
}

/// The domain's operation, or `None` for one of a kind that is not built here.
pub(super) fn operation_back(body: &xdr::OperationBody, memo: &xdr::Memo) -> Option<Operation> {
    let memo = memo_back(memo).ok()?;
    match body {
        xdr::OperationBody::Payment(payment) => {
            let (account, muxed_id) = muxed_back(&payment.destination);
            Some(Operation::Payment(Payment {
                destination: Destination { account, muxed_id },
                asset: asset_back(&payment.asset)?,
                amount: Amount::from_units(payment.amount).ok()?,
                memo,
            }))
        }
        xdr::OperationBody::CreateAccount(create) => {
            Some(Operation::CreateAccount(CreateAccount {
                destination: account_back(&create.destination),
                starting_balance: Amount::from_units(create.starting_balance).ok()?,
                memo,
            }))
        }
        // Every other operation of the network, also those still to come, is not ours.
        _ => None,
    }
}
