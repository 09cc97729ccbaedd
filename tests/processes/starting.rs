//! Processes that start together, and processes that must not start.

use migration::{Migrator, MigratorTrait};
use tokio::task::block_in_place;

use crate::{
    deployment::Deployment,
    support::process::{Finished, Launch},
};

const ROLES: [&str; 3] = ["api", "worker", "reconciler"];

/// What the process says when it does not start.
fn refusal(launch: Launch) -> String {
    let finished: Finished = block_in_place(|| launch.run());
    assert_eq!(finished.status.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.is_empty(), "{finished:?}");
    finished
        .stderr
        .into_iter()
        .find(|line| line.starts_with("error: "))
        .expect("an error is told")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn migrations_that_start_together_take_turns() {
    let deployment = Deployment::bare(1, &[]).await;
    let known = Migrator::migrations().len();
    let together: Vec<_> = (0..4)
        .map(|_| {
            let launch = deployment.launch(&["migrate", "up"]);
            std::thread::spawn(move || launch.run())
        })
        .collect();
    for migration in together {
        let finished = block_in_place(|| migration.join().unwrap()).success();
        assert!(
            finished
                .stdout
                .iter()
                .all(|line| line.starts_with("applied  ")),
            "{finished:?}"
        );
        assert_eq!(finished.stdout.len(), known);
    }
    let applied = "SELECT count(*) FROM seaql_migrations";
    let applied = deployment.postgres.psql(&deployment.database, applied);
    assert_eq!(applied, known.to_string());
    println!("4 at once: all succeeded, {known} migrations applied once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_role_starts_without_the_schema() {
    let deployment = Deployment::bare(1, &[]).await;
    for role in ROLES {
        let said = refusal(deployment.launch(&[role]));
        println!("{role}: {said}");
        assert!(said.contains("run `tender migrate up`"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_role_that_signs_or_judges_starts_on_another_network() {
    let deployment = Deployment::start(1).await;
    let other = "Some other network ; 2026";
    for role in [&["worker"][..], &["reconciler"], &["channels", "provision"]] {
        let launch = deployment
            .launch(role)
            .env("STELLAR_NETWORK_PASSPHRASE", other);
        let said = refusal(launch);
        println!("{role:?}: {said}");
        assert!(
            said.contains(other) && said.contains("Tender processes test network"),
            "{said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_role_starts_where_a_commit_may_be_forgotten() {
    let deployment = Deployment::start(1).await;
    let database = &deployment.database;
    let name = database.rsplit('/').next().unwrap();
    let off = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    deployment.postgres.psql(database, &off);
    for role in ROLES {
        let said = refusal(deployment.launch(&[role]));
        println!("{role}: {said}");
        assert!(said.contains("synchronous_commit is off"), "{said}");
    }
}
