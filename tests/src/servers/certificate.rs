use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// What certificate a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Certified {
    /// One for `localhost` and the loopback addresses, of an authority made for it.
    #[default]
    ByAuthority,
    /// The same, but `localhost` is its common name alone.
    WithoutNames,
    /// One for `localhost` that has signed itself, and says that it is an authority's, as those of
    /// `openssl req -x509` do.
    ByItself,
    /// The same, for another name.
    ByItselfForAnother,
    /// The same, for `localhost`, and over.
    ByItselfAndOver,
}

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
    /// Issues a certificate, in files in `directory`.
    pub(super) fn issue(directory: &Path, certified: Certified) -> Self {
        let (ca, certificate, key) =
            signed(certified).expect("fixed parameters make valid certificates");
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
fn signed(certified: Certified) -> Result<(String, String, String), rcgen::Error> {
    let names: &[&str] = match certified {
        Certified::WithoutNames => &[],
        Certified::ByItselfForAnother => &["other"],
        _ => &["localhost", "127.0.0.1", "::1"],
    };
    let mut server =
        CertificateParams::new(names.iter().copied().map(String::from).collect::<Vec<_>>())?;
    server.distinguished_name.push(DnType::CommonName, "localhost");
    let server_key = KeyPair::generate()?;
    if !matches!(certified, Certified::ByAuthority | Certified::WithoutNames) {
        server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        if certified == Certified::ByItselfAndOver {
            server.not_after = date_time_ymd(2020, 1, 1);
        }
        let pem = server.self_signed(&server_key)?.pem();
        return Ok((pem.clone(), pem, server_key.serialize_pem()));
    }
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "Millpond test authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    server.use_authority_key_identifier_extension = true;
    let server_pem = server.signed_by(&server_key, &Issuer::new(authority, authority_key))?.pem();
    Ok((authority_pem, server_pem, server_key.serialize_pem()))
}
