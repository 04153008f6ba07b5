//! The headers of scripts: the KEYS, ARGV and errors that a script declares are checked against its calls.

use std::collections::BTreeSet;

use crate::error::ErrorKind;
use crate::step::{Invocation, reply};

/// The KEYS and ARGV that a script's header declares: the least number of each, and whether more may follow.
pub(crate) struct Header {
    keys: usize,
    optional_keys: usize,
    args: usize,
    more_args: bool,
    errors: Vec<String>,
}

/// The header of the last of the files that a script consists of: the others are shared.
fn header(source: &str) -> Header {
    let lines: Vec<&str> = source.lines().collect();
    let keys = lines.iter().rposition(|line| line.starts_with("-- KEYS[1]"));
    let keys = keys.expect("a header names the keys");
    let first = lines[..keys].iter().rposition(|line| !line.starts_with("--"));
    let header = &lines[first.map_or(0, |line| line + 1)..];
    let text: String = header.iter().copied().take_while(|line| line.starts_with("--")).collect();
    let optional = ["if fenced", " if tracked", " if in a family"];
    let optional_keys: usize = optional.iter().map(|words| text.matches(words).count()).sum();
    let errors = text.split("errors ").nth(1).unwrap_or_default();
    Header {
        keys: text.matches("KEYS[").count() - optional_keys,
        optional_keys,
        args: text.matches("ARGV[").count() - usize::from(text.contains("…]")),
        more_args: text.contains("…]"),
        errors: errors
            .split(", ")
            .map(|name| name.trim_end_matches(['.', '-']).to_owned())
            .collect(),
    }
}

/// Checks the keys and the arguments of a call against the header of its script, and returns that header.
pub(crate) fn check_call(name: &str, call: &Invocation) -> Header {
    let header = header(call.script.source());
    let keys = header.keys..=header.keys + header.optional_keys;
    assert!(keys.contains(&call.keys.len()), "{name}: {} keys", call.keys.len());
    match header.more_args {
        true => assert!(call.args.len() >= header.args, "{name}"),
        false => assert_eq!(call.args.len(), header.args, "{name}"),
    }
    header
}

/// The words of a line that are constants of several words.
fn constants(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| {
        word.trim_matches('_').contains('_')
            && word.chars().all(|letter| letter == '_' || letter.is_ascii_uppercase())
    })
}

/// The constants of several words that a script uses and neither defines nor is given.
fn unknown_constants(source: &str) -> BTreeSet<&str> {
    let (mut used, mut made) = (BTreeSet::new(), BTreeSet::new());
    for line in source.lines().filter_map(|line| line.split("--").next()) {
        let declared = line.trim_start().strip_prefix("local ");
        made.extend(
            declared.and_then(|line| line.split('=').next()).into_iter().flat_map(constants),
        );
        used.extend(line.split('\'').step_by(2).flat_map(constants));
    }
    used.difference(&made).copied().collect()
}

/// Checks a call, the errors of its script against the script's header, and the script's constants.
pub(crate) fn check(name: &str, call: &Invocation) {
    let header = check_call(name, call);
    let source = call.script.source();
    assert_eq!(unknown_constants(source), BTreeSet::new(), "{name}");
    // Every error that the script can return is in its header and has a kind.
    let words = source.split("error_reply('").skip(1).map(|part| part.split(' ').next());
    let invalid = source.contains("return invalid(").then_some(Some("INVALID_ARGUMENT"));
    for word in words.chain(invalid).flatten() {
        assert!(header.errors.iter().any(|error| error == word), "{name}: {word}");
        assert_ne!(reply::server_error(word).kind(), ErrorKind::Server, "{name}: {word}");
    }
}
