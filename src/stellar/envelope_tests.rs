use super::*;
use crate::domain::operation::{CreateAccount, Memo, MemoText, Payment};
use crate::stellar::effect;
use crate::stellar::fee_bump::fee_bump;
use crate::stellar::inspect::inspect;
use crate::stellar::recorded::{BUMP, FEE_SOURCE, PASSPHRASE, PLAIN};
use soroban_client::signing;

fn network() -> NetworkId {
    NetworkId::new(PASSPHRASE)
}

fn signer(seed: u8) -> Signer {
    Signer::from_seed(&[seed; 32])
}

fn payment(asset: &str, memo: Option<Memo>, muxed_id: Option<u64>) -> Operation {
    Operation::Payment(Payment {
        destination: crate::domain::operation::Destination {
            account: signer(9).account(),
            muxed_id,
        },
        asset: asset.parse().expect("an asset"),
        amount: "12.5".parse().expect("an amount"),
        memo,
    })
}

struct Parts {
    network: NetworkId,
    channel: Signer,
    treasury: Signer,
    operation: Operation,
}

fn parts(operation: Operation) -> Parts {
    Parts {
        network: network(),
        channel: signer(1),
        treasury: signer(2),
        operation,
    }
}

impl Parts {
    fn recipe(&self) -> Recipe<'_> {
        Recipe {
            network: &self.network,
            pair: Pair {
                account: self.channel.account(),
                sequence: 77,
            },
            channel: &self.channel,
            treasury: &self.treasury,
            operation: &self.operation,
            tag: KeyTag(u64::MAX - 3),
            fee: 100,
            max_time: 1_800_000_000,
        }
    }
}

fn operations() -> Vec<Operation> {
    let issuer = signer(5).account();
    let text = |text: &str| Some(Memo::Text(MemoText::new(text).expect("a memo")));
    vec![
        payment("native", None, None),
        payment(
            &format!("USDC:{issuer}"),
            text("ünïcode, 28 bytes at most"),
            None,
        ),
        payment(&format!("LONGERTHAN4:{issuer}"), text(""), Some(0)),
        payment(
            &format!("xlm:{issuer}"),
            Some(Memo::Id(u64::MAX)),
            Some(u64::MAX),
        ),
        payment("native", Some(Memo::Hash([3; 32])), Some(7)),
        payment("native", Some(Memo::Return([4; 32])), None),
        Operation::CreateAccount(CreateAccount {
            destination: signer(9).account(),
            starting_balance: "1".parse().expect("an amount"),
            memo: Some(Memo::Id(1)),
        }),
    ]
}

/// Whatever is asked for is what the bytes say, read back from the wire.
#[tokio::test]
async fn an_envelope_says_what_its_recipe_said() {
    for operation in operations() {
        let parts = parts(operation);
        let recipe = parts.recipe();
        let built = build(recipe.clone()).await.expect("an envelope");
        let read = inspect(&parts.network, &built.xdr).expect("readable");
        assert_eq!((read.pair, read.hash), (recipe.pair, built.hash));
        assert_eq!(read.max_time, Some(recipe.max_time));
        assert_eq!(read.tag, Some(recipe.tag));
        assert_eq!(
            read.operation,
            Some((parts.treasury.account(), parts.operation.clone()))
        );
        let effect = effect::expected(&parts.network, parts.treasury.account(), &parts.operation);
        assert_eq!(read.effects, [effect]);
        assert_eq!((built.fee, built.operations), (100, 1));
        assert_eq!((read.inner_hash, built.inner_hash), (None, None));
    }
}

fn decoded(xdr: &str) -> xdr::TransactionV1Envelope {
    match convert::read(xdr).expect("an envelope") {
        xdr::TransactionEnvelope::Tx(envelope) => envelope,
        xdr::TransactionEnvelope::TxV0(_) | xdr::TransactionEnvelope::TxFeeBump(_) => {
            panic!("a plain envelope")
        }
    }
}

#[tokio::test]
async fn channel_and_treasury_sign_and_only_time_bounds_restrict_it() {
    let parts = parts(payment("native", None, None));
    let built = build(parts.recipe()).await.expect("an envelope");
    let envelope = decoded(&built.xdr);
    let signers = [&parts.channel, &parts.treasury];
    assert_eq!(envelope.signatures.len(), signers.len());
    for (signature, signer) in envelope.signatures.iter().zip(signers) {
        let key = signer.account().0;
        assert_eq!(signature.hint.0, key[28..]);
        assert!(signing::verify(
            &built.hash.0,
            signature.signature.0.as_slice(),
            &key
        ));
    }
    let bounds = xdr::TimeBounds {
        min_time: xdr::TimePoint(0),
        max_time: xdr::TimePoint(1_800_000_000),
    };
    assert_eq!(envelope.tx.cond, xdr::Preconditions::Time(bounds));
    assert_eq!(envelope.tx.fee, 100);
}

#[tokio::test]
async fn a_treasury_that_is_its_own_channel_signs_once() {
    let mut parts = parts(payment("native", None, None));
    parts.treasury = parts.channel.clone();
    let built = build(parts.recipe()).await.expect("an envelope");
    assert_eq!(decoded(&built.xdr).signatures.len(), 1);
}

#[tokio::test]
async fn recipes_that_make_no_envelope_are_refused() {
    let parts = parts(payment("native", None, None));
    for fee in [i64::MIN, -1, 0, i64::from(u32::MAX) + 1] {
        let recipe = Recipe {
            fee,
            ..parts.recipe()
        };
        assert_eq!(build(recipe).await, Err(BuildError::Fee(fee)));
    }
    for sequence in [i64::MIN, -1, 0] {
        let mut recipe = parts.recipe();
        recipe.pair.sequence = sequence;
        assert_eq!(build(recipe).await, Err(BuildError::Sequence(sequence)));
    }
    let forever = Recipe {
        max_time: 0,
        ..parts.recipe()
    };
    assert_eq!(build(forever).await, Err(BuildError::NoExpiry));
    let mut recipe = parts.recipe();
    recipe.pair.account = signer(8).account();
    let wrong_channel = BuildError::WrongChannel {
        pair: recipe.pair.account,
        key: parts.channel.account(),
    };
    assert_eq!(build(recipe).await, Err(wrong_channel));
    let mut edge = parts.recipe();
    edge.pair.sequence = i64::MAX;
    edge.fee = i64::from(u32::MAX);
    assert!(build(edge).await.is_ok());
}

#[tokio::test]
async fn a_fee_bump_is_byte_for_byte_what_was_recorded() {
    let mut seed = [0; 32];
    hex::decode_to_slice(FEE_SOURCE, &mut seed).expect("a seed");
    let fee_source = Signer::from_seed(&seed);
    let built = fee_bump(&network(), PLAIN.1, &fee_source, 2000)
        .await
        .expect("a fee-bump");
    assert_eq!(built.xdr, BUMP.1);
    assert_eq!(built.hash.to_string(), BUMP.0);
    assert_eq!(
        built.inner_hash.map(|hash| hash.to_string()),
        Some(PLAIN.0.to_owned())
    );
    assert_eq!((built.fee, built.operations), (2000, 2));
    let again = fee_bump(&network(), &built.xdr, &fee_source, 20_000)
        .await
        .expect("a fee-bump of the same inner transaction");
    assert_eq!(again.inner_hash, built.inner_hash);
    assert_eq!((again.pair, again.max_time), (built.pair, built.max_time));
    assert_ne!(again.hash, built.hash);
}

#[tokio::test]
async fn a_fee_bump_keeps_the_inner_pair_tag_and_expiry() {
    let parts = parts(payment("native", None, None));
    let inner = build(parts.recipe()).await.expect("an envelope");
    let bump = fee_bump(&parts.network, &inner.xdr, &parts.treasury, 200)
        .await
        .expect("a fee-bump");
    let read = inspect(&parts.network, &bump.xdr).expect("readable");
    assert_eq!((read.hash, read.inner_hash), (bump.hash, Some(inner.hash)));
    assert_eq!((bump.pair, bump.max_time), (inner.pair, inner.max_time));
    assert_eq!(read.tag, Some(KeyTag(u64::MAX - 3)));
}

#[tokio::test]
async fn a_fee_bump_below_the_inner_rate_or_of_no_envelope_is_refused() {
    let parts = parts(payment("native", None, None));
    let inner = build(parts.recipe()).await.expect("an envelope");
    let bump = async |xdr: &str, fee| fee_bump(&parts.network, xdr, &parts.treasury, fee).await;
    let too_low = BuildError::FeeBelowInner {
        offered: 199,
        least: 200,
    };
    assert_eq!(bump(&inner.xdr, 199).await, Err(too_low));
    assert_eq!(bump(&inner.xdr, 0).await, Err(BuildError::Fee(0)));
    for xdr in ["", "AAAA", &inner.xdr[..100]] {
        assert_eq!(bump(xdr, 200).await, Err(BuildError::NotAnEnvelope));
    }
    let mut forever = decoded(&inner.xdr);
    forever.tx.cond = xdr::Preconditions::None;
    let forever = convert::write(&xdr::TransactionEnvelope::Tx(forever));
    assert_eq!(bump(&forever, 200).await, Err(BuildError::NoExpiry));
}

#[tokio::test]
async fn no_format_of_a_recipe_tells_a_secret() {
    let parts = parts(payment("native", None, None));
    let recipe = parts.recipe();
    let said = format!("{recipe:?} {:?}", build(recipe.clone()).await);
    for seed in [[1; 32], [2; 32]] {
        let strkey = stellar_strkey::ed25519::PrivateKey(seed).to_string();
        let bytes = format!("{}, {}", seed[0], seed[1]);
        for form in [strkey, hex::encode(seed), bytes] {
            assert!(!said.contains(&form), "{said}");
        }
    }
}
