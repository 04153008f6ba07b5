//! What nobody has is an error, and words are no facts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quote::ToTokens;
use syn::visit_mut::VisitMut;

use crate::docs::Docs;
use crate::model::{Field, Kind, Method, Model, Setting, Type, Value};
use crate::output::Output;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn docs() -> Docs {
    Docs::parse("What no language has.")
}

/// A method that returns what no language knows.
fn levitate() -> Method {
    Method {
        name: "levitate".to_owned(),
        docs: docs(),
        has_self: true,
        params: Vec::new(),
        returns: Type::Other("impl Fn()".to_owned()),
        is_call: true,
        can_fail: true,
        can_fail_as_given: false,
        must_use: false,
        alias: None,
        forms: Vec::new(),
    }
}

/// The hosts that lack this, as the generator says it.
fn lacking(missing: &[String], item: &str) -> Vec<String> {
    let lines = missing.iter().filter_map(|line| line.split_once(": "));
    let of_item = lines.filter(|(_, rest)| rest.starts_with(&format!("{item} ")));
    of_item.map(|(host, _)| host.to_owned()).collect()
}

fn missing(model: &Model) -> Vec<String> {
    crate::generate(&root(), model).1
}

#[test]
fn a_method_of_a_handle_that_no_host_has_is_named() {
    let mut model = crate::source::read(&root());
    let handles = model.types.iter_mut().filter(|(_, of)| of.kind == Kind::Handle);
    // Most hosts have nothing of the loop of a recruiter.
    let handles = handles.filter(|(key, _)| *key != "recruiter.Slices");
    let handles: Vec<_> = handles
        .map(|(key, of)| {
            of.methods.push(levitate());
            key.clone()
        })
        .collect();
    let missing = missing(&model);
    for key in handles {
        let hosts = lacking(&missing, &format!("{key}.levitate"));
        assert_eq!(hosts, ["python", "node", "ruby", "php", "c"], "{key}");
    }
}

#[test]
fn an_option_that_no_host_has_is_named() {
    let mut model = crate::source::read(&root());
    let setting = Setting {
        name: "levity".to_owned(),
        params: Vec::new(),
        default: Value::None,
        docs: docs(),
    };
    model.types.get_mut("tasks.TaskStore").expect("it is there").settings.push(setting);
    // Node and C make an option of the core's, the others have the signature by hand.
    let hosts = lacking(&missing(&model), "tasks.TaskStore.levity");
    assert_eq!(hosts, ["python", "ruby", "php"]);
}

#[test]
fn a_record_that_no_host_has_is_named() {
    let mut model = crate::source::read(&root());
    let mut record = crate::source::read(&root()).types.remove("ick.Added").expect("it is there");
    let field = |name: &str| Field { name: name.to_owned(), ty: Type::Bool, docs: docs() };
    (record.name, record.fields) = ("Levitation".to_owned(), vec![field("height_mm")]);
    model.types.insert("tasks.Levitation".to_owned(), record);
    let method = Method { returns: Type::Named("tasks.Levitation".to_owned()), ..levitate() };
    model.types.get_mut("tasks.TaskStore").expect("it is there").methods.push(method);
    assert!(!lacking(&missing(&model), "tasks.Levitation.height_mm").is_empty());
}

/// A Rust file without its comments.
struct NoComments;

impl VisitMut for NoComments {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        attributes.retain(|of| !of.path().is_ident("doc"));
    }
}

/// The code of the Rust and JavaScript that is generated.
fn code(output: &Output) -> BTreeMap<String, String> {
    let rust = output.generated().filter(|(path, _)| path.ends_with(".rs"));
    let rust = rust.map(|(path, text)| {
        let mut file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        NoComments.visit_file_mut(&mut file);
        (path.clone(), file.to_token_stream().to_string())
    });
    let js = output.generated().filter(|(path, _)| path.ends_with(".js"));
    let js = js.map(|(path, text)| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(['/', '*']));
        (path.clone(), lines.collect::<Vec<_>>().join("\n"))
    });
    rust.chain(js).collect()
}

#[test]
fn a_file_with_a_part_by_hand_is_not_marked_as_generated() {
    let (output, _) = crate::generate(&root(), &crate::source::read(&root()));
    let marked = output.text(".gitattributes");
    let is_marked = |path: &str| marked.contains(&format!("\n/{path} linguist-generated\n"));
    let parts =
        ["ffi/php/src/Client.php", "ffi/src/client.rs", "node/package.json", "node/index.js"];
    assert_eq!(parts.map(is_marked), [false; 4]);
    let whole = ["ffi/php/src/Entry.php", "ffi/include/millpond.h", "ffi/ruby/sig/millpond.rbs"];
    assert_eq!(whole.map(is_marked), [true; 3]);
}

#[test]
fn a_generated_file_without_a_head_is_refused() {
    let path = "ffi/ruby/sig/millpond.rbs";
    let mut output = Output::new(&root());
    output.edit(path, "module Millpond\n".to_owned());
    crate::attributes::emit(&mut output);
    let refused =
        format!("{path} does not say in its first lines that it is generated by `rake signatures`");
    assert!(output.refused().contains(&refused));
}

#[test]
fn words_are_no_facts() {
    let mut model = crate::source::read(&root());
    let before = code(&crate::generate(&root(), &model).0);
    let types = model.types.values_mut().flat_map(|of| {
        let methods = of.methods.iter_mut().map(|method| &mut method.docs);
        let settings = of.settings.iter_mut().map(|setting| &mut setting.docs);
        let fields = of.fields.iter_mut().map(|field| &mut field.docs);
        methods.chain(settings).chain(fields).chain([&mut of.docs]).collect::<Vec<_>>()
    });
    types.for_each(Docs::reword);
    let after = code(&crate::generate(&root(), &model).0);
    for (path, code) in &before {
        assert!(after.get(path) == Some(code), "a changed word changed the code of {path}");
    }
}
