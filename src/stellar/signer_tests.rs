use super::*;

/// A seed that belongs to nobody.
fn secret() -> (SecretString, String) {
    let text = stellar_strkey::ed25519::PrivateKey([0x5a; 32]).to_string();
    (SecretString::from(text.clone()), text)
}

#[test]
fn a_strkey_seed_gives_the_signer_of_its_raw_seed() {
    let (secret, _) = secret();
    let signer = Signer::from_secret(&secret).expect("a signer");
    assert_eq!(signer.account(), Signer::from_seed(&[0x5a; 32]).account());
}

#[test]
fn what_is_no_seed_is_refused_and_not_repeated() {
    let (_, text) = secret();
    let address = AccountId([7; 32]).to_string();
    let damaged = text.replacen('L', "M", 1);
    for bad in [
        "",
        "S",
        &text[..55],
        &format!("{text}A"),
        &damaged,
        &address,
    ] {
        let error = Signer::from_secret(&SecretString::from(bad)).expect_err(bad);
        assert_eq!(error, BadSecret::NotASeed, "{bad}");
        let said = format!("{error} {error:?}");
        assert!(bad.len() < 2 || !said.contains(bad), "{said}");
    }
}

#[tokio::test]
async fn no_format_of_a_signer_or_of_its_errors_tells_the_secret() {
    let (secret, text) = secret();
    let signer = Signer::from_secret(&secret).expect("a signer");
    let error = SignError::Invalid(signer.account());
    let said = format!("{signer:?} {signer:#?} {error} {error:?}");
    assert!(said.contains(&signer.account().to_string()));
    for form in [text, hex::encode([0x5a; 32]), "90, 90".to_owned()] {
        assert!(!said.contains(&form), "{said}");
    }
}

#[tokio::test]
async fn signatures_verify_with_the_accounts_key_and_for_no_other_hash() {
    let signer = Signer::from_seed(&[1; 32]);
    let signature = signer.sign(&[2; 32]).await.expect("a signature");
    let key = signer.account().0;
    assert!(signing::verify(&[2; 32], &signature, &key));
    assert!(!signing::verify(&[3; 32], &signature, &key));
}

#[tokio::test]
async fn a_key_whose_signatures_do_not_verify_signs_nothing() {
    let mut signer = Signer::from_seed(&[1; 32]);
    signer.account = Signer::from_seed(&[2; 32]).account();
    assert_eq!(
        signer.sign(&[2; 32]).await,
        Err(SignError::Invalid(signer.account))
    );
}
