//! Numbers that a seed decides, and the trace of a run that must be the same for the same seed.

/// A generator of our own (`SplitMix64`): a seed means the same with every release of every library.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator for one thing among many: what it decides does not depend on the order in which they are asked about.
    pub fn about(seed: u64, step: u64, what: &str) -> Self {
        let mut hash = Fnv::new();
        hash.add(&seed.to_le_bytes());
        hash.add(&step.to_le_bytes());
        hash.add(what.as_bytes());
        Self(hash.0)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True so many times of a thousand.
    pub fn permille(&mut self, share: u64) -> bool {
        self.below(1000) < share
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    /// One of these, each as often as its weight says.
    pub fn weighted<T: Copy>(&mut self, of: &[(u64, T)]) -> T {
        let mut at = self.below(of.iter().map(|(weight, _)| weight).sum());
        for (weight, what) in of {
            if at < *weight {
                return *what;
            }
            at -= weight;
        }
        unreachable!("the weights were summed up")
    }
}

/// FNV-1a: good enough to tell traces apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// What happened, in order: steps, their results and everything that can be seen after each.
#[derive(Debug)]
pub struct Trace {
    hash: Fnv,
    /// Lines of it, if somebody wants to read them.
    told: bool,
}

impl Trace {
    pub fn new(told: bool) -> Self {
        Self {
            hash: Fnv::new(),
            told,
        }
    }

    pub fn line(&mut self, line: &str) {
        self.hash.add(line.as_bytes());
        self.hash.add(b"\n");
        if self.told {
            println!("{line}");
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash.0
    }
}
