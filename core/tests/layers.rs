//! The layers of the core hold: imports go down the list, queues know nothing of each other nor backends
//! of a queue, and steps and queues contain no clock, random source, timer, thread or I/O.
//!
//! It reads the source: `use` lines, paths in the code and in the arguments of macros. What is there for
//! tests alone (`cfg(test)`) may import what it likes.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

/// The modules at the top of the core, from above to below. Those of one line do not import each other.
/// A module that is not here is a queue.
const LAYERS: &[&[&str]] = &[
    &["connect"],
    &["queues"],
    &[], // the queues
    &["worker"],
    &["kind"],
    &["client", "redis_rs"],
    &["embedded", "redis"],
    &["options"],
    &["runtime"],
    &["step"],
    &["recovery"],
    &["error"],
];

const QUEUES: usize = 2;

/// Where, as in the queues, arguments alone decide what happens.
const PURE: &[&str] = &["step", "kind", "recovery", "error"];

/// The same of single files: state machines that are fed with the time.
const PURE_FILES: &[&str] = &["worker/machine.rs", "worker/outage.rs", "worker/renewal.rs"];

/// Paths that nothing pure mentions, or that such a path begins with.
const IMPURE_PATHS: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "crate::runtime::clock",
    "crate::runtime::fork",
    "crate::runtime::random",
    "crate::runtime::timer",
    "getrandom",
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant::now",
    "std::time::SystemTime",
    "thread::spawn",
    "tokio",
];

/// Methods that nothing pure calls.
const IMPURE_METHODS: &[&str] = &["elapsed"];

#[test]
fn the_layers_hold() {
    let broken: Vec<String> =
        sources().iter().flat_map(|(path, source)| violations(path, source)).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn what_is_in_no_layer_is_a_queue() {
    let modules: BTreeSet<String> =
        sources().iter().filter_map(|(path, _)| module_path(path).into_iter().next()).collect();
    let layers: BTreeSet<String> =
        LAYERS.iter().copied().flatten().map(|layer| (*layer).to_owned()).collect();
    assert!(layers.is_subset(&modules), "{layers:?}");
    let queues: BTreeSet<String> = millpond::kinds()
        .iter()
        .map(|kind| kind.name.split('.').next().unwrap().to_owned())
        .collect();
    assert_eq!(modules.difference(&layers).cloned().collect::<BTreeSet<_>>(), queues);
}

#[test]
fn a_rule_that_is_broken_is_found() {
    for (path, source, what) in [
        ("client/mod.rs", "use crate::ick::Ick;", "client imports ick"),
        ("client/mod.rs", "use super::ick::Ick;", "client imports ick"),
        (
            "redis/mod.rs",
            "use crate::{error::Result, shuffle::MessageId};",
            "redis imports shuffle",
        ),
        ("redis/link.rs", "fn f() { crate::embedded::open() }", "redis imports embedded"),
        ("embedded/table.rs", "fn f() -> super::super::tasks::State {}", "embedded imports tasks"),
        ("tasks/name.rs", "use crate::ick::NAME_BYTES_MAX;", "tasks imports ick"),
        ("worker/mod.rs", "fn f() { log!(\"\", crate::tasks::now()) }", "worker imports tasks"),
        ("step/mod.rs", "#[cfg(not(test))] use crate::client::Client;", "step imports client"),
        ("step/mod.rs", "use crate::Client;", "step imports lib.rs's Client"),
        ("step/mod.rs", "macro_rules! m { () => { $crate::tasks::f() } }", "step imports tasks"),
        (
            "ick/add.rs",
            "fn f() { std::time::Instant::now(); }",
            "ick contains std::time::Instant::now",
        ),
        ("ick/add.rs", "fn f(t: T) { t.elapsed(); }", "ick calls elapsed()"),
        ("ick/add.rs", "fn f() { assert!(vec![t.elapsed()].is_empty()); }", "ick calls elapsed()"),
        ("shuffle/read.rs", "use std::time::SystemTime;", "shuffle contains std::time::SystemTime"),
        ("shuffle/read.rs", "use std::fs::OpenOptions;", "shuffle contains std::fs::OpenOptions"),
        ("shuffle/read.rs", "use std::os::unix::net::UnixStream;", "contains std::os::unix"),
        ("tasks/job.rs", "use crate::runtime::random;", "tasks contains crate::runtime::random"),
        ("tasks/job.rs", "use crate::runtime::timer::Timer;", "contains crate::runtime::timer"),
        ("tasks/job.rs", "async fn f() { tokio::spawn(g()); }", "contains tokio::spawn"),
        ("tasks/job.rs", "use std::{sync::Arc, thread};", "contains std::thread"),
        ("worker/machine.rs", "fn f() { Instant::now(); }", "contains Instant::now"),
    ] {
        let broken = violations(Path::new(path), source);
        assert!(broken.iter().any(|text| text.contains(what)), "{source}: {broken:?}");
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    for (path, source) in [
        ("queues.rs", "use crate::{ick, shuffle};"),
        ("ick/add.rs", "use super::name::Name; use crate::step::{ByteList, reply::{self, Reply}};"),
        ("ick/add.rs", "use std::time::{Duration, Instant}; fn f(now: Instant) {}"),
        ("tasks/embedded/queue.rs", "fn f() { super::super::limits::check() }"),
        ("client/mod.rs", "#[cfg(test)] mod tests { use crate::ick::Add; }"),
        ("connect.rs", "mod aio { use super::connect; }"),
        ("client/mod.rs", "/// See [`Ick`](crate::ick::Ick).\nstruct Client;"),
        ("runtime/timer.rs", "use std::thread; fn f() { std::time::Instant::now().elapsed(); }"),
        ("ick/tests.rs", "use crate::tasks::Task;"),
    ] {
        assert_eq!(violations(Path::new(path), source), [""; 0], "{source}");
    }
}

/// The files of the core with their paths from `src/`; `lib.rs`, which says what there is, left out.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => collect(&path, files),
                Some(extension) if extension == "rs" => files.push(path),
                _ => {}
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let relative = |path: PathBuf| {
        let source = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(&root).unwrap().to_owned(), source)
    };
    files.into_iter().map(relative).filter(|(path, _)| path != Path::new("lib.rs")).collect()
}

/// The modules that lead to a file.
fn module_path(path: &Path) -> Vec<String> {
    let name = |part: &std::ffi::OsStr| part.to_str().unwrap().to_owned();
    let mut modules: Vec<String> = path.with_extension("").iter().map(name).collect();
    modules.pop_if(|last| last == "mod");
    modules
}

/// What of the rules this file breaks, a sentence each.
fn violations(path: &Path, source: &str) -> Vec<String> {
    let modules = module_path(path);
    // Modules that exist for tests alone; `cfg(test)` stands where they are declared.
    let for_tests =
        ["tests", "cases", "model", "beside", "fleet", "wrong_replies", "script_header"];
    if modules.iter().any(|module| for_tests.contains(&module.as_str())) {
        return Vec::new();
    }
    let mut found = Paths { modules: modules.clone(), ..Paths::default() };
    found.visit_file(&syn::parse_file(source).unwrap());
    let own = &modules[0];
    let layer = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let rank = |module: &str| match module.starts_with(|first: char| first.is_lowercase()) {
        true => layer(module).or(Some(QUEUES)),
        false => None,
    };
    let is_file = PURE_FILES.iter().any(|file| path == Path::new(file));
    let is_pure = is_file || PURE.contains(&own.as_str()) || rank(own) == Some(QUEUES);
    let file = path.display();
    let mut broken = Vec::new();
    for used in &found.paths {
        if let Some(rest) = used.strip_prefix("crate::") {
            let module = rest.split("::").next().unwrap();
            match rank(module) {
                _ if module == own => {}
                Some(below) if Some(below) > rank(own) => {}
                Some(_) => broken.push(format!("{file}: {own} imports {module} ({used})")),
                None => broken.push(format!("{file}: {own} imports lib.rs's {module}")),
            }
        }
        let is_impure = |path: &str| {
            used.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if is_pure && IMPURE_PATHS.iter().any(|path| is_impure(path)) {
            broken.push(format!("{file}: {own} contains {used}"));
        }
    }
    for method in found.methods.iter().filter(|_| is_pure) {
        if IMPURE_METHODS.contains(&method.as_str()) {
            broken.push(format!("{file}: {own} calls {method}()"));
        }
    }
    broken
}

/// The paths and the methods that a file names outside tests.
#[derive(Default)]
struct Paths {
    modules: Vec<String>,
    paths: BTreeSet<String>,
    methods: BTreeSet<String>,
}

impl Paths {
    /// Notes a path; those that begin with `super` as what they mean.
    fn note(&mut self, path: &[String]) {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let path = match supers {
            0 => path.join("::"),
            _ => {
                let kept = self.modules.len().saturating_sub(supers);
                let parts = self.modules[..kept].iter().chain(&path[supers..]);
                parts.fold("crate".to_owned(), |path, name| format!("{path}::{name}"))
            }
        };
        self.paths.insert(path);
    }

    fn note_use(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.note_use(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) if name.ident == "self" => self.note(before),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.note(&with(&rename.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.note_use(tree, before));
            }
        }
    }

    /// The paths among the tokens of a macro, and the methods.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut after_dot = false;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if after_dot {
                        self.methods.insert(ident.to_string());
                    }
                    if colons != 2 {
                        self.note_if_any(&mut path);
                    }
                    path.push(ident.to_string());
                    (colons, after_dot) = (0, false);
                }
                token => {
                    self.note_if_any(&mut path);
                    colons = 0;
                    after_dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
                    if let TokenTree::Group(group) = token {
                        self.note_tokens(group.stream());
                    }
                }
            }
        }
        self.note_if_any(&mut path);
    }

    fn note_if_any(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.note(path);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(item) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.modules.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.modules.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note_use(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.note(&names);
        syn::visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.methods.insert(call.method.to_string());
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.note_tokens(item.tokens.clone());
    }
}

/// Whether an item is there under `cfg(test)`, or `cfg(all(test, …))`.
fn is_for_tests(item: &syn::Item) -> bool {
    use syn::Item;
    let attributes = match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test") || condition == "doctest"
        }
        _ => false,
    })
}
