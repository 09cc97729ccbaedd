//! Small conversions between the network's types and plain Rust ones.

use sha2::{Digest, Sha256};
use stellar_xdr::{
    AccountId, Asset, AssetCode4, AssetCode12, Hash, LedgerKey, LedgerKeyAccount,
    LedgerKeyTrustLine, Limits, MuxedAccount, PublicKey, TrustLineAsset, Uint256, VecM, WriteXdr,
};

/// Deepest nesting of an envelope a node takes.
pub const MAX_DEPTH: u32 = 500;

/// The binary XDR of a value that was itself built or decoded by this program.
#[expect(
    clippy::expect_used,
    reason = "values come from decoded envelopes or from bounded builders"
)]
pub fn to_bytes<T: WriteXdr>(value: &T) -> Vec<u8> {
    value
        .to_xdr(Limits::none())
        .expect("every value built here has an encoding")
}

/// SHA-256 of the concatenated parts.
pub fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    Hash(hasher.finalize().into())
}

/// A bounded XDR list from one that is known to fit.
#[expect(
    clippy::expect_used,
    reason = "the callers' lists are bounded by the operations of a transaction or by the bound itself"
)]
pub fn list<T, const MAX: u32>(items: Vec<T>) -> VecM<T, MAX> {
    VecM::try_from(items).expect("the list is within its XDR bound")
}

/// The account a possibly muxed address stands for.
pub fn account_of(address: &MuxedAccount) -> AccountId {
    address.clone().account_id()
}

/// The raw ed25519 key of an account.
pub fn key_bytes(account: &AccountId) -> &[u8; 32] {
    let PublicKey::PublicKeyTypeEd25519(Uint256(bytes)) = &account.0;
    bytes
}

/// The account of a raw ed25519 key.
pub fn account_id(key: [u8; 32]) -> AccountId {
    AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(key)))
}

/// Ledger key of an account.
pub fn account_key(account: &AccountId) -> LedgerKey {
    LedgerKey::Account(LedgerKeyAccount {
        account_id: account.clone(),
    })
}

/// Ledger key of a trustline; `None` for the native asset, which has none.
pub fn trustline_key(account: &AccountId, asset: &Asset) -> Option<LedgerKey> {
    let asset = match asset {
        Asset::Native => return None,
        Asset::CreditAlphanum4(a) => TrustLineAsset::CreditAlphanum4(a.clone()),
        Asset::CreditAlphanum12(a) => TrustLineAsset::CreditAlphanum12(a.clone()),
    };
    Some(LedgerKey::Trustline(LedgerKeyTrustLine {
        account_id: account.clone(),
        asset,
    }))
}

/// Issuer of an asset; `None` for the native one.
pub fn issuer(asset: &Asset) -> Option<&AccountId> {
    match asset {
        Asset::Native => None,
        Asset::CreditAlphanum4(a) => Some(&a.issuer),
        Asset::CreditAlphanum12(a) => Some(&a.issuer),
    }
}

/// The code of an asset without its zero padding, as the network writes it in events.
pub fn asset_code(asset: &Asset) -> Option<&[u8]> {
    let code: &[u8] = match asset {
        Asset::Native => return None,
        Asset::CreditAlphanum4(a) => {
            let AssetCode4(code) = &a.asset_code;
            code
        }
        Asset::CreditAlphanum12(a) => {
            let AssetCode12(code) = &a.asset_code;
            code
        }
    };
    let end = code
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(code.len());
    Some(&code[..end])
}

/// Whether an asset is well formed: an alphanumeric code, zero padded at the end only, of the length its type asks for.
pub fn asset_is_valid(asset: &Asset) -> bool {
    let (code, shortest): (&[u8], usize) = match asset {
        Asset::Native => return true,
        Asset::CreditAlphanum4(a) => (&a.asset_code.0, 1),
        Asset::CreditAlphanum12(a) => (&a.asset_code.0, 5),
    };
    let length = code.iter().position(|b| *b == 0).unwrap_or(code.len());
    length >= shortest
        && code[..length].iter().all(u8::is_ascii_alphanumeric)
        && code[length..].iter().all(|b| *b == 0)
}
