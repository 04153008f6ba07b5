//! `.gitattributes`: which files are generated, each by its path, so that a review and a count of lines tell them from
//! those by hand. A file with a part by hand is not among them.

use std::collections::{BTreeMap, BTreeSet};

use crate::c::header;
use crate::output::{Output, comment, head};

const PATH: &str = ".gitattributes";

const OWN: &str = "`make bindings`";

/// What other recipes write, by what the heads of the files call the recipe.
const OTHERS: [(&str, &[&str]); 4] = [
    ("Cargo", &["Cargo.lock"]),
    (
        "`make bench`",
        &[
            "tests/bench/RESULTS.md",
            "tests/bench/burst.svg",
            "tests/bench/fairness.svg",
            "tests/bench/lateness.svg",
        ],
    ),
    ("`npm install`", &["node/package-lock.json", "tests/bench/node/package-lock.json"]),
    ("`rake signatures`", &["ffi/ruby/sig/millpond.rbs"]),
];

/// Adds it, after all other files. A file is refused whose head does not name its recipe, or that has the head of this
/// generator and is not written by it.
pub(crate) fn emit(output: &mut Output) {
    let mut own = output.whole().clone();
    own.extend(header::PATHS.into_iter().chain([PATH]).map(str::to_owned));
    for path in output.beside(&own) {
        output.refuse(format!("{path} says that it is generated, and is not: delete it"));
    }
    let others =
        OTHERS.map(|(recipe, paths)| (recipe, paths.iter().map(|of| (*of).to_owned()).collect()));
    let mut all = BTreeMap::<_, BTreeSet<String>>::from(others);
    all.insert(OWN, own);
    let mut text = String::new();
    for (recipe, paths) in all {
        text += &format!("\n# By {recipe}\n");
        for path in paths {
            let is_later = path == PATH || header::PATHS.contains(&&*path);
            let by = format!("by {recipe}");
            if !is_later && comment(&path).is_some() && !head(&output.text(&path)).contains(&by) {
                output.refuse(format!(
                    "{path} does not say in its first lines that it is generated {by}"
                ));
            }
            text += &format!("/{path} linguist-generated\n");
        }
    }
    output.add(PATH, text);
}
