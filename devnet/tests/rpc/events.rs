//! Events: what they say, filters, ranges and pages.

use crate::common::{Key, root};
use crate::support::{Served, base64, payment};
use serde_json::{Value, json};
use stellar_xdr::{Int128Parts, ScAddress, ScString, ScVal};

fn symbol(text: &str) -> String {
    base64(&ScVal::Symbol(text.try_into().unwrap()))
}

fn address(key: &Key) -> String {
    base64(&ScVal::Address(ScAddress::Account(key.id())))
}

/// Ledger 11 creates alice and bob, ledger 12 pays alice 5 stroops, ledger 13 pays nobody.
async fn history() -> (Served, String) {
    let served = Served::by_hand().await;
    let (alice, bob) = (Key::named("alice"), Key::named("bob"));
    served.create(1, &[&alice, &bob]).await;
    let paid = served.send_ok(&payment(2, &alice, 5)).await;
    served.node.close_ledger();
    served.send_ok(&payment(3, &Key::named("nobody"), 5)).await;
    served.node.close_ledger();
    (served, paid)
}

fn ids(reply: &Value) -> Vec<&str> {
    let events = reply["events"].as_array().unwrap();
    events.iter().map(|e| e["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_event_says_where_it_happened_and_what() {
    let (served, paid) = history().await;
    let reply = served
        .call("getEvents", json!({"startLedger": 12, "endLedger": 13}))
        .await;
    // The fee comes before everything else of the ledger, the transfer with its operation.
    assert_eq!(
        ids(&reply),
        [
            "0000000051539607552-0000000000",
            "0000000051539611648-0000000000"
        ]
    );
    let events = reply["events"].as_array().unwrap();
    assert_eq!(events[0]["topic"][0], symbol("fee"));
    assert_eq!(events[0]["transactionIndex"], 0);
    let transfer = &events[1];
    assert_eq!(transfer["type"], "contract");
    assert_eq!(transfer["ledger"], 12);
    assert_eq!(transfer["ledgerClosedAt"], "1970-01-12T13:46:42Z");
    assert_eq!(transfer["txHash"], paid);
    assert_eq!(transfer["operationIndex"], 0);
    assert_eq!(transfer["transactionIndex"], 1);
    assert_eq!(transfer["inSuccessfulContractCall"], true);
    let native = base64(&ScVal::String(ScString("native".try_into().unwrap())));
    assert_eq!(
        transfer["topic"],
        json!([
            symbol("transfer"),
            address(&root()),
            address(&Key::named("alice")),
            native
        ])
    );
    let five = ScVal::I128(Int128Parts { hi: 0, lo: 5 });
    assert_eq!(transfer["value"], base64(&five));
    let contract = transfer["contractId"].as_str().unwrap();
    assert!(stellar_strkey::Contract::from_string(contract).is_ok());
    assert_eq!(reply["latestLedger"], 13);
    assert_eq!(reply["oldestLedger"], 10);
    assert_eq!(reply["latestLedgerCloseTime"], "1000003");
    assert_eq!(reply["oldestLedgerCloseTime"], "1000000");
}

/// How many of all events match one filter.
async fn count(served: &Served, filters: Value) -> usize {
    let params = json!({"startLedger": 10, "filters": filters});
    let reply = served.call("getEvents", params).await;
    reply["events"].as_array().unwrap().len()
}

#[tokio::test]
async fn filters_match_topics_types_and_contracts() {
    let (served, _) = history().await;
    let (transfer, alice) = (symbol("transfer"), address(&Key::named("alice")));
    let rows = [
        // Three fees, two created accounts and a payment.
        (json!([]), 6),
        (json!([{}]), 6),
        (json!([{"type": "contract"}]), 6),
        (json!([{"type": "system"}]), 0),
        (json!([{"type": "system,contract"}]), 6),
        (json!([{"topics": [["**"]]}]), 6),
        (json!([{"topics": [["*", "*"]]}]), 3),
        (json!([{"topics": [["*", "*", "*", "*"]]}]), 3),
        (json!([{"topics": [["*", "*", "*", "*", "**"]]}]), 3),
        (json!([{"topics": [["*", "*", "**"]]}]), 6),
        (json!([{"topics": [["*"]]}]), 0),
        (json!([{"topics": [[transfer]]}]), 0),
        (json!([{"topics": [[transfer, "**"]]}]), 3),
        (json!([{"topics": [[transfer, "*", alice, "*"]]}]), 2),
        (json!([{"topics": [["*", alice, "**"]]}]), 0),
        (
            json!([{"topics": [[symbol("fee"), "*"], [transfer, "*", alice, "**"]]}]),
            5,
        ),
        (
            json!([{"topics": [[symbol("mint"), "**"]]}, {"topics": [[symbol("fee"), "*"]]}]),
            3,
        ),
    ];
    for (filters, expected) in rows {
        assert_eq!(count(&served, filters.clone()).await, expected, "{filters}");
    }
    let all = served.call("getEvents", json!({"startLedger": 10})).await;
    let native = &all["events"][0]["contractId"];
    let other = stellar_strkey::Contract([7; 32]).to_string();
    let other = other.as_str();
    assert_eq!(count(&served, json!([{"contractIds": [native]}])).await, 6);
    assert_eq!(count(&served, json!([{"contractIds": [other]}])).await, 0);
    let both = json!([{"contractIds": [other, native], "topics": [["*", "*"]]}]);
    assert_eq!(count(&served, both).await, 3);
}

#[tokio::test]
async fn pages_follow_each_other_and_the_cursor_moves_on_without_events() {
    let (served, _) = history().await;
    let all = served.call("getEvents", json!({"startLedger": 10})).await;
    assert_eq!(
        all["cursor"], "0000000060129542143-4294967295",
        "the end of ledger 13"
    );
    let mut seen = Vec::new();
    let mut params = json!({"startLedger": 10, "pagination": {"limit": 4}});
    for expected in [4, 2, 0] {
        let page = served.call("getEvents", params).await;
        assert_eq!(ids(&page).len(), expected);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        params = json!({"pagination": {"cursor": page["cursor"], "limit": 4}});
    }
    assert_eq!(seen, ids(&all));
    served.node.close_ledger();
    let page = served.call("getEvents", params).await;
    assert_eq!(ids(&page), [""; 0]);
    served.send_ok(&payment(4, &root(), 1)).await;
    served.node.close_ledger();
    let params = json!({"pagination": {"cursor": page["cursor"]}});
    let page = served.call("getEvents", params).await;
    assert!(
        ids(&page)
            .iter()
            .all(|id| id.as_bytes() > seen[5].as_bytes())
    );
    assert_eq!(page["events"][0]["ledger"], 15);
}
