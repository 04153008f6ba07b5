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
//! host has an emitter, which says what the host calls things, and a folder of `templates`, where the text is.

mod c;
mod c_abi;
mod c_functions;
mod comments;
mod docs;
mod header;
mod model;
mod node;
mod node_calls;
mod node_types;
mod output;
mod overlay;
mod php;
mod php_classes;
mod python;
mod python_blocking;
mod python_calls;
mod ruby;
mod ruby_comments;
mod source;
mod surface;
mod templates;

use std::path::Path;
use std::process::ExitCode;

use c_abi::CAbi;
use model::Model;
use output::Output;
use surface::Surface;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let model = source::read(&root);
    match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => {
            generate(&root, &model).write();
            headers(&root).write();
            ExitCode::SUCCESS
        }
        [check] if check == "--check" => {
            match generate(&root, &model).is_stale() || headers(&root).is_stale() {
                true => ExitCode::FAILURE,
                false => ExitCode::SUCCESS,
            }
        }
        [comments] if comments == "comments" => {
            for (path, count) in generate(&root, &model).comments() {
                println!("{path} {count}");
            }
            ExitCode::SUCCESS
        }
        [command, names @ ..] if command == "model" => {
            print!("{}", model.describe(names.first().map_or("", |name| name)));
            ExitCode::SUCCESS
        }
        other => {
            eprintln!(
                "millpond-bindings: {other:?} is not known; there are --check, comments and model"
            );
            ExitCode::FAILURE
        }
    }
}

/// The C headers, of what the emitters have written.
fn headers(root: &Path) -> Output {
    let mut output = Output::new(root);
    header::emit(root, &mut output);
    output
}

/// What all emitters write.
fn generate(root: &Path, model: &Model) -> Output {
    let surface = Surface::read(root, model);
    let mut output = Output::new(root);
    c::emit(root, model, &surface, &mut output);
    python::emit(root, model, &surface, &mut output);
    node::emit(root, model, &surface, &mut output);
    let abi = CAbi::read(root, &output);
    ruby::emit(root, model, &surface, &abi, &mut output);
    php::emit(root, model, &surface, &abi, &mut output);
    output
}
