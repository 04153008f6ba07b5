//! What the package of each language carries of the root: its licences, and the version of Cargo.toml.

use std::path::Path;

use crate::output::Output;

/// The folders that packages are made of.
const PACKAGES: [&str; 5] = ["core", "python", "node", "ffi/php", "ffi/ruby"];

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Files that name the version, and what stands before and behind it there. Cargo, Python and C read Cargo.toml.
const VERSIONS: [(&str, &str, &str); 6] = [
    ("node/package.json", "\n  \"version\": \"", "\""),
    ("node/package-lock.json", "{\n  \"name\": \"millpond\",\n  \"version\": \"", "\""),
    ("node/package-lock.json", "{\n      \"name\": \"millpond\",\n      \"version\": \"", "\""),
    ("ffi/php/composer.json", "\n    \"version\": \"", "\""),
    ("ffi/ruby/lib/millpond/version.rb", "  VERSION = \"", "\""),
    ("ffi/ruby/lib/millpond.rb", "Millpond.library_version # => \"", "\""),
];

pub(crate) fn emit(root: &Path, output: &mut Output) {
    for license in LICENSES {
        let text = std::fs::read_to_string(root.join(license))
            .unwrap_or_else(|error| panic!("{license}: {error}"));
        for package in PACKAGES {
            output.add(&format!("{package}/{license}"), &text);
        }
    }
    for (path, before, behind) in VERSIONS {
        match with_version(&output.text(path), before, behind) {
            Some(text) => output.edit(path, text),
            None => output.refuse(format!("{path} does not have {before:?} once")),
        }
    }
}

fn with_version(text: &str, before: &str, behind: &str) -> Option<String> {
    let (head, rest) = text.split_once(before)?;
    let (_, tail) = rest.split_once(behind)?;
    let is_only = !rest.contains(before);
    is_only.then(|| [head, before, env!("CARGO_PKG_VERSION"), behind, tail].concat())
}
