//! Commands as the bytes that go over a connection.

use crate::step::Invocation;

/// EVALSHA, or EVAL where the server does not know the script: two round trips and still atomic,
/// where SCRIPT LOAD would take three. ASKING comes before where a redirection said so.
pub(super) fn put_script(
    invocation: &Invocation,
    with_source: bool,
    asking: bool,
    out: &mut Vec<u8>,
) {
    let script = &invocation.script;
    let (command, script): (&[u8], _) = match with_source {
        true => (b"EVAL", script.source()),
        false => (b"EVALSHA", script.sha1()),
    };
    let words = 3 + invocation.keys.len() + invocation.args.len();
    out.reserve(96 + script.len() + invocation.args.total_bytes() + 48 * words);
    if asking {
        out.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
    }
    put_length(b'*', words, out);
    put_word(command, out);
    put_word(script.as_bytes(), out);
    put_word(invocation.keys.len().to_string().as_bytes(), out);
    invocation.keys.iter().for_each(|key| put_word(key, out));
    invocation.args.iter().for_each(|argument| put_word(argument, out));
}

/// A command of a few words.
pub(super) fn words<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut out = Vec::new();
    put_length(b'*', words.len(), &mut out);
    words.iter().for_each(|word| put_word(word.as_ref(), &mut out));
    out
}

fn put_word(word: &[u8], out: &mut Vec<u8>) {
    put_length(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

fn put_length(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n");
}
