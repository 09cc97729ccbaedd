//! `docker-compose.yml`.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
};

use serde_json::Value;

use crate::{
    read,
    secrets::make_secrets,
    support::{process, scratch::Scratch},
};

/// Services that are the program, with the role whose settings they must have. `None`: it takes none.
const ROLES: &[(&str, Option<&str>)] = &[
    ("migrate", Some("store")),
    ("provision", Some("channels")),
    ("api", Some("api")),
    ("worker", Some("worker")),
    ("reconciler", Some("reconciler")),
    ("devnet", None),
];

fn compose() -> Value {
    let mut compose: serde_yaml::Value =
        serde_yaml::from_str(&read("docker-compose.yml")).expect("YAML");
    compose.apply_merge().expect("only mappings are merged");
    serde_json::to_value(compose).expect("string keys")
}

fn service(name: &str) -> Value {
    let service = compose()["services"][name].clone();
    assert!(service.is_object(), "no service {name}");
    service
}

/// A list of strings, joined by blanks.
fn words(value: &Value) -> String {
    let words = value
        .as_array()
        .unwrap_or_else(|| panic!("a list, not {value}"));
    words
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A service's environment, with `${NAME:-default}` as it is when nobody sets NAME.
fn environment(service: &Value) -> BTreeMap<String, String> {
    let Some(pairs) = service["environment"].as_object() else {
        return BTreeMap::new();
    };
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), default_of(value.as_str().unwrap())))
        .collect()
}

fn default_of(value: &str) -> String {
    let Some(inner) = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
    else {
        assert!(
            !value.contains('$'),
            "{value}: only whole values are interpolated"
        );
        return value.to_owned();
    };
    let (_, default) = inner
        .split_once(":-")
        .expect("every interpolation has a default");
    default.to_owned()
}

/// Every name between `${` and `:-`, anywhere in the file.
fn interpolated(text: &str) -> Vec<&str> {
    text.split("${")
        .skip(1)
        .filter_map(|rest| rest.split(":-").next())
        .collect()
}

/// The settings that `.env.example` documents.
fn documented() -> Vec<String> {
    let text = read(".env.example");
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('='));
    names
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.contains(' '))
        .collect()
}

#[test]
fn every_part_of_the_product_is_a_service() {
    let compose = compose();
    let names: Vec<_> = compose["services"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for name in ROLES
        .iter()
        .map(|(name, _)| *name)
        .chain(["postgres", "redis"])
    {
        assert!(
            names.iter().any(|known| known == name),
            "no service {name}: {names:?}"
        );
    }
    assert_eq!(
        names.len(),
        ROLES.len() + 2,
        "a service that this test does not know: {names:?}"
    );
    assert_eq!(service("worker")["deploy"]["replicas"], 2);
    assert_eq!(words(&service("migrate")["command"]), "migrate up");
    assert_eq!(
        words(&service("provision")["command"]),
        "channels provision"
    );
    for long_running in ["api", "worker", "reconciler"] {
        assert_eq!(words(&service(long_running)["command"]), long_running);
        assert_eq!(service(long_running)["restart"], "unless-stopped");
    }
    for one_shot in ["migrate", "provision"] {
        assert_eq!(service(one_shot)["restart"], "no", "{one_shot} runs once");
    }
}

#[test]
fn redis_drops_nothing_and_keeps_nothing() {
    let command = words(&service("redis")["command"]);
    assert!(
        command.contains("--maxmemory-policy noeviction"),
        "{command}"
    );
    assert!(command.contains("--maxmemory "), "{command}");
}

#[test]
fn postgres_answers_only_what_is_on_disk() {
    let command = words(&service("postgres")["command"]);
    for setting in ["synchronous_commit=on", "fsync=on", "full_page_writes=on"] {
        assert!(command.contains(setting), "{command}");
    }
}

#[test]
fn nobody_starts_before_what_it_needs() {
    let condition = |name: &str, on: &str| service(name)["depends_on"][on]["condition"].clone();
    assert_eq!(condition("migrate", "postgres"), "service_healthy");
    assert_eq!(
        condition("provision", "migrate"),
        "service_completed_successfully"
    );
    assert_eq!(condition("provision", "devnet"), "service_healthy");
    let optional = &service("provision")["depends_on"]["devnet"]["required"];
    assert_eq!(
        optional, false,
        "without its profile the simulated network is not there"
    );
    for name in ["api", "worker", "reconciler"] {
        assert_eq!(condition(name, "postgres"), "service_healthy");
        assert_eq!(condition(name, "redis"), "service_healthy");
        assert_eq!(condition(name, "migrate"), "service_completed_successfully");
        assert_eq!(
            condition(name, "provision"),
            "service_completed_successfully"
        );
    }
    for name in ["postgres", "redis", "devnet", "api"] {
        assert!(
            service(name)["healthcheck"]["test"].is_array(),
            "{name} has no health check"
        );
    }
}

#[test]
fn images_are_pinned() {
    for (name, service) in compose()["services"].as_object().unwrap() {
        let image = service["image"]
            .as_str()
            .unwrap_or_else(|| panic!("{name} has no image"));
        let (_, tag) = image
            .split_once(':')
            .unwrap_or_else(|| panic!("{image} has no tag"));
        let built_here = service["build"].is_object() && tag == "local";
        let exact = tag
            .split('-')
            .next()
            .unwrap()
            .split('.')
            .filter(|part| part.parse::<u32>().is_ok())
            .count()
            > 1;
        assert!(built_here || exact, "{image} may be another one tomorrow");
    }
}

#[test]
fn every_setting_is_documented() {
    let documented = documented();
    let known = |name: &str| documented.iter().any(|setting| setting == name);
    for (name, _) in ROLES {
        for setting in environment(&service(name)).keys() {
            let plain = setting.strip_suffix("_FILE").unwrap_or(setting);
            assert!(
                known(plain),
                "{name} sets {setting}, which .env.example does not have"
            );
        }
    }
    for name in interpolated(&read("docker-compose.yml")) {
        assert!(known(name), "${{{name}}} is no setting of .env.example");
    }
}

#[test]
fn secrets_come_from_files_that_make_secrets_makes() {
    let compose = compose();
    let scratch = Scratch::new("secrets", None);
    let made = make_secrets(&scratch.path().join("secrets"), "Some Network");
    for (name, secret) in compose["secrets"].as_object().unwrap() {
        assert_eq!(secret["file"], format!("deploy/secrets/{name}"));
        assert!(
            made.join(name).exists(),
            "deploy/make-secrets does not make {name}"
        );
    }
    for (name, service) in compose["services"].as_object().unwrap() {
        for (setting, value) in environment(service) {
            if let Some(secret) = value.strip_prefix("/run/secrets/") {
                assert!(setting.ends_with("_FILE"), "{name}: {setting}");
                let mounted = service["secrets"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|mount| mount == secret);
                assert!(mounted, "{name} does not mount {secret}");
            }
            let shown = setting.contains("SECRET")
                || setting.contains("SEED")
                || setting.contains("PASSWORD");
            assert!(
                !shown || setting.ends_with("_FILE"),
                "{name} has {setting} in its environment"
            );
        }
    }
}

#[test]
fn a_process_holds_no_key_that_it_does_not_use() {
    let secrets = |name: &str| words(&service(name)["secrets"]);
    assert_eq!(secrets("api"), "database_url");
    assert_eq!(secrets("migrate"), "database_url");
    assert_eq!(secrets("reconciler"), "database_url treasury_secret");
    assert!(service("devnet")["secrets"].is_null());
}

/// The program itself is asked: whether the settings of each service are all it needs, and none is wrong.
#[test]
fn every_process_accepts_its_settings() {
    let scratch = Scratch::new("settings", None);
    let made = make_secrets(
        &scratch.path().join("secrets"),
        "Standalone Network ; February 2017",
    );
    for (name, role) in ROLES {
        let Some(role) = role else { continue };
        let mut launch = process::tender(&["config", "check", "--role", role]);
        for (setting, value) in environment(&service(name)) {
            let value = match value.strip_prefix("/run/secrets/") {
                Some(secret) => made.join(secret).to_str().unwrap().to_owned(),
                None => value,
            };
            launch = launch.env(&setting, value);
        }
        let checked = launch.run();
        assert!(checked.status.success(), "{name}: {checked:#?}");
    }
}

#[test]
fn the_command_line_of_every_service_parses() {
    for (name, _) in ROLES {
        let command = words(&service(name)["command"]);
        let first: Vec<&str> = command
            .split(' ')
            .take_while(|word| !word.starts_with('-'))
            .collect();
        let help = process::tender(&[first.as_slice(), &["--help"]].concat())
            .run()
            .success();
        for option in command.split(' ').filter(|word| word.starts_with("--")) {
            let option = option.split('=').next().unwrap();
            assert!(
                help.stdout.iter().any(|line| line.contains(option)),
                "{name}: no option {option}"
            );
        }
    }
}

/// Runs a health check as the container's engine would, against somebody who listens at that port: its exit status.
fn checked(test: &str, answer: &'static str) -> Option<i32> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let mut request = BufReader::new(client.try_clone().unwrap()).lines();
        let asked = request.next().unwrap().unwrap();
        (&client).write_all(answer.as_bytes()).unwrap();
        asked
    });
    // Compose writes `$$` for `$`.
    let script = test
        .replace("$$", "$")
        .replace("/127.0.0.1/8080", &format!("/127.0.0.1/{port}"));
    let status = Command::new("bash").args(["-c", &script]).status().unwrap();
    assert_eq!(server.join().unwrap(), "GET /readyz HTTP/1.0");
    status.code()
}

#[test]
fn every_role_is_healthy_when_it_is_ready() {
    for name in ["api", "worker", "reconciler"] {
        let service = service(name);
        let bind = if name == "api" {
            "HTTP_BIND"
        } else {
            "PROBE_BIND"
        };
        assert_eq!(environment(&service)[bind], "0.0.0.0:8080", "{name}");
        let test = service["healthcheck"]["test"].as_array().unwrap();
        let test: Vec<_> = test.iter().map(|word| word.as_str().unwrap()).collect();
        let ["CMD", "bash", "-c", script] = test[..] else {
            panic!("{name}: {test:?}");
        };
        assert_eq!(checked(script, "HTTP/1.1 200 OK\r\n\r\n"), Some(0));
        let refused = checked(script, "HTTP/1.1 503 Service Unavailable\r\n\r\n");
        assert_eq!(refused, Some(1), "{name}");
    }
}

#[test]
fn only_the_api_is_reachable_and_only_from_this_machine() {
    for (name, service) in compose()["services"].as_object().unwrap() {
        if name == "api" {
            assert_eq!(words(&service["ports"]), "127.0.0.1:8080:8080");
        } else {
            assert!(service["ports"].is_null(), "{name} publishes a port");
        }
    }
}
