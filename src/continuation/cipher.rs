//! Authenticated encryption under keys that can be rotated.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::settings::ContinuationSettings;

/// Bytes of the nonce, which stands before what is sealed.
pub(super) const NONCE_BYTES: usize = 24;

/// Seals with the first key and opens with all.
pub struct Ciphers(Vec<XChaCha20Poly1305>);

impl Ciphers {
    /// The keys of the configuration, or else `fallback`.
    pub fn new(settings: &ContinuationSettings, fallback: [u8; 32]) -> Ciphers {
        let keys = settings.keys.iter().map(|key| *key.expose());
        let mut ciphers: Vec<XChaCha20Poly1305> = keys
            .map(|key| XChaCha20Poly1305::new(&key.into()))
            .collect();
        if ciphers.is_empty() {
            ciphers.push(XChaCha20Poly1305::new(&fallback.into()));
        }
        Ciphers(ciphers)
    }

    /// Seals a text; `bound` is authenticated with it, and `nonce` is random and never used twice.
    /// None for a text of more than 256 GiB.
    pub fn seal(&self, plain: &[u8], bound: &[u8], nonce: [u8; NONCE_BYTES]) -> Option<Vec<u8>> {
        let payload = Payload {
            msg: plain,
            aad: bound,
        };
        let cipher = self.0.first()?;
        let sealed = cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Opens what one of the keys has sealed with the same `bound`.
    pub fn open(&self, sealed: &[u8], bound: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let nonce = XNonce::from(*nonce);
        let open = |cipher: &XChaCha20Poly1305| {
            let payload = Payload {
                msg: sealed,
                aad: bound,
            };
            cipher.decrypt(&nonce, payload).ok()
        };
        self.0.iter().find_map(open)
    }
}
