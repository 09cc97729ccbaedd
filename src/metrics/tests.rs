//! What is shown, by name and label.

use super::*;
use crate::domain::classify::Fault;

#[test]
fn what_a_process_never_touches_it_does_not_show_but_for_what_alerts_watch_rise() {
    let metrics = Metrics::new().expect("metrics");
    let text = metrics.render().expect("text");
    let shown: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let expected = [
        "outbox_dead_total 0",
        r#"outbox_intents_total{outcome="accepted"} 0"#,
        r#"outbox_intents_total{outcome="failed"} 0"#,
        r#"outbox_intents_total{outcome="refused"} 0"#,
        r#"outbox_max_fee_hit_total{priority="CRITICAL"} 0"#,
        r#"outbox_max_fee_hit_total{priority="LOW"} 0"#,
        r#"outbox_max_fee_hit_total{priority="NORMAL"} 0"#,
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_was_counted_is_rendered_by_name_and_label() {
    let metrics = Metrics::new().expect("a registry");
    metrics.operation_ended(
        OperationKind::Payment,
        Priority::Normal,
        Status::Failed,
        Duration::from_secs(3),
    );
    metrics.set_depth(&[(Status::Pending, Priority::Low, 7)]);
    metrics.set_depth(&[(Status::Building, Priority::Low, 2)]);
    metrics.set_channels(3, 2, 1);
    metrics.http_answered("BREW", 405, Duration::from_millis(1));
    metrics.send_answered(&SendAnswer::Unknown(Fault::Timeout));
    metrics.set_rpc_calls([("getEvents", 3)]);
    metrics.set_rpc_calls([("getEvents", 5)]);
    metrics.reconciler_passed(4, 2, 1, 0);
    metrics.reconciler_passed(3, 1, 0, 2);
    metrics.set_progress(Duration::from_secs(9), 6);
    metrics.set_backlog(&[(Priority::Low, Duration::from_secs(70))], 4);
    metrics.set_rpc_lag(Duration::from_secs(8));
    metrics.set_balance("fee_source", 12_345);
    metrics.set_memory_lost(true);
    metrics.intent_relayed(Relayed::Refused);
    let text = metrics.render().expect("text");
    assert!(!text.contains(r#"status="confirmed"}"#), "{text}");
    for line in [
        r#"outbox_ops_total{kind="payment",outcome="failed",priority="NORMAL"} 1"#,
        r#"outbox_queue_depth{priority="LOW",status="pending"} 0"#,
        r#"outbox_queue_depth{priority="LOW",status="building"} 2"#,
        r#"outbox_channel_accounts{state="leased"} 2"#,
        r#"http_requests_total{method="other",status="405"} 1"#,
        "outbox_dead_total 1",
        r#"outbox_sends_total{answer="unknown"} 1"#,
        r#"stellar_rpc_calls_total{method="getEvents"} 5"#,
        "reconciler_passes_total 2",
        "reconciler_leases 3",
        "reconciler_settled_total 3",
        "reconciler_resent_total 1",
        "reconciler_faults_total 2",
        "reconciler_pass_age_seconds 9",
        "outbox_unknown_outcomes 6",
        "outbox_stuck_submitted 4",
        r#"outbox_oldest_due_seconds{priority="CRITICAL"} 0"#,
        r#"outbox_oldest_due_seconds{priority="LOW"} 70"#,
        "stellar_rpc_lag_seconds 8",
        r#"stellar_balance_stroops{account="fee_source"} 12345"#,
        "ledger_memory_lost 1",
        r#"outbox_intents_total{outcome="refused"} 1"#,
        r#"outbox_intents_total{outcome="failed"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}
