//! Points at which a process can be made to die, to show that dying there harms nothing.
//!
//! Only builds with the feature `failpoints` have them; in all others a step is its expression and nothing else.

/// A step that writes or sends: evaluates it. A build for crash tests can be made to die right before it, at the point
/// `name.before`, and right after it, at `name.after`.
#[cfg(feature = "failpoints")]
macro_rules! step {
    ($name:literal, $step:expr) => {{
        ::fail::fail_point!(concat!($name, ".before"));
        let done = $step;
        ::fail::fail_point!(concat!($name, ".after"));
        done
    }};
}

#[cfg(not(feature = "failpoints"))]
macro_rules! step {
    ($name:literal, $step:expr) => {
        $step
    };
}

/// What a process prints to standard error when it dies at a point, followed by the point's name.
#[cfg(feature = "failpoints")]
pub const LAST_WORDS: &str = "killed at the failpoint ";

/// Arms the points that the variable `FAILPOINTS` names, such as `submit.record.after=2*off->panic` for the third time
/// that this point is reached. A panic there ends the process at once: nothing is unwound, no destructor runs.
#[cfg(feature = "failpoints")]
pub fn arm() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        let point = said
            .strip_prefix("failpoint ")
            .and_then(|rest| rest.strip_suffix(" panic"));
        if let Some(point) = point {
            eprintln!("{LAST_WORDS}{point}");
            std::process::abort();
        }
        usual(panic);
    }));
    // Armed until the process ends: dropping the scenario would disarm the points.
    std::mem::forget(fail::FailScenario::setup());
}
