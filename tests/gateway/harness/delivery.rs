//! How the bytes of one body are spread over writes. A correct reader gives the same answer for
//! all of them.

/// The seeds of the random cuts: fixed, so that a failure can be repeated.
pub(crate) const SEEDS: [u64; 3] = [7, 1_031, 65_537];

/// One way of cutting a body into writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// All of it at once.
    AtOnce,
    /// A write for each byte.
    ByteByByte,
    /// Writes of random lengths.
    Cut { seed: u64 },
}

impl Delivery {
    /// Every way of delivering an event stream.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::AtOnce, Self::ByteByByte];
        all.extend(SEEDS.map(|seed| Self::Cut { seed }));
        all
    }

    /// Cuts `body` into the writes of this delivery.
    pub(crate) fn writes(self, body: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Self::AtOnce => vec![body.to_vec()],
            Self::ByteByByte => body.iter().map(|byte| vec![*byte]).collect(),
            Self::Cut { seed } => cut(body, seed),
        }
    }
}

fn cut(mut body: &[u8], seed: u64) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut writes = Vec::new();
    while !body.is_empty() {
        let length = random.usize(1..=60).min(body.len());
        let (write, rest) = body.split_at(length);
        writes.push(write.to_vec());
        body = rest;
    }
    writes
}
