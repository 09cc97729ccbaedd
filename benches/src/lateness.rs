//! Payments that were put off, as after a failure: how long after their due time a worker claims them.

use std::time::Duration;

use crate::Outcome;
use crate::deployment::{Deployment, Servers};
use crate::report::{Goal, Report, quantile};
use crate::web::{self, Connection};
use crate::work::body;

/// More than are busy at once, so that nothing but its time keeps a row back.
const CHANNELS: usize = 90;
const ROWS: usize = 200;
/// Between two due times, in milliseconds; no multiple of it is one of the feed's period.
const APART: usize = 53;
/// From now to the first due time, in milliseconds.
const AHEAD: usize = 3_000;
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(500);

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    let deployment = Deployment::start(&servers, CHANNELS).await?;
    let payer = &deployment.payer;
    let sql = |sql: &str| {
        tokio::task::block_in_place(|| servers.postgres.psql(&deployment.database, sql))
    };
    // Without a channel nothing runs before it is put off.
    sql("UPDATE channel_accounts SET state = 'quarantined', reason = 'bench'");
    let mut connection = Connection::open(payer.api).await?;
    for n in 0..ROWS {
        let payee = payer.payees.get(n % payer.payees.len()).ok_or("a payee")?;
        let name = uuid::Uuid::new_v4().to_string();
        let text = body(*payee, n).to_string();
        let request = web::post("/transactions", &payer.key, &name, &text);
        let answer = connection.ask(&request).await?;
        if answer.status >= 300 {
            return Err(format!("a payment was refused with {}", answer.status).into());
        }
    }
    sql(&format!(
        "UPDATE submission_ledger SET dispatched_at = NULL, next_attempt_at = \
         (extract(epoch FROM statement_timestamp()) * 1000)::bigint + {AHEAD} + {APART} * place \
         FROM (SELECT id AS row_id, row_number() OVER (ORDER BY created_at, id) AS place FROM submission_ledger) AS places \
         WHERE row_id = id"
    ));
    sql("UPDATE channel_accounts SET state = 'free', reason = NULL");
    let claimed = "FROM submission_ledger JOIN (SELECT submission_id, min(at) AS claimed_at FROM submission_log \
                   WHERE to_status = 'building' GROUP BY submission_id) AS claims ON submission_id = id";
    let count = format!("SELECT count(*) {claimed}");
    let looking = async {
        while sql(&count) != ROWS.to_string() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking)
        .await
        .map_err(|_| "the rows that were put off did not all start once")?;
    let late = sql(&format!("SELECT claimed_at - next_attempt_at {claimed}"));
    let mut late: Vec<Duration> = late
        .lines()
        .map(|line| Ok(Duration::from_millis(line.parse()?)))
        .collect::<Outcome<_>>()?;
    let name = format!("start of a payment that was put off, after its due time, {ROWS} rows");
    let (p50, p99) = (quantile(&mut late, 50), quantile(&mut late, 99));
    report.note(format!("{name}, p50"), "ms", &[p50]);
    report.judge(format!("{name}, p99"), "ms", &[p99], Goal::AtMost(1_000.0));
    Ok(())
}
