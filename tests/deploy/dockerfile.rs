//! `deploy/Dockerfile`.

use std::path::Path;

use crate::read;

/// One stage: what it starts from, and its instructions with their arguments.
#[derive(Debug)]
struct Stage {
    base: String,
    name: String,
    steps: Vec<(String, String)>,
}

/// The file's stages, continuation lines joined, comments dropped.
fn stages() -> Vec<Stage> {
    let text = read("deploy/Dockerfile");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let mut stages: Vec<Stage> = Vec::new();
    for line in joined
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (instruction, rest) = line
            .split_once(' ')
            .expect("an instruction and its arguments");
        if instruction == "FROM" {
            let (base, name) = rest.split_once(" AS ").expect("every stage has a name");
            stages.push(Stage {
                base: base.to_owned(),
                name: name.to_owned(),
                steps: Vec::new(),
            });
        } else {
            let stage = stages.last_mut().expect("FROM comes first");
            stage.steps.push((instruction.to_owned(), rest.to_owned()));
        }
    }
    stages
}

/// A stage and all that it is built upon, the last first.
fn lineage<'a>(stages: &'a [Stage], name: &str) -> Vec<&'a Stage> {
    let Some(stage) = stages.iter().find(|stage| stage.name == name) else {
        return Vec::new();
    };
    let mut lineage = vec![stage];
    lineage.extend(self::lineage(stages, &stage.base));
    lineage
}

/// The arguments of the last such instruction that is in force at the end of a stage.
fn in_force<'a>(stages: &'a [Stage], name: &str, instruction: &str) -> Option<&'a str> {
    lineage(stages, name).into_iter().find_map(|stage| {
        let mut steps = stage.steps.iter().rev();
        steps
            .find(|(kind, _)| kind == instruction)
            .map(|(_, rest)| rest.as_str())
    })
}

#[test]
fn both_targets_run_the_program_without_privileges() {
    let stages = stages();
    for target in ["tender", "tender-devnet"] {
        assert!(!lineage(&stages, target).is_empty(), "no target {target}");
        assert_eq!(
            in_force(&stages, target, "ENTRYPOINT"),
            Some("[\"tender\"]")
        );
        let user = in_force(&stages, target, "USER").expect("a user");
        let id: u32 = user
            .split(':')
            .next()
            .unwrap()
            .parse()
            .expect("a number, which needs no look-up");
        assert!(id >= 10_000, "{target} runs as {user}");
    }
    assert_eq!(
        stages.last().unwrap().name,
        "tender",
        "what a build without a target makes"
    );
}

#[test]
fn only_the_devnet_image_has_the_simulated_network() {
    let stages = stages();
    let build = |target: &str| {
        let from = in_force(&stages, target, "COPY")
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let stage = from
            .strip_prefix("--from=")
            .expect("the program comes from a build stage");
        in_force(&stages, stage, "RUN").unwrap().to_owned()
    };
    assert!(build("tender").contains("--no-default-features"));
    assert!(!build("tender").contains("--features"));
    assert!(build("tender-devnet").contains("--features devnet"));
    for target in ["tender", "tender-devnet"] {
        assert!(build(target).contains("--locked --release"));
    }
}

#[test]
fn bases_are_pinned_and_agree() {
    let stages = stages();
    let mut releases = Vec::new();
    for stage in &stages {
        if stages.iter().any(|other| other.name == stage.base) {
            continue;
        }
        let (_, tag) = stage.base.split_once(':').expect("a tag");
        assert!(
            tag.split('.').count() > 1,
            "{} may be another one tomorrow",
            stage.base
        );
        releases.push(stage.base.clone());
    }
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("channel = "))
        .unwrap()
        .trim_matches('"');
    assert_eq!(
        releases,
        [
            format!("rust:{channel}-bookworm"),
            "debian:12.11-slim".to_owned()
        ],
        "both are bookworm"
    );
    let pinned = in_force(&stages, "source", "ENV").unwrap();
    assert!(
        pinned.contains(&format!("RUSTUP_TOOLCHAIN={channel}")),
        "{pinned}"
    );
}

#[test]
fn nothing_is_fetched_or_copied_that_is_not_there() {
    let stages = stages();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (instruction, rest) in stages.iter().flat_map(|stage| &stage.steps) {
        assert_ne!(
            instruction, "ADD",
            "ADD fetches and unpacks: COPY does neither"
        );
        if instruction == "RUN" {
            assert!(!rest.contains("curl") && !rest.contains("wget"), "{rest}");
        }
        if instruction == "COPY" && !rest.starts_with("--from=") {
            let mut sources: Vec<&str> = rest.split_whitespace().collect();
            sources.pop();
            assert!(
                sources.iter().all(|source| root.join(source).exists()),
                "COPY {rest}"
            );
        }
        if let Some(from) = rest.strip_prefix("--from=") {
            let from = from.split(' ').next().unwrap();
            assert!(
                stages.iter().any(|stage| stage.name == from),
                "no stage {from}"
            );
        }
    }
}

/// The builder sees only what `.dockerignore` lets through: that has to be every member of the workspace.
#[test]
fn the_builder_gets_the_whole_workspace() {
    let ignore = read(".dockerignore");
    let manifest = read("Cargo.toml");
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = "))
        .expect("a line of members");
    let members = members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|member| *member != ".");
    for needed in members.chain(["src", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"]) {
        let top = needed.split('/').next().unwrap();
        assert!(
            ignore.lines().any(|line| line == format!("!{top}")),
            ".dockerignore keeps {needed} away"
        );
    }
}
