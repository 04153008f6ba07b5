//! The headers, from the comments and types of the C library's sources, generated ones included.
//!
//! `millpond.h` is for C and C++. `millpond.ffi.h` is the same without a line for the preprocessor,
//! for what parses C without having one, such as PHP's `FFI::cdef`.

use std::path::Path;

use cbindgen::{Builder, Config};

use crate::output::Output;

/// For C and C++, and for what has no preprocessor.
pub(crate) const PATHS: [&str; 2] = ["ffi/include/millpond.h", "ffi/include/millpond.ffi.h"];

/// Adds both headers, from the sources as they are on disk.
///
/// # Panics
///
/// If a comment does not say what each has to, or an item is not in the header that should be.
pub(crate) fn emit(root: &Path, output: &mut Output) {
    let library = root.join("ffi");
    let header = for_c(&library);
    let incomplete = incomplete(&header);
    assert!(incomplete.is_empty(), "no word on threads or errors at {}", incomplete.join(", "));
    let undeclared = undeclared(&header);
    assert!(undeclared.is_empty(), "cbindgen.toml does not include {}", undeclared.join(", "));
    for (path, text) in PATHS.into_iter().zip([header, for_ffi(&library)]) {
        output.add(path, text);
    }
}

/// The functions whose comment does not say which threads may call them or, if they can fail, with
/// what errors.
fn incomplete(header: &str) -> Vec<&str> {
    let commented = header.split("/**\n").filter_map(|part| part.split_once("*/\n"));
    let functions = commented.filter_map(|(comment, rest)| {
        let (declaration, _) = rest.split_once(");")?;
        let is_function = !declaration.contains(';') && !declaration.starts_with("typedef");
        is_function.then_some((comment, declaration))
    });
    let lacking = functions.filter(|(comment, declaration)| {
        let can_fail = declaration.contains("millpond_error **error");
        !comment.contains("Threads: ") || (can_fail && !comment.contains("Errors: "))
    });
    lacking.filter_map(|(_, declaration)| declaration.split('(').next()).collect()
}

/// The constants that comments name and that are not there, as nothing else shows that an enum is not included.
fn undeclared(header: &str) -> Vec<&str> {
    let named =
        header.match_indices("`MILLPOND_").filter_map(|(at, _)| header[at + 1..].split('`').next());
    let is_there = |name: &str| {
        [format!("    {name} = "), format!("#define {name} ")]
            .iter()
            .any(|line| header.contains(line))
    };
    named.filter(|name| !is_there(name)).collect()
}

fn for_c(root: &Path) -> String {
    generate(root, config(root))
}

fn for_ffi(root: &Path) -> String {
    let mut config = config(root);
    config.header = None;
    config.include_guard = None;
    config.after_includes = None;
    config.sys_includes.clear();
    config.cpp_compat = false;
    config.documentation = false;
    let mut text = generate(root, config);
    // PHP reads every `const char *` as a string that ends at the first NUL, which bytes need not
    // have. Arguments stay, since there PHP passes its own strings.
    let fields = [
        ("data", 1),
        ("member", 2),
        ("field", 1),
        ("value", 1),
        ("shard_key", 1),
        ("group", 1),
        ("consumer", 1),
        ("text", 5),
    ];
    for (name, count) in fields {
        let binary = format!("    const char *{name};");
        assert_eq!(text.matches(&binary).count(), count, "{binary} is not where it was");
        text = text.replace(&binary, &format!("    char *{name};"));
    }
    for function in ["millpond_ick_entries_bytes(", "millpond_shuffle_batch_bytes("] {
        let binary = format!("const char *{function}");
        assert!(text.contains(&binary), "{binary} is not where it was");
        text = text.replace(&binary, &format!("char *{function}"));
    }
    text
}

fn config(root: &Path) -> Config {
    Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is in order")
}

fn generate(root: &Path, config: Config) -> String {
    let bindings = Builder::new()
        .with_crate(root)
        .with_config(config)
        .generate()
        .expect("the sources of this crate are in order");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("the sources are UTF-8")
}
