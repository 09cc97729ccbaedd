//! What a child process prints: in memory to wait on, and in a file to read after a failure.

use std::{
    collections::VecDeque,
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Lines kept in memory, the oldest dropped first. The file has all of them.
const MAX_LINES: usize = 100_000;

/// Lines shown of each process when a test fails.
const SHOWN_LINES: usize = 60;

/// Which of its two outputs a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A growing log. Positions count lines from the process's start.
pub struct Log {
    state: Mutex<State>,
    changed: Condvar,
    path: PathBuf,
}

struct State {
    lines: VecDeque<(Stream, String)>,
    dropped: usize,
    open_streams: usize,
    file: File,
}

impl Log {
    /// Creates an empty log that expects `open_streams` calls of [`Log::read_from`].
    pub fn create(path: PathBuf, open_streams: usize) -> Arc<Self> {
        let file = File::create(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let state = State {
            lines: VecDeque::new(),
            dropped: 0,
            open_streams,
            file,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            path,
        })
    }

    /// Reads a stream to its end on a thread of its own.
    pub fn read_from(self: &Arc<Self>, stream: Stream, source: impl Read + Send + 'static) {
        let log = Arc::clone(self);
        thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                log.push(stream, text);
                line.clear();
            }
            log.state.lock().unwrap().open_streams -= 1;
            log.changed.notify_all();
        });
    }

    fn push(&self, stream: Stream, text: String) {
        let mut state = self.state.lock().unwrap();
        // A full disk must not hide the line from the test that waits for it.
        let _ = writeln!(state.file, "{text}");
        state.lines.push_back((stream, text));
        if state.lines.len() > MAX_LINES {
            state.lines.pop_front();
            state.dropped += 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The position after the last line: pass it to [`Log::wait_after`] to look only at what comes later.
    pub fn position(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.dropped + state.lines.len()
    }

    /// The first line that `wanted` accepts, waiting for it. `None` after `patience`, or once the process closed
    /// its outputs without it.
    pub fn wait_for(&self, wanted: impl Fn(&str) -> bool, patience: Duration) -> Option<String> {
        self.wait_after(0, wanted, patience)
    }

    /// As [`Log::wait_for`], from a position on.
    pub fn wait_after(
        &self,
        position: usize,
        wanted: impl Fn(&str) -> bool,
        patience: Duration,
    ) -> Option<String> {
        let deadline = Instant::now() + patience;
        let mut next = position;
        let mut state = self.state.lock().unwrap();
        loop {
            let skip = next.saturating_sub(state.dropped);
            if let Some((_, line)) = state.lines.iter().skip(skip).find(|(_, line)| wanted(line)) {
                return Some(line.clone());
            }
            next = state.dropped + state.lines.len();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.open_streams == 0 {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until the process says something, closes its outputs, or `patience` is over.
    pub fn wait_for_news(&self, patience: Duration) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_timeout(state, patience).unwrap());
    }

    /// Waits until the process and all that inherited its outputs have closed them.
    pub fn wait_closed(&self, patience: Duration) {
        let state = self.state.lock().unwrap();
        drop(
            self.changed
                .wait_timeout_while(state, patience, |state| state.open_streams > 0)
                .unwrap(),
        );
    }

    /// The lines of one stream that are still in memory.
    pub fn lines(&self, stream: Stream) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state
            .lines
            .iter()
            .filter(|(from, _)| *from == stream)
            .map(|(_, line)| line.clone())
            .collect()
    }

    /// The last lines, for a failure's report.
    pub fn tail(&self) -> String {
        let state = self.state.lock().unwrap();
        let skip = state.lines.len().saturating_sub(SHOWN_LINES);
        let mut tail = format!("(all of it in {})\n", self.path.display());
        for (_, line) in state.lines.iter().skip(skip) {
            tail.push_str("  | ");
            tail.push_str(line);
            tail.push('\n');
        }
        tail
    }

    /// Removes the file: nobody reads the log of a test that passed.
    pub fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
