//! The unified asset events: transfer, mint, burn, clawback, authorization and fee.

use crate::xdr::{account_of, asset_code, issuer, key_bytes, list, sha256, to_bytes};
use stellar_strkey::ed25519;
use stellar_xdr::{
    AccountId, Asset, ContractEvent, ContractEventBody, ContractEventType, ContractEventV0,
    ContractId, ContractIdPreimage, ExtensionPoint, Hash, HashIdPreimage, HashIdPreimageContractId,
    Int128Parts, Memo, MuxedAccount, ScAddress, ScBytes, ScMap, ScMapEntry, ScString, ScSymbol,
    ScVal, StringM, TransactionEvent, TransactionEventStage,
};

/// Id of the contract that stands for an asset, deployed or not.
pub fn asset_contract(network_id: &Hash, asset: &Asset) -> ContractId {
    let preimage = HashIdPreimage::ContractId(HashIdPreimageContractId {
        network_id: network_id.clone(),
        contract_id_preimage: ContractIdPreimage::Asset(asset.clone()),
    });
    ContractId(sha256(&[&to_bytes(&preimage)]))
}

/// The event of a payment of `asset`: a transfer, or a mint or burn if one side is its issuer.
pub fn payment(
    network_id: &Hash,
    asset: &Asset,
    from: &MuxedAccount,
    to: &MuxedAccount,
    amount: i64,
    memo: &Memo,
) -> ContractEvent {
    let (sender, receiver) = (account_of(from), account_of(to));
    let from_issuer = issuer(asset) == Some(&sender);
    let to_issuer = issuer(asset) == Some(&receiver);
    let name = asset_name(asset);
    let (topics, data) = match (from_issuer, to_issuer) {
        (true, false) => (
            vec![symbol("mint"), address(receiver), name],
            amount_to(to, amount, memo),
        ),
        (false, true) => (vec![symbol("burn"), address(sender), name], number(amount)),
        (true, true) | (false, false) => (
            vec![symbol("transfer"), address(sender), address(receiver), name],
            amount_to(to, amount, memo),
        ),
    };
    event(asset_contract(network_id, asset), topics, data)
}

/// The event of an issuer that says whether a line may send and receive.
pub fn set_authorized(
    network_id: &Hash,
    asset: &Asset,
    trustor: &AccountId,
    authorized: bool,
) -> ContractEvent {
    let topics = vec![
        symbol("set_authorized"),
        address(trustor.clone()),
        asset_name(asset),
    ];
    event(
        asset_contract(network_id, asset),
        topics,
        ScVal::Bool(authorized),
    )
}

/// The event of an issuer that takes its asset back.
pub fn clawback(network_id: &Hash, asset: &Asset, from: AccountId, amount: i64) -> ContractEvent {
    let topics = vec![symbol("clawback"), address(from), asset_name(asset)];
    event(asset_contract(network_id, asset), topics, number(amount))
}

/// The event of a fee taken before anything of the ledger is applied.
pub fn fee(network_id: &Hash, payer: &AccountId, amount: i64) -> TransactionEvent {
    TransactionEvent {
        stage: TransactionEventStage::BeforeAllTxs,
        event: event(
            asset_contract(network_id, &Asset::Native),
            vec![symbol("fee"), address(payer.clone())],
            number(amount),
        ),
    }
}

fn event(contract: ContractId, topics: Vec<ScVal>, data: ScVal) -> ContractEvent {
    ContractEvent {
        ext: ExtensionPoint::V0,
        contract_id: Some(contract),
        type_: ContractEventType::Contract,
        body: ContractEventBody::V0(ContractEventV0 {
            topics: list(topics),
            data,
        }),
    }
}

/// The amount alone, or with the receiver's muxed id; a memo takes that place where the address has none.
fn amount_to(to: &MuxedAccount, amount: i64, memo: &Memo) -> ScVal {
    let id = match (to, memo) {
        (MuxedAccount::MuxedEd25519(muxed), _) => ScVal::U64(muxed.id),
        (MuxedAccount::Ed25519(_), Memo::None) => return number(amount),
        (MuxedAccount::Ed25519(_), Memo::Id(id)) => ScVal::U64(*id),
        (MuxedAccount::Ed25519(_), Memo::Text(text)) => ScVal::String(string(text.as_slice())),
        (MuxedAccount::Ed25519(_), Memo::Hash(hash) | Memo::Return(hash)) => {
            ScVal::Bytes(bytes(&hash.0))
        }
    };
    ScVal::Map(Some(ScMap(list(vec![
        ScMapEntry {
            key: symbol("amount"),
            val: number(amount),
        },
        ScMapEntry {
            key: symbol("to_muxed_id"),
            val: id,
        },
    ]))))
}

fn asset_name(asset: &Asset) -> ScVal {
    let text = match (asset_code(asset), issuer(asset)) {
        (Some(code), Some(issuer)) => {
            let key = ed25519::PublicKey(*key_bytes(issuer));
            let mut text = code.to_vec();
            text.push(b':');
            text.extend_from_slice(key.to_string().as_bytes());
            text
        }
        _ => b"native".to_vec(),
    };
    ScVal::String(string(&text))
}

fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(ScSymbol(short(text.as_bytes())))
}

fn address(account: AccountId) -> ScVal {
    ScVal::Address(ScAddress::Account(account))
}

fn number(amount: i64) -> ScVal {
    let wide = i128::from(amount);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number is split into its two halves"
    )]
    let parts = Int128Parts {
        hi: (wide >> 64) as i64,
        lo: wide as u64,
    };
    ScVal::I128(parts)
}

#[expect(clippy::expect_used, reason = "names and memo texts are short")]
fn short<const MAX: u32>(text: &[u8]) -> StringM<MAX> {
    StringM::try_from(text.to_vec()).expect("the text is within its XDR bound")
}

fn string(text: &[u8]) -> ScString {
    ScString(short(text))
}

#[expect(clippy::expect_used, reason = "the list has no bound of its own")]
fn bytes(data: &[u8; 32]) -> ScBytes {
    ScBytes(data.to_vec().try_into().expect("32 bytes always fit"))
}
