//! The demonstration must see a payment made twice when the rule that prevents it is switched off: a counter that cannot
//! count to two proves nothing.
#![allow(clippy::expect_used, reason = "a failed test may panic")]

use std::time::Duration;

use tender::config::{EmbeddedConfig, Source};
use tender::flow::planted::{self, Bug};
use tender::role::demo::{self, Demonstration};
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn without_pinning_the_demonstration_counts_payments_made_twice() {
    planted::plant(Some(Bug::RebuiltOnTimeout));
    let close = Duration::from_millis(100);
    let config = EmbeddedConfig::load(&Source::default(), close).expect("defaults");
    let demonstration = Demonstration {
        payments: 30,
        duplicates: 0,
        channels: 30,
        loss: 400,
        close,
        watched: false,
    };
    let report = demo::run(&config, demonstration, false, &CancellationToken::new())
        .await
        .expect("a report");
    println!("{report}");
    assert!(report.doubled > 0, "{report}");
    assert!(!report.holds());
}
