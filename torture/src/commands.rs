//! Commands of the service that die in the middle: whoever runs them again must get what they ask for.

use crate::deployment::{Deployment, TENANT};
use crate::stage::Stage;
use crate::support::process::Launch;

/// Migrations, provisioning and keys.
pub fn run(stage: &mut Stage, deployment: &mut Deployment) {
    migrate(stage, deployment);
    provision(stage, deployment);
    keys(stage);
    stage.say("commands were killed");
}

fn migrate(stage: &Stage, deployment: &Deployment) {
    let database = deployment.postgres.create_database();
    let on = |launch: Launch| launch.env("DATABASE_URL", database.clone());
    let up = ["migrate", "up"];
    for point in [
        "migrate.up.before",
        "migrate.apply.before",
        "migrate.apply.after",
        "migrate.up.after",
    ] {
        stage.die_with(on(stage.armed(&up, point, 0)), point, |_| {});
    }
    on(stage.launch(&up)).run().success();
    let listed = on(stage.launch(&["migrate", "status"])).run().success();
    if listed.stdout.iter().any(|line| line.starts_with("missing")) {
        stage.violation(format!("migrations are missing: {:?}", listed.stdout));
    }
}

/// Each death leaves one more account to create.
fn provision(stage: &mut Stage, deployment: &mut Deployment) {
    let args = ["channels", "provision"];
    for point in [
        "provision.create.before",
        "provision.send.before",
        "provision.send.after",
        "provision.create.after",
        "provision.add.before",
        "provision.insert.before",
        "provision.insert.after",
        "provision.add.after",
    ] {
        let count = stage.settings["STELLAR_CHANNEL_COUNT"]
            .parse::<u32>()
            .unwrap()
            + 1;
        stage
            .settings
            .insert("STELLAR_CHANNEL_COUNT", count.to_string());
        stage.die(&args, point, |_| {});
    }
    stage.launch(&args).run().success();
    deployment.settings = stage.settings.clone();
    let pool = stage.wait(stage.ledger.pool()).unwrap();
    if pool.free.to_string() != stage.settings["STELLAR_CHANNEL_COUNT"] {
        stage.violation(format!("provisioning went on to {pool:?}"));
    }
}

fn keys(stage: &Stage) {
    let create = [
        "keys",
        "create",
        "--tenant",
        TENANT,
        "--scopes",
        "transactions:read",
    ];
    for point in [
        "keys.create.before",
        "keys.insert.before",
        "keys.insert.after",
        "keys.create.after",
    ] {
        stage.die(&create, point, |_| {});
    }
    let token = stage.launch(&create).run().success().stdout.pop().unwrap();
    let id = token
        .split('_')
        .nth(1)
        .expect("tender_id_secret")
        .to_owned();
    let revoke = ["keys", "revoke", &id];
    for point in [
        "keys.revoke.before",
        "keys.mark.before",
        "keys.mark.after",
        "keys.revoke.after",
    ] {
        stage.die(&revoke, point, |_| {});
    }
    let key = stage
        .wait(stage.ledger.find_key(&id))
        .unwrap()
        .expect("a key");
    if key.revoked_at.is_none() {
        stage.violation(format!("the key {id} was revoked and is valid"));
    }
}
