//! Where PostgreSQL is installed, as whom it may run, and fresh clusters for it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use super::super::{
    child,
    scratch::{self, Scratch},
};

/// The data directory inside a scratch directory.
pub const DATA: &str = "data";

/// The user that a server runs as when the tests run as root, which PostgreSQL refuses.
const USER: &str = "postgres";

/// PostgreSQL's programs, and the user to run them as.
pub struct Install {
    programs: PathBuf,
    version: u32,
    /// Set when the tests run as root.
    owner: Option<(u32, u32)>,
}

impl Install {
    /// The newest version on this machine.
    pub fn find() -> Self {
        let (version, programs) = installed().into_iter().max().expect(
            "PostgreSQL's server is not installed: it is in the package postgresql, and scripts/test installs it",
        );
        let owner = rustix::process::geteuid().is_root().then(|| {
            owner_in(&fs::read_to_string("/etc/passwd").expect("Linux has /etc/passwd"))
                .expect("PostgreSQL refuses root, and there is no user `postgres`: the package postgresql makes it")
        });
        Self {
            programs,
            version,
            owner,
        }
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The user to switch to; `None` when the tests do not run as root.
    pub fn user(&self) -> Option<&'static str> {
        self.owner.map(|_| USER)
    }

    /// A directory that holds a copy of the empty cluster.
    pub fn new_cluster(&self) -> Scratch {
        let template = self.template();
        let scratch = Scratch::new("postgres", self.owner);
        run(Command::new("cp")
            .arg("-a")
            .arg(&template)
            .arg(scratch.path().join(DATA)));
        scratch
    }

    /// The empty cluster, made once on a machine. Processes that want it at the same time wait for the first.
    fn template(&self) -> PathBuf {
        let base = scratch::base();
        let template = base.join(format!("template-{}", self.version));
        let lock = File::create(base.join("template.lock")).expect("the base is ours to write");
        lock.lock().expect("a lock on a local file");
        if !template.exists() {
            let unfinished = Scratch::new("template", self.owner);
            let data = unfinished.path().join(DATA);
            let mut initdb = child::command(self.program("initdb"), self.user());
            initdb
                .arg("--pgdata")
                .arg(&data)
                .args(["--username", USER, "--auth", "trust"]);
            initdb.args([
                "--encoding",
                "UTF8",
                "--locale",
                "C",
                "--wal-segsize",
                "1",
                "--no-sync",
            ]);
            run(&mut initdb);
            fs::rename(&data, &template).expect("a rename within one directory");
        }
        template
    }
}

/// Every version on this machine with its directory of programs.
fn installed() -> Vec<(u32, PathBuf)> {
    let Ok(versions) = fs::read_dir("/usr/lib/postgresql") else {
        return Vec::new();
    };
    versions
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                entry.path().join("bin"),
            ))
        })
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect()
}

/// The uid and gid of [`USER`] in the text of a passwd file.
fn owner_in(passwd: &str) -> Option<(u32, u32)> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_user = fields.next()? == USER;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        is_user.then_some((uid, gid))
    })
}

fn run(command: &mut Command) {
    // A directory that every user may enter: the tests' own may be closed to the server's user.
    let output = command.current_dir(Path::new("/")).output();
    let output = output.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
}
