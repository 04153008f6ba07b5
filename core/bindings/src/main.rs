//! Generates what is the same in all bindings, from the public items of the core and their comments:
//!
//! ```text
//! make bindings                                   # writes all that is generated
//! cargo run -p millpond-bindings -- --check       # says what is stale
//! cargo run -p millpond-bindings -- comments      # counts the lines of comments that it wrote into files by hand
//! cargo run -p millpond-bindings -- model [name]  # prints what it knows, to write an emitter by
//! ```
//!
//! `model` is what the core says, read by `source`. `comments` is what is said of an item in one host: the core's
//! comment, rendered by `docs` in the host's words, and what the host's own page adds, read by `overlay`. Each
//! host has an emitter, a folder of `templates` with the text, and one file of exceptions, `names`. What the emitters
//! have in common is found once: `forms` of methods, what the `bytes` of a queue are, and what a method is in the C
//! library (`c::calls`). `packages` writes what each package carries of the root, and `attributes` which files are
//! generated. `coverage` sees that each item is in each host, or that a page in `hosts` says why it is not.

mod attributes;
mod bytes;
mod c;
mod comments;
mod coverage;
mod declared;
mod docs;
mod forms;
mod model;
mod node;
mod output;
mod overlay;
mod packages;
mod php;
mod python;
mod ruby;
mod source;
mod surface;
mod templates;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

use c::abi::CAbi;
use model::Model;
use output::Output;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let model = source::read(&root);
    let command = std::env::args().skip(1).collect::<Vec<_>>();
    if let [command, names @ ..] = command.as_slice()
        && command == "model"
    {
        print!("{}", model.describe(names.first().map_or("", |name| name)));
        return ExitCode::SUCCESS;
    }
    // What a host lacks keeps no other from getting its files.
    let (output, missing) = generate(&root, &model);
    missing.iter().for_each(|item| eprintln!("{item}"));
    match command.as_slice() {
        [] => {
            output.write();
            headers(&root).write();
        }
        [check] if check == "--check" => {
            if output.is_stale() || headers(&root).is_stale() {
                return ExitCode::FAILURE;
            }
        }
        [comments] if comments == "comments" => {
            output.comments().for_each(|(path, count)| println!("{path} {count}"));
        }
        other => {
            eprintln!(
                "millpond-bindings: {other:?} is not known; there are --check, comments and model"
            );
            return ExitCode::FAILURE;
        }
    }
    if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The C headers, of what the emitters have written.
fn headers(root: &Path) -> Output {
    let mut output = Output::new(root);
    c::header::emit(root, &mut output);
    output
}

/// What all emitters write, and what of the core is missing in a host.
fn generate(root: &Path, model: &Model) -> (Output, Vec<String>) {
    let mut output = Output::new(root);
    c::emit(root, model, &mut output);
    python::emit(root, model, &mut output);
    node::emit(root, model, &mut output);
    let abi = CAbi::read(&output);
    ruby::emit(root, model, &abi, &mut output);
    php::emit(root, model, &abi, &mut output);
    packages::emit(root, &mut output);
    attributes::emit(&mut output);
    let mut missing = coverage::missing(root, model, &abi, &output);
    missing.extend_from_slice(output.refused());
    (output, missing)
}
