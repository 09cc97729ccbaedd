use super::*;

/// The test cases that SEP-5 publishes: the seed and the accounts 0 to 9 of each.
const SEP_5: [(&str, [&str; 10]); 2] = [
    (
        "e4a5a632e70943ae7f07659df1332160937fad82587216a4c64315a0fb39497ee4a01f76ddab4cba68147977f3a147b6ad584c41808e8238a07f6cc4b582f186",
        [
            "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6",
            "GBAW5XGWORWVFE2XTJYDTLDHXTY2Q2MO73HYCGB3XMFMQ562Q2W2GJQX",
            "GAY5PRAHJ2HIYBYCLZXTHID6SPVELOOYH2LBPH3LD4RUMXUW3DOYTLXW",
            "GAOD5NRAEORFE34G5D4EOSKIJB6V4Z2FGPBCJNQI6MNICVITE6CSYIAE",
            "GBCUXLFLSL2JE3NWLHAWXQZN6SQC6577YMAU3M3BEMWKYPFWXBSRCWV4",
            "GBRQY5JFN5UBG5PGOSUOL4M6D7VRMAYU6WW2ZWXBMCKB7GPT3YCBU2XZ",
            "GBY27SJVFEWR3DUACNBSMJB6T4ZPR4C7ZXSTHT6GMZUDL23LAM5S2PQX",
            "GAY7T23Z34DWLSTEAUKVBPHHBUE4E3EMZBAQSLV6ZHS764U3TKUSNJOF",
            "GDJTCF62UUYSAFAVIXHPRBR4AUZV6NYJR75INVDXLLRZLZQ62S44443R",
            "GBTVYYDIYWGUQUTKX6ZMLGSZGMTESJYJKJWAATGZGITA25ZB6T5REF44",
        ],
    ),
    (
        "7b36d4e725b48695c3ffd2b4b317d5552cb157c1a26c46d36a05317f0d3053eb8b3b6496ba39ebd9312d10e3f9937b47a6790541e7c577da027a564862e92811",
        [
            "GAVXVW5MCK7Q66RIBWZZKZEDQTRXWCZUP4DIIFXCCENGW2P6W4OA34RH",
            "GDFCYVCICATX5YPJUDS22KM2GW5QU2KKSPPPT2IC5AQIU6TP3BZSLR5K",
            "GAUA3XK3SGEQFNCBM423WIM5WCZ4CR4ZDPDFCYSFLCTODGGGJMPOHAAE",
            "GAH3S77QXTAPZ77REY6LGFIJ2XWVXFOKXHCFLA6HQTL3POLVZJDHHUDM",
            "GCSCZVGV2Y3EQ2RATJ7TE6PVWTW5OH5SMG754AF6W6YM3KJF7RMNPB4Y",
            "GDKWYAJE3W6PWCXDZNMFNFQSPTF6BUDANE6OVRYMJKBYNGL62VKKCNCC",
            "GCDTVB4XDLNX22HI5GUWHBXJFBCPB6JNU6ZON7E57FA3LFURS74CWDJH",
            "GBTDPL5S4IOUQHDLCZ7I2UXJ2TEHO6DYIQ3F2P5OOP3IS7JSJI4UMHQJ",
            "GD3KWA24OIM7V3MZKDAVSLN3NBHGKVURNJ72ZCTAJSDTF7RIGFXPW5FQ",
            "GB3C6RRQB3V7EPDXEDJCMTS45LVDLSZQ46PTIGKZUY37DXXEOAKJIWSV",
        ],
    ),
];

#[test]
fn accounts_are_those_that_sep_5_publishes() {
    for (seed, accounts) in SEP_5 {
        let seed = SecretString::from(seed);
        for (index, account) in (0..).zip(accounts) {
            let signer = derive(&seed, index).expect("a channel");
            assert_eq!(signer.account().to_string(), account, "index {index}");
        }
    }
}

#[test]
fn seeds_out_of_bounds_and_indexes_too_large_are_refused_without_repeating_them() {
    let odd = "a".repeat(33);
    let short = "ab".repeat(15);
    let long = "ab".repeat(65);
    let not_hex = "xy".repeat(32);
    for bad in ["", &odd, &short, &long, &not_hex] {
        let error = derive(&SecretString::from(bad), 0).expect_err(bad);
        assert_eq!(error, BadSecret::NotAMasterSeed);
        assert!(bad.is_empty() || !format!("{error} {error:?}").contains(bad));
    }
    let seed = SecretString::from("ab".repeat(32));
    assert!(derive(&seed, HARDENED - 1).is_ok());
    assert_eq!(
        derive(&seed, HARDENED).expect_err("too large"),
        BadSecret::IndexTooLarge
    );
}
