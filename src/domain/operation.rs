//! What a submission asks the network to do.

use std::fmt;
use std::str::FromStr;

use super::ids::AccountId;
use super::money::Amount;

/// A logical operation, checked: whatever can be known to be wrong without the network is refused before this exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Moves an amount of an asset from the treasury to an existing account.
    Payment(Payment),
    /// Creates an account and funds it with lumens from the treasury.
    CreateAccount(CreateAccount),
}

/// Moves an amount of an asset from the treasury to an existing account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Who is paid.
    pub destination: Destination,
    /// In what.
    pub asset: Asset,
    /// How much.
    pub amount: Amount,
    /// Memo of the transaction.
    pub memo: Option<Memo>,
}

/// Creates an account and funds it with lumens from the treasury.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateAccount {
    /// The account that comes to exist.
    pub destination: AccountId,
    /// Its first balance, in stroops.
    pub starting_balance: Amount,
    /// Memo of the transaction.
    pub memo: Option<Memo>,
}

/// Kinds of logical operations, as they are named in the API, the ledger and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// See [`Payment`].
    Payment,
    /// See [`CreateAccount`].
    CreateAccount,
}

impl Operation {
    /// Which kind of operation this is.
    #[must_use]
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Payment(_) => OperationKind::Payment,
            Self::CreateAccount(_) => OperationKind::CreateAccount,
        }
    }

    /// Memo of the transaction.
    #[must_use]
    pub fn memo(&self) -> Option<&Memo> {
        match self {
            Self::Payment(payment) => payment.memo.as_ref(),
            Self::CreateAccount(create) => create.memo.as_ref(),
        }
    }
}

impl OperationKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Payment, Self::CreateAccount];

    /// The name in the API and the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::CreateAccount => "create_account",
        }
    }
}

/// A payee: an account, or a customer within an account (a muxed `M...` address).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Destination {
    /// The account that receives.
    pub account: AccountId,
    /// Id of the customer within the account.
    pub muxed_id: Option<u64>,
}

/// A text is no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a destination: a G... or M... address is needed")]
pub struct BadDestination;

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.muxed_id {
            None => self.account.fmt(f),
            Some(id) => {
                let muxed = stellar_strkey::ed25519::MuxedAccount {
                    ed25519: self.account.0,
                    id,
                };
                muxed.to_string().as_str().fmt(f)
            }
        }
    }
}

impl FromStr for Destination {
    type Err = BadDestination;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(account) = text.parse() {
            return Ok(Self {
                account,
                muxed_id: None,
            });
        }
        stellar_strkey::ed25519::MuxedAccount::from_string(text)
            .map(|muxed| Self {
                account: AccountId(muxed.ed25519),
                muxed_id: Some(muxed.id),
            })
            .map_err(|_| BadDestination)
    }
}

/// Lumens, or an asset issued by an account.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asset {
    /// Lumens, written `native`.
    Native,
    /// An issued asset, written `CODE:ISSUER`.
    Issued {
        /// Its code.
        code: AssetCode,
        /// The account that issues it.
        issuer: AccountId,
    },
}

/// Code of an issued asset: 1 to 12 letters and digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssetCode(String);

impl AssetCode {
    /// The code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text is no asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an asset: `native` or CODE:ISSUER is needed, CODE being 1 to 12 letters and digits")]
pub struct BadAsset;

impl fmt::Display for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Issued { code, issuer } => write!(f, "{}:{issuer}", code.0),
        }
    }
}

impl FromStr for Asset {
    type Err = BadAsset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "native" {
            return Ok(Self::Native);
        }
        let (code, issuer) = text.split_once(':').ok_or(BadAsset)?;
        let fits =
            (1..=12).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fits {
            return Err(BadAsset);
        }
        let issuer = issuer.parse().map_err(|_| BadAsset)?;
        Ok(Self::Issued {
            code: AssetCode(code.to_owned()),
            issuer,
        })
    }
}

/// Memo of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memo {
    /// Up to 28 bytes of text.
    Text(MemoText),
    /// A number.
    Id(u64),
    /// A hash of 32 bytes.
    Hash([u8; 32]),
    /// The hash of a payment that is being returned.
    Return([u8; 32]),
}

/// Text of a memo: at most 28 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoText(String);

/// A text is too long for a memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a text memo holds at most 28 bytes")]
pub struct MemoTooLong;

impl MemoText {
    /// Longest text, in bytes (XDR: `string text<28>`).
    pub const MAX_BYTES: usize = 28;

    /// A memo of that text.
    ///
    /// # Errors
    /// [`MemoTooLong`] above 28 bytes.
    pub fn new(text: &str) -> Result<Self, MemoTooLong> {
        if text.len() > Self::MAX_BYTES {
            return Err(MemoTooLong);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_and_assets_survive_the_round_trip() {
        let account = AccountId([3; 32]);
        let plain = Destination {
            account,
            muxed_id: None,
        };
        let muxed = Destination {
            account,
            muxed_id: Some(42),
        };
        assert_eq!(plain.to_string().parse(), Ok(plain));
        assert_eq!(muxed.to_string().parse(), Ok(muxed));
        assert!(muxed.to_string().starts_with('M'));
        let issued: Asset = format!("USDC:{account}").parse().expect("an asset");
        assert_eq!(issued.to_string(), format!("USDC:{account}"));
        assert_eq!("native".parse(), Ok(Asset::Native));
        assert_eq!(Asset::Native.to_string(), "native");
        let Asset::Issued { code, .. } = issued else {
            panic!("it has an issuer");
        };
        assert_eq!(code.as_str(), "USDC");
        assert_eq!("".parse::<Destination>(), Err(BadDestination));
    }

    #[test]
    fn an_operation_tells_its_kind_and_its_memo() {
        let account = AccountId([3; 32]);
        let amount = Amount::from_units(1).expect("positive");
        let text = MemoText::new("rent").expect("short");
        assert_eq!(text.as_str(), "rent");
        let payment = Operation::Payment(Payment {
            destination: account.to_string().parse().expect("an account"),
            asset: Asset::Native,
            amount,
            memo: Some(Memo::Text(text.clone())),
        });
        let creation = Operation::CreateAccount(CreateAccount {
            destination: account,
            starting_balance: amount,
            memo: Some(Memo::Id(7)),
        });
        assert_eq!(payment.memo(), Some(&Memo::Text(text)));
        assert_eq!(creation.memo(), Some(&Memo::Id(7)));
        let kinds = [payment.kind(), creation.kind()];
        assert_eq!(kinds, OperationKind::ALL);
        let names = OperationKind::ALL.map(OperationKind::as_str);
        assert_eq!(names, ["payment", "create_account"]);
    }

    #[test]
    fn malformed_assets_and_memos_are_refused() {
        let issuer = AccountId([3; 32]);
        for text in [
            "",
            "XLM",
            "USDC",
            ":",
            &format!(":{issuer}"),
            &format!("TOOLONGTOOLONG:{issuer}"),
            &format!("US-C:{issuer}"),
            "USDC:GABC",
        ] {
            assert_eq!(text.parse::<Asset>(), Err(BadAsset), "{text}");
        }
        assert_eq!(MemoText::new(&"x".repeat(29)), Err(MemoTooLong));
        assert_eq!(
            MemoText::new(&"é".repeat(15)),
            Err(MemoTooLong),
            "bytes count, not characters"
        );
        assert!(MemoText::new(&"x".repeat(28)).is_ok());
    }
}
