//! Names of queues.

use crate::error::{Result, ensure, invalid};

/// The longest name of a queue, in bytes.
pub const NAME_BYTES_MAX: usize = 64 * 1024;

/// How the names begin that are the library's own: of queues, namespaces and headers.
const RESERVED: &[u8] = b"millpond:";

/// Refuses a name that is too long; `what` says in the error which name it is.
pub(crate) fn check_name_length(what: &str, name: &[u8]) -> Result<()> {
    match name.len() {
        len if len > NAME_BYTES_MAX => {
            Err(invalid(format!("{what} has {len} bytes; {NAME_BYTES_MAX} are allowed")))
        }
        _ => Ok(()),
    }
}

/// Refuses a name that is empty, too long or reserved.
pub(crate) fn check_name(what: &str, name: &[u8]) -> Result<()> {
    ensure!(!name.is_empty(), "{what} is empty");
    check_not_reserved(what, name)?;
    check_name_length(what, name)
}

/// Refuses a name that later versions may use for data of the library.
pub(crate) fn check_not_reserved(what: &str, name: &[u8]) -> Result<()> {
    ensure!(!name.starts_with(RESERVED), "{what} begins with \"millpond:\", which is reserved");
    Ok(())
}

/// The prefix of all keys of a queue: the name, in braces unless it already contains a {tag}, so that the keys lie in
/// one cluster slot; then `kind`, a word behind a colon.
///
/// No other name has a key that is this prefix, or begins with it and a colon, except that a name without a tag and the
/// same name in braces are one name: a `kind` in a name is distinguished from the one after the name, see [`marked`].
pub(crate) fn tagged_name(what: &str, name: &[u8], kind: &[u8]) -> Result<Vec<u8>> {
    check_tagged(what, name)?;
    let tagged = if has_tag(name) { name.to_vec() } else { [b"{", name, b"}"].concat() };
    Ok([&*marked(&tagged, kind), kind].concat())
}

/// The prefix of all keys of a part of a queue, by its number; like [`tagged_name`], except that for a name without a
/// tag it ends with `end`, which begins with `kind`. The parts of a name without a tag have separate cluster slots;
/// those of a name with a tag share its slot. No other part of any name has a key that is this prefix, or begins with
/// it and a colon.
///
/// The number has four digits, so that a pattern of access rights can contain `????` for it, which no longer name
/// matches.
pub(crate) fn numbered_name(
    what: &str,
    name: &[u8],
    number: u32,
    kind: &[u8],
    end: &[u8],
) -> Result<Vec<u8>> {
    let (before, behind) = around_number(what, name, kind, end)?;
    Ok([&*before, format!("{number:04}").as_bytes(), &*behind].concat())
}

/// The text of a [`numbered_name`] before its number, and after it.
pub(crate) fn around_number(
    what: &str,
    name: &[u8],
    kind: &[u8],
    end: &[u8],
) -> Result<(Vec<u8>, Vec<u8>)> {
    check_tagged(what, name)?;
    Ok(match has_tag(name) {
        true => ([&*marked(name, kind), kind, b"/"].concat(), Vec::new()),
        false => (marked(&[b"{", name, b"/"].concat(), kind), [b"}", end].concat()),
    })
}

/// The name from which [`tagged_name`] made the text before the kind, if the name itself has a tag.
pub(crate) fn unmarked(name: &[u8], kind: &[u8]) -> Vec<u8> {
    let (mut plain, behind) = split_tag(name);
    for (index, byte) in behind.iter().enumerate() {
        let is_mark = behind[..index].ends_with(b":") && is_kind(&behind[index..], kind);
        if *byte != b'_' || !is_mark {
            plain.push(*byte);
        }
    }
    plain
}

/// The name with one more underscore in each `:kind`, `:_kind` and so on after its tag, so that the first `:kind` there
/// is the one at the end of a prefix. The tag stays as it is, since the slot depends on it.
fn marked(name: &[u8], kind: &[u8]) -> Vec<u8> {
    let (mut marked, behind) = split_tag(name);
    for (index, byte) in behind.iter().enumerate() {
        marked.push(*byte);
        if *byte == b':' && is_kind(&behind[index + 1..], kind) {
            marked.push(b'_');
        }
    }
    marked
}

/// Whether these bytes, which follow a colon, begin with a kind, or with underscores and a kind.
fn is_kind(bytes: &[u8], kind: &[u8]) -> bool {
    let underscores = bytes.iter().take_while(|byte| **byte == b'_').count();
    kind.get(1..).is_some_and(|kind| bytes[underscores..].starts_with(kind))
}

/// A name up to the end of its tag, and the rest, which is empty for a name without a tag.
fn split_tag(name: &[u8]) -> (Vec<u8>, &[u8]) {
    let (tagged, behind) = name.split_at(tag_end(name).unwrap_or(name.len()));
    (tagged.to_vec(), behind)
}

fn check_tagged(what: &str, name: &[u8]) -> Result<()> {
    check_name(what, name)?;
    ensure!(name[0] != b'}', "{what} begins with a brace that closes");
    Ok(())
}

/// Whether a cluster hashes a part of the name instead of the whole.
pub(crate) fn has_tag(name: &[u8]) -> bool {
    tag_end(name).is_some()
}

/// The end of a name's tag, after the brace.
fn tag_end(name: &[u8]) -> Option<usize> {
    let open = name.iter().position(|byte| *byte == b'{')?;
    let length = name[open + 1..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then_some(open + length + 2)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn cases() -> ProptestConfig {
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) }
    }

    /// Names that a queue may have and that look like the keys of other queues.
    pub(crate) fn odd_names() -> impl Strategy<Value = Vec<u8>> {
        let part = prop::sample::select(vec![
            "a",
            "b",
            "a",
            "a/0001",
            "/",
            "/1",
            "/0001",
            "{",
            "}",
            "{}",
            "{a}",
            "{a}",
            "{a/0001}",
            "{b}",
            ":",
            "_",
            ":_",
            "-part",
            ":events",
            ":events",
            ":events-part",
            ":tasks",
            ":tasks",
            ":shard",
            ":queue:",
            ":lane:default:",
            ":map:",
            ":due",
            ":none",
            "vhash-map:",
            "vhashes:",
            "\0",
        ]);
        let bytes = prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat().into_bytes());
        bytes.prop_filter("a name that is refused", |name| name[0] != b'}')
    }

    /// Whether a key has this prefix.
    pub(crate) fn is_of(prefix: &[u8], key: &[u8]) -> bool {
        key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest[0] == b':')
    }

    /// The name with a tag that is the same as this name.
    pub(crate) fn with_tag(name: &[u8]) -> Vec<u8> {
        if has_tag(name) { name.to_vec() } else { [b"{", name, b"}"].concat() }
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        fn no_name_has_a_key_of_another(one in odd_names(), other in odd_names(), end in odd_names()) {
            let prefix = |name: &[u8]| tagged_name("the name", name, b":tasks").unwrap();
            let (of_one, of_other) = (prefix(&one), prefix(&other));
            let is_same = with_tag(&one) == with_tag(&other);
            prop_assert_eq!(of_one == of_other, is_same);
            prop_assert!(is_same || !is_of(&of_one, &of_other));
            // A name that is made from a key of another name.
            let key = [&*of_one, b":queue:", &end].concat();
            prop_assert!(!is_of(&of_one, &prefix(&key)), "{}", String::from_utf8_lossy(&key));
            // The slot is that of the tag.
            let tag = |name: &[u8]| name[..tag_end(name).unwrap()].to_vec();
            prop_assert_eq!(tag(&of_one), tag(&with_tag(&one)));
            let tagged = of_one.strip_suffix(b":tasks").unwrap();
            prop_assert_eq!(unmarked(tagged, b":tasks"), with_tag(&one));
        }
    }

    #[test]
    fn names_of_the_library_are_reserved() {
        let error = check_name("the name", b"millpond:queues").unwrap_err();
        assert!(error.message().ends_with("the name begins with \"millpond:\", which is reserved"));
        for name in [&b"millpond"[..], b"millpond/a", b"a millpond:", b"{millpond:}"] {
            check_name("the name", name).unwrap();
        }
    }
}
