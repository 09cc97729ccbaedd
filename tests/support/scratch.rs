//! Directories and files of one test run, swept up even after a run that was killed.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Tells apart the directories and logs of one test process.
static SERIAL: AtomicUsize = AtomicUsize::new(0);

/// A directory that goes when this value does.
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty directory, owned by `owner` (uid and gid) or else by who runs the tests.
    pub fn new(name: &str, owner: Option<(u32, u32)>) -> Self {
        sweep();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = base().join(format!("run-{}-{serial}-{name}", process::id()));
        fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if let Some((uid, gid)) = owner {
            chown(&path, Some(uid), Some(gid))
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next run.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The directory for all scratch of this user. Outside the target directory, which the server's user may not enter.
pub fn base() -> PathBuf {
    let uid = rustix::process::geteuid().as_raw();
    let base = std::env::temp_dir().join(format!("tender-tests-{uid}"));
    fs::create_dir_all(&base).unwrap_or_else(|e| panic!("{}: {e}", base.display()));
    let meta = fs::symlink_metadata(&base).expect("a directory just made");
    assert!(
        meta.is_dir() && meta.uid() == uid,
        "{} belongs to somebody else",
        base.display()
    );
    let others_may_enter = fs::Permissions::from_mode(0o711);
    fs::set_permissions(&base, others_may_enter).expect("the owner may set permissions");
    base
}

/// A file for a process's log, beside the build's other temporary files; the benches, whom cargo tells no such place,
/// keep theirs with the scratch.
pub fn log_file(name: &str) -> PathBuf {
    let dir = option_env!("CARGO_TARGET_TMPDIR").map_or_else(base, PathBuf::from);
    let dir = dir.join("logs");
    fs::create_dir_all(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    dir.join(format!("{}-{serial}-{name}.log", process::id()))
}

/// Removes what runs that were killed have left behind: their process is gone, their directory is not.
fn sweep() {
    for entry in fs::read_dir(base())
        .expect("the base can be read")
        .flatten()
    {
        let name = entry.file_name();
        let Some(pid) = name
            .to_str()
            .and_then(|name| name.strip_prefix("run-")?.split('-').next())
        else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            // Another test process may be sweeping the same directory.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
