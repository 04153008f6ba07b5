use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// A certificate authority made for one server, and the certificate it issued to it.
///
/// Made anew each time, which takes a millisecond: a key that is checked in expires one day, and
/// until then it may be trusted.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) ca_file: PathBuf,
    pub(super) certificate_file: PathBuf,
    pub(super) key_file: PathBuf,
}

impl Certificate {
    /// Issues a certificate for `localhost` and the loopback addresses, in files in `directory`.
    pub(super) fn issue(directory: &Path) -> Self {
        let (ca, certificate, key) = signed().expect("fixed parameters make valid certificates");
        let write = |name: &str, pem: String| {
            let path = directory.join(name);
            fs::write(&path, pem)
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
            path
        };
        Self {
            ca_file: write("ca.pem", ca),
            certificate_file: write("server.pem", certificate),
            key_file: write("server.key", key),
        }
    }
}

/// The authority's certificate, the server's certificate and the server's key, all as PEM.
fn signed() -> Result<(String, String, String), rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "Millpond test authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);

    let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name.push(DnType::CommonName, "localhost");
    server.use_authority_key_identifier_extension = true;
    let server_key = KeyPair::generate()?;
    let server_pem = server.signed_by(&server_key, &issuer)?.pem();
    Ok((authority_pem, server_pem, server_key.serialize_pem()))
}
