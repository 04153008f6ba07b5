//! TLS by rustls.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, InvalidMessage,
    OtherError, RootCertStore, SignatureScheme,
};

use crate::error::{Error, ErrorKind, Result};
use crate::options::Tls;

/// The configuration that the options describe.
pub(super) fn config(tls: &Tls) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let mut named = Vec::new();
    match &tls.ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            named = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| bad("tls_ca", error))?;
            if named.is_empty() {
                return Err(bad("tls_ca", io::Error::other("the file has no certificate")));
            }
            for certificate in &named {
                roots.add(certificate.clone()).map_err(|error| bad("tls_ca", error))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let web = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .expect("there are roots");
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { web, named }));
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

/// Trusts what the roots have signed, and a root that is the server's own certificate.
///
/// A certificate that signs itself is often marked as an authority's, as `openssl req -x509` does, and the
/// rules of the web refuse an authority's certificate as a server's. Whoever names it in `tls_ca` means it.
#[derive(Debug)]
struct Verifier {
    web: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        server: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.web.verify_server_cert(server, chain, name, ocsp, now) {
            Err(error) if is_authority(&error) && self.named.contains(server) => {
                // This was found out after the dates, and before the name.
                rustls::client::verify_server_name(&ParsedCertificate::try_from(server)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.web.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.web.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.web.supported_verify_schemes()
    }
}

/// Whether a server's certificate was refused for being an authority's.
fn is_authority(error: &rustls::Error) -> bool {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => {
            cause.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
        }
        _ => false,
    }
}

/// What is wrong with a peer or with the options, if TLS ended for a reason that stays.
pub(super) fn refusal(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<String> {
    Some(match cause.downcast_ref()? {
        rustls::Error::InvalidMessage(_) => {
            "does not speak TLS: the scheme for that is redis:, or one that begins with it"
                .to_owned()
        }
        rustls::Error::InvalidCertificate(
            error @ (CertificateError::NotValidForName
            | CertificateError::NotValidForNameContext { .. }),
        ) => format!(
            "has a certificate without this name: {error}. Its names are those of subjectAltName; a common \
             name is none"
        ),
        rustls::Error::InvalidCertificate(error) => {
            format!(
                "has a certificate that is not trusted: {error}. The option tls_ca names what is"
            )
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied,
        ) => format!("refused the client's certificate, which tls_cert and tls_key name: {cause}"),
        rustls::Error::AlertReceived(
            AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion,
        )
        | rustls::Error::PeerIncompatible(_) => {
            format!("has no TLS in common with this client: {cause}")
        }
        _ => return None,
    })
}

/// The first message of TLS, to see what a peer has to say to it.
pub(super) fn greeting() -> Option<Vec<u8>> {
    let config = config(&Tls::default()).ok()?;
    let name = ServerName::try_from("localhost").ok()?;
    let mut greeting = Vec::new();
    rustls::ClientConnection::new(config, name).ok()?.write_tls(&mut greeting).ok()?;
    Some(greeting)
}

/// Says that a peer speaks without TLS.
pub(super) fn not_spoken() -> io::Error {
    let error = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
    io::Error::new(io::ErrorKind::InvalidData, error)
}

pub(super) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    // A certificate knows no interfaces.
    let host = host.split_once('%').map_or(host, |(address, _)| address);
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

fn bad(option: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::InvalidUrl, format!("the option {option} cannot be used: {error}"))
        .with_source(error)
}
