//! Encryption of what lies in the bucket.

use chacha20poly1305::aead::{Aead, OsRng, Payload, rand_core::RngCore};
use chacha20poly1305::{AeadCore, KeyInit, XChaCha20Poly1305};

use crate::error::{Error, Result};

/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;

/// The key that a bucket's objects are encrypted with: 32 bytes, which only its users know.
///
/// Pages, their numbers and births are encrypted, and authenticated together with the head of
/// their object, by XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03). The heads are not: ids, times
/// and lengths can be seen.
///
/// ```
/// use huon_ship::Key;
/// let key = Key::from_hex(&"0f".repeat(32))?;
/// assert!(Key::from_hex("0f").is_err());
/// # let _ = key;
/// # Ok::<(), huon_ship::Error>(())
/// ```
#[derive(Clone)]
pub struct Key([u8; 32]);

impl Key {
    /// A key of 64 hexadecimal digits, as `openssl rand -hex 32` makes them. Spaces around them do
    /// no harm.
    ///
    /// # Errors
    /// [`Error::Key`] if they are anything else.
    pub fn from_hex(digits: &str) -> Result<Key> {
        let bytes = unhex(digits.trim()).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Key).ok_or(Error::Key("a key has 64 hexadecimal digits"))
    }

    /// A key of these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Key {
        Key(bytes)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// How bodies are encrypted.
pub(crate) enum Cipher {
    None,
    XChaCha(Box<XChaCha20Poly1305>),
}

impl Cipher {
    pub(crate) fn of(key: Option<&Key>) -> Cipher {
        match key {
            Some(key) => Cipher::XChaCha(Box::new(XChaCha20Poly1305::new(&key.0.into()))),
            None => Cipher::None,
        }
    }

    /// Its name in the format object.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Cipher::None => "none",
            Cipher::XChaCha(_) => "xchacha20-poly1305",
        }
    }

    /// How many bytes more an encrypted body has.
    pub(crate) fn extra_bytes(&self) -> usize {
        match self {
            Cipher::None => 0,
            Cipher::XChaCha(_) => NONCE_BYTES + 16,
        }
    }

    /// Encrypts a body, and authenticates it together with its head.
    pub(crate) fn seal(&self, head: &[u8], body: Vec<u8>) -> Vec<u8> {
        let Cipher::XChaCha(cipher) = self else { return body };
        let nonce = XChaCha20Poly1305::generate_nonce(&mut OsRng);
        let sealed = cipher.encrypt(&nonce, Payload { msg: &body, aad: head });
        let mut bytes = nonce.to_vec();
        // It fails for 256 GiB and more.
        bytes.extend(sealed.expect("a body is short"));
        bytes
    }

    /// The body, if it was made with this key for this head.
    pub(crate) fn open(&self, head: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let Cipher::XChaCha(cipher) = self else { return Some(sealed.to_vec()) };
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        cipher.decrypt(nonce.into(), Payload { msg, aad: head }).ok()
    }
}

/// Bytes that cannot be guessed.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    OsRng.fill_bytes(&mut bytes);
    bytes
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2);
    let all = pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect();
    if digits.len().is_multiple_of(2) { all } else { None }
}
