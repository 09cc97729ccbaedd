//! What the documentation says can be said.

use std::path::Path;
use tender_devnet::faults::FaultPlan;

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/DEVNET.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_documented_plan_is_a_plan() {
    let text = text();
    let (_, rest) = text.split_once("```json\n").unwrap();
    let (plan, _) = rest.split_once("```").unwrap();
    let plan = FaultPlan::from_json(plan.as_bytes()).unwrap();
    assert_eq!(plan.rules().count(), 3);
}

#[test]
fn every_documented_fault_is_one() {
    let text = text();
    let faults: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(fault, _)| {
            fault
                .replace("LOSS", "\"hang\"")
                .replace("UNTIL", "\"lastValid\"")
        })
        .collect();
    assert_eq!(faults.len(), 17);
    for fault in faults {
        let [call, close] = ["call", "close"].map(|kind| {
            let plan = format!("{{\"rules\": [{{\"{kind}\": {{\"fault\": {fault}}}}}]}}");
            FaultPlan::from_json(plan.as_bytes()).is_ok()
        });
        assert!(call != close, "{fault}");
    }
}

#[test]
fn every_documented_way_to_lose_an_answer_is_one() {
    let losses = [
        "reset",
        "hang",
        "tooManyRequests",
        "badGateway",
        "serviceUnavailable",
        "gatewayTimeout",
        "rpcInternal",
        "rpcProcessingLimit",
        "rpcQueueFull",
    ];
    let text = text();
    for loss in losses {
        assert!(text.contains(&format!("`{loss}`")), "{loss}");
        let fault = format!("{{\"answerLostAfterAccept\": \"{loss}\"}}");
        let plan = format!("{{\"rules\": [{{\"call\": {{\"fault\": {fault}}}}}]}}");
        FaultPlan::from_json(plan.as_bytes()).unwrap();
    }
}
