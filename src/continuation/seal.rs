//! Seals and opens ids (contract K2).
//!
//! The JSON of a [`Carry`] is compressed, padded to a size class so that its length tells little,
//! and encrypted with XChaCha20-Poly1305 under a random nonce of 192 bits. The caller's key and
//! the model that it named are authenticated with it: under another one it does not open.

use std::io::{Read, Write};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::carry::{CARRY_VERSION, Carry};
use super::cipher::{Ciphers, NONCE_BYTES};
use super::ids::START;
use super::settings::ContinuationSettings;
use crate::turn::Millis;

/// Bytes of the length that stands before the compressed text.
const LENGTH_BYTES: usize = 4;
/// Smallest size class, in bytes; each further one is half as large again.
const FIRST_CLASS: usize = 256;
/// Largest opened carry, in bytes; the same text over and over compresses to almost nothing.
const OPENED_BYTES: u64 = 64 * 1024 * 1024;

/// To whom a continuation belongs.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The name of the caller's key.
    pub key: &'a str,
    /// The model as the caller named it.
    pub model: &'a str,
}

/// An id that does not open: cut, altered, sealed under a key that is not known here, another
/// caller's, another model's, or too old. Which of them is nobody's business.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the continuation does not open")]
pub struct Lost;

/// More is hidden than may travel (contract K8).
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the continuation of {bytes} bytes is larger than {limit}")]
pub struct TooLarge {
    /// What it would take.
    pub bytes: usize,
    /// What it may take.
    pub limit: usize,
}

/// Seals with the first key and opens with all.
pub struct Sealer {
    ciphers: Ciphers,
    max_age: Duration,
    max_size: usize,
}

impl Sealer {
    /// A sealer with the keys of the configuration, or else with `fallback`.
    pub fn new(settings: &ContinuationSettings, fallback: [u8; 32]) -> Sealer {
        Sealer {
            ciphers: Ciphers::new(settings, fallback),
            max_age: settings.max_age,
            max_size: settings.max_size,
        }
    }

    /// Makes an id of a carry; `nonce` is random and never used twice.
    pub fn seal(
        &self,
        carry: &Carry,
        binding: Binding<'_>,
        nonce: [u8; NONCE_BYTES],
    ) -> Result<String, TooLarge> {
        let plain = padded(&compressed(&serde_json::to_vec(carry).unwrap_or_default()));
        let too_large = |bytes| TooLarge {
            bytes,
            limit: self.max_size,
        };
        let sealed = self.ciphers.seal(&plain, &aad(binding), nonce);
        let sealed = sealed.ok_or_else(|| too_large(plain.len()))?;
        let mut id = String::with_capacity(START.len() + sealed.len() * 4 / 3 + 4);
        id.push_str(START);
        URL_SAFE_NO_PAD.encode_string(sealed, &mut id);
        if id.len() > self.max_size {
            return Err(too_large(id.len()));
        }
        Ok(id)
    }

    /// Opens an id.
    pub fn open(&self, id: &str, binding: Binding<'_>, now: Millis) -> Result<Carry, Lost> {
        if id.len() > self.max_size {
            return Err(Lost);
        }
        let sealed = URL_SAFE_NO_PAD
            .decode(id.strip_prefix(START).ok_or(Lost)?)
            .map_err(|_| Lost)?;
        let plain = self.ciphers.open(&sealed, &aad(binding)).ok_or(Lost)?;
        let carry: Carry =
            serde_json::from_slice(&expanded(&plain).ok_or(Lost)?).map_err(|_| Lost)?;
        let age = u64::try_from(self.max_age.as_millis()).unwrap_or(u64::MAX);
        let expired = now.0.saturating_sub(carry.sealed_at.0) > age;
        if expired || carry.version > CARRY_VERSION {
            Err(Lost)
        } else {
            Ok(carry)
        }
    }
}

/// What is authenticated beside the text: each part with its length, so that none runs into
/// another.
fn aad(binding: Binding<'_>) -> Vec<u8> {
    let mut aad = START.as_bytes().to_vec();
    for part in [binding.key, binding.model] {
        aad.extend_from_slice(&(part.len() as u64).to_be_bytes());
        aad.extend_from_slice(part.as_bytes());
    }
    aad
}

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

/// The text behind its length, filled up to its size class.
fn padded(text: &[u8]) -> Vec<u8> {
    let need = LENGTH_BYTES + text.len();
    let mut class = FIRST_CLASS;
    while class < need {
        class += class / 2;
    }
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(class);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text);
    out.resize(class, 0);
    out
}

fn expanded(plain: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = plain.split_first_chunk::<LENGTH_BYTES>()?;
    let text = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    let mut out = Vec::new();
    flate2::read::DeflateDecoder::new(text)
        .take(OPENED_BYTES)
        .read_to_end(&mut out)
        .ok()?;
    Some(out)
}
