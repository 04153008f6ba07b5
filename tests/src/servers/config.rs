use std::fmt::Write as _;

/// The text of a `redis.conf`.
///
/// A file and not command line arguments, because Sentinel and `CONFIG REWRITE` write to it: a
/// server that is restarted must find the role it had when it was killed.
#[derive(Debug, Default, Clone)]
pub(super) struct Config {
    text: String,
}

impl Config {
    /// Adds the line `name values…`, with every value quoted.
    pub(super) fn line(&mut self, name: &str, values: &[&str]) {
        self.text.push_str(name);
        for value in values {
            self.text.push(' ');
            quote(value, &mut self.text);
        }
        self.text.push('\n');
    }

    /// Adds all lines of `other`; where a name repeats, the later line wins.
    pub(super) fn extend(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Quotes as Redis reads it back. Escaping every unusual byte spares us its rules for each.
fn quote(value: &str, into: &mut String) {
    into.push('"');
    for byte in value.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' {
            into.push(char::from(byte));
        } else {
            write!(into, "\\x{byte:02x}").expect("a String takes all that is written to it");
        }
    }
    into.push('"');
}
