//! Ids made of a seed.
//!
//! Invariant: the same seed and position give the same id.

/// How many characters follow the prefix, as servers have them.
const LENGTH: usize = 24;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id of the call at `position` of an answer.
pub(super) fn call(seed: u64, position: usize) -> String {
    // Position 0 is the answer's own.
    id("call_", seed, position as u64 + 1)
}

/// The id of an answer.
pub(super) fn answer(seed: u64) -> String {
    id("chatcmpl-", seed, 0)
}

fn id(prefix: &str, seed: u64, position: u64) -> String {
    let mut state = mix(seed) ^ mix(!position);
    let mut id = prefix.to_owned();
    for _ in 0..LENGTH {
        state = state.wrapping_add(GOLDEN);
        let index = mix(state) % ALPHABET.len() as u64;
        let character = usize::try_from(index)
            .ok()
            .and_then(|index| ALPHABET.get(index));
        id.push(char::from(*character.unwrap_or(&b'0')));
    }
    id
}

/// The step of `SplitMix64`, 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of `SplitMix64`: each bit of the result depends on each bit of `value`,
/// and no two values have the same result, so neighbouring seeds have ids far apart.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
