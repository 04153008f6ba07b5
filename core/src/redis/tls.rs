//! TLS by rustls.

use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, ErrorKind, Result};
use crate::options::Tls;

/// The configuration that the options describe.
pub(super) fn config(tls: &Tls) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match &tls.ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let certificates = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| bad("tls_ca", error))?;
            if certificates.is_empty() {
                return Err(bad("tls_ca", io::Error::other("the file has no certificate")));
            }
            for certificate in certificates {
                roots.add(certificate).map_err(|error| bad("tls_ca", error))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
        .with_root_certificates(roots);
    let config = match (&tls.cert, &tls.key) {
        (Some(cert), Some(key)) => {
            let chain = CertificateDer::pem_file_iter(cert)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| bad("tls_cert", error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| bad("tls_key", error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| bad("tls_key", error))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

pub(super) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

fn bad(option: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::InvalidUrl, format!("the option {option} cannot be used: {error}"))
        .with_source(error)
}
