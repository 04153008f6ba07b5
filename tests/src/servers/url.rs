use std::fmt::Write as _;

/// Escapes `text` for any part of a url: everything but letters, digits and `-._~` as `%XX`.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "%{byte:02X}").expect("a String takes all that is written to it");
        }
    }
    escaped
}

/// Writes `scheme` and a comma-separated list of loopback addresses.
pub(super) fn of_ports(scheme: &str, ports: impl IntoIterator<Item = u16>) -> String {
    let hosts: Vec<_> = ports.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("{scheme}://{}", hosts.join(","))
}
