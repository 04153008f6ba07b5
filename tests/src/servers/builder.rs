use std::fs;

use super::certificate::{Certificate, Certified};
use super::claim::Claim;
use super::config::Config;
use super::redis::{Access, Redis, config_in, socket_in};

/// The options of a server; each defaults to off.
#[derive(Debug, Default, Clone)]
#[must_use = "a builder starts nothing until `start` is called"]
pub struct RedisBuilder {
    config: Config,
    access: Access,
    tls: Option<Certified>,
}

impl RedisBuilder {
    /// Writes every command to the append-only file, and to the disk, before it is acknowledged:
    /// what the server acknowledged survives [`Redis::kill`].
    pub fn appendonly_always(self) -> Self {
        self.config("appendonly", &["yes"]).config("appendfsync", &["always"])
    }

    /// Asks every client for `password`.
    pub fn requirepass(mut self, password: &str) -> Self {
        self.access.default_password = Some(password.into());
        self.access.user.get_or_insert_with(|| (String::new(), password.into()));
        self
    }

    /// Adds an ACL user with `rules` such as `+@all ~* &*`, which the urls log in as if it is the
    /// first, and refuses clients that do not log in.
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        let secret = format!(">{password}");
        let line: Vec<_> = [name, "on", &secret].into_iter().chain(rules.split(' ')).collect();
        self.config.line("user", &line);
        self.access.default_password.get_or_insert_with(|| "the harness alone knows this".into());
        if self.access.user.as_ref().is_none_or(|(name, _)| name.is_empty()) {
            self.access.user = Some((name.into(), password.into()));
        }
        self
    }

    /// Speaks TLS on the port, with a certificate for `localhost` of an authority made for it.
    pub fn tls(self) -> Self {
        self.certified(Certified::ByAuthority)
    }

    /// Speaks TLS on the port, with a certificate of this kind.
    pub fn certified(mut self, certified: Certified) -> Self {
        self.tls = Some(certified);
        self
    }

    /// Adds the line `name values…` to the configuration; a later line wins over an earlier one.
    pub fn config(mut self, name: &str, values: &[&str]) -> Self {
        self.config.line(name, values);
        self
    }

    /// Runs as a sentinel. Sentinels have no data and support few commands.
    pub(super) fn sentinel(mut self) -> Self {
        self.access.sentinel = true;
        self
    }

    /// Refuses the options that servers which talk to each other would need on both sides.
    pub(super) fn assert_open(&self) {
        let open = self.tls.is_none() && self.access.default_password.is_none();
        assert!(open, "clusters and sentinels are started without TLS, users and passwords");
    }

    /// Starts the server and waits until it replies.
    ///
    /// # Panics
    ///
    /// When there is no redis-server, or it does not start; the message holds its log.
    #[must_use]
    pub fn start(&self) -> Redis {
        loop {
            let claim = Claim::new();
            let mut access = self.access.clone();
            self.write_files(&claim, &mut access);
            // A stranger may have taken the port since it was tried: then try another one.
            if let Ok(redis) = Redis::launch(claim, access) {
                return redis;
            }
        }
    }

    fn write_files(&self, claim: &Claim, access: &mut Access) {
        let port = claim.port().to_string();
        let directory = claim.directory();
        let mut config = Config::default();
        config.line("bind", &["127.0.0.1"]);
        config.line("unixsocket", &[&socket_in(directory).to_string_lossy()]);
        config.line("dir", &[&directory.to_string_lossy()]);
        config.line("save", &[""]);
        config.line("appendonly", &["no"]);
        // By default a primary waits five seconds for more replicas before it feeds the first.
        config.line("repl-diskless-sync-delay", &["0"]);
        if let Some(certified) = self.tls {
            let certificate = Certificate::issue(directory, certified);
            config.line("port", &["0"]);
            config.line("tls-port", &[&port]);
            config.line("tls-cert-file", &[&certificate.certificate_file.to_string_lossy()]);
            config.line("tls-key-file", &[&certificate.key_file.to_string_lossy()]);
            config.line("tls-ca-cert-file", &[&certificate.ca_file.to_string_lossy()]);
            config.line("tls-auth-clients", &["no"]);
            access.ca_file = Some(certificate.ca_file);
        } else {
            config.line("port", &[&port]);
        }
        if let Some(password) = &access.default_password {
            config.line("requirepass", &[password]);
        }
        config.extend(&self.config);
        let path = config_in(directory);
        fs::write(&path, config.text())
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}
