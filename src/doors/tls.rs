//! The server's certificate.

use std::path::{Path, PathBuf};

use rustls::ServerConfig;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::settings::TlsSettings;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file holds nothing of the kind, or cannot be read.
    #[error("{path} cannot be read as PEM ({key}): {source}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// The key of the configuration that names it.
        key: &'static str,
        /// What is wrong.
        source: pem::Error,
    },
    /// The two do not go together.
    #[error("server.tls: the certificate and the key do not go together: {0}")]
    Pair(#[from] rustls::Error),
}

/// Reads the certificate chain and its key.
pub fn load(settings: &TlsSettings) -> Result<ServerConfig, TlsError> {
    let wrong = |path: &Path, key| {
        let path = path.to_owned();
        move |source| TlsError::Pem { path, key, source }
    };
    let chain: Result<Vec<CertificateDer<'static>>, pem::Error> =
        CertificateDer::pem_file_iter(&settings.cert).and_then(Iterator::collect);
    let chain = chain.map_err(wrong(&settings.cert, "server.tls.cert"))?;
    let key = PrivateKeyDer::from_pem_file(&settings.key)
        .map_err(wrong(&settings.key, "server.tls.key"))?;
    Ok(ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?)
}
