//! The log: events of `tracing` on standard error, for people on a terminal and as JSON elsewhere.
//!
//! Invariant: nothing here formats settings; secrets have types whose `Debug` hides them.

use crate::config::{Log, LogFormat};
use std::io::IsTerminal;
use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

/// Starts the log of this process. Later calls change nothing.
pub fn start(log: &Log) {
    let terminal = std::io::stderr().is_terminal();
    // Only a second start can fail, and then the first one's log goes on.
    let _ = subscriber(log, terminal, std::io::stderr).try_init();
}

/// A subscriber that writes what `log` asks for; `terminal` says whether people read what is written.
pub fn subscriber<W>(log: &Log, terminal: bool, writer: W) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let pretty = match log.format {
        LogFormat::Auto => terminal,
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let layer: Box<dyn Layer<Registry> + Send + Sync> = if pretty {
        lines.with_ansi(terminal).with_target(false).boxed()
    } else {
        lines.json().flatten_event(true).with_ansi(false).boxed()
    };
    // The filter was checked when it was read; anything else would be a filter nobody asked for.
    Registry::default().with(layer.with_filter(EnvFilter::new(&log.filter)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::{ChannelSeed, SigningSecret};
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(log: &Log, terminal: bool, events: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let written = buffer.clone();
        let subscriber = subscriber(log, terminal, move || buffer.clone());
        tracing::subscriber::with_default(subscriber, events);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_pipe_gets_one_json_object_a_line() {
        let text = logged(&Log::default(), false, || {
            tracing::info!(ledger = 7, "closed");
            tracing::debug!("not asked for");
        });
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 1);
        let line: serde_json::Value = serde_json::from_str(lines.first().unwrap()).unwrap();
        assert_eq!(line["message"], "closed");
        assert_eq!(line["ledger"], 7);
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn a_terminal_gets_text_unless_json_is_asked_for() {
        let event = || tracing::info!(ledger = 7, "closed");
        let text = logged(&Log::default(), true, event);
        assert!(text.contains("closed") && !text.starts_with('{'), "{text}");
        let json = Log {
            format: LogFormat::Json,
            ..Log::default()
        };
        assert!(logged(&json, true, event).starts_with('{'));
    }

    #[test]
    fn the_filter_decides_by_module() {
        let log = Log {
            filter: "warn,tender=debug".to_owned(),
            ..Log::default()
        };
        let text = logged(&log, false, || {
            tracing::debug!("ours");
            tracing::info!(target: "others", "theirs");
        });
        assert!(text.contains("ours") && !text.contains("theirs"), "{text}");
    }

    #[test]
    fn a_logged_secret_is_not_written() {
        let address = stellar_strkey::ed25519::PrivateKey([7; 32]).to_string();
        let key = SigningSecret::parse(&address).unwrap();
        let seed = ChannelSeed::parse("000102030405060708090a0b0c0d0e0f").unwrap();
        let text = logged(&Log::default(), false, || {
            tracing::info!(?key, ?seed, "made");
        });
        assert!(text.contains("REDACTED"), "{text}");
        assert!(!text.contains(address.as_str()), "{text}");
        assert!(!text.contains("0, 1, 2"), "{text}");
    }
}
