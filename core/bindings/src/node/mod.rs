//! Node: error classes, records with their writers in Rust and readers in JavaScript, and `index.d.ts`.

mod calls;
mod names;
pub(crate) mod types;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::docs::camel;
use crate::model::{Field, IN_URLS, Kind, Model, Setting, Type, Value, rust_path};
use crate::node::names::{CLASSES, NO_OPTIONS, NO_STEPS, OTHERS, READ_BY_HAND, SEVERAL};
use crate::node::types::{code_name, declarations};
use crate::output::Output;

/// The records that cross the boundary: what calls return, and what errors hold.
pub(crate) fn records(model: &Model) -> BTreeSet<&str> {
    let mut found = model.returned();
    found.insert("tasks.Dependency");
    found.retain(|key| !OTHERS.contains(key));
    found
}

pub(crate) fn emit(root: &Path, model: &Model, output: &mut Output) {
    let template = std::fs::read_to_string(root.join("node/scripts/declarations.d.ts"))
        .expect("the declarations are there");
    output.add("node/index.d.ts", declarations(model, &template));
    let errors = model.errors.iter().map(|error| {
        let retry = error.retry.to_lowercase();
        format!(
            "  {{ name: '{}Error', code: '{}', number: {}, retry: '{retry}' }}",
            error.ident, error.name, error.code
        )
    });
    let errors = format!(
        "'use strict'\n\n/** The kinds of errors. */\nmodule.exports = [\n{}\n]\n",
        errors.collect::<Vec<_>>().join(",\n")
    );
    output.add("node/lib/generated/errors.js", errors);
    let classes = template.lines().filter_map(|line| {
        let rest = line.strip_prefix("export class ").or(line.strip_prefix("export function "))?;
        rest.split(['<', '(', ' ']).next().map(str::to_owned)
    });
    let errors = model.errors.iter().map(|error| format!("{}Error", error.ident));
    let names: BTreeSet<_> = classes.chain(errors).chain(["version".to_owned()]).collect();
    let names = names.into_iter().map(|name| format!("  {name}")).collect::<Vec<_>>().join(",\n");
    let module = format!(
        "// The same classes for both kinds of modules: this only names them.\n\
         import millpond from './index.js'\n\nexport const {{\n{names}\n}} = millpond\n"
    );
    output.add("node/index.mjs", module);
    output.add("node/lib/generated/limits.js", limits(model));
    output.add_rust("node/src/generated/records.rs", writers(model));
    output.add("node/lib/generated/records.js", readers(model));
    options(model, output);
    calls::emit(root, model, output);
}

/// The core's constants, by queue.
fn limits(model: &Model) -> String {
    let mut out = String::from(
        "'use strict'\n\n/** The limits and defaults of the core; times in milliseconds. */\nmodule.exports = {\n",
    );
    for queue in model.queues.iter().map(String::as_str).chain(["step"]) {
        let prefix = format!("{queue}.");
        let all = model.constants.iter().filter_map(|(key, of)| match of.value {
            Value::Number(value) | Value::Duration(value) => {
                Some(format!("    {}: {value}", key.strip_prefix(&prefix)?))
            }
            _ => None,
        });
        let _ = write!(out, "  {queue}: {{\n{}\n  }},\n", all.collect::<Vec<_>>().join(",\n"));
    }
    out.trim_end_matches(",\n").to_owned() + "\n}\n"
}

/// The name of a field in JavaScript.
pub(crate) fn js_name(key: &str, field: &Field) -> String {
    let is_json = matches!((key, &*field.name), ("tasks.Task", "value") | ("tasks.Doc", "content"));
    let name = if is_json { "json" } else { &field.name };
    camel(&js_name_of(name, &field.ty))
}

/// The name of a value in JavaScript, which has the unit of a time.
pub(crate) fn js_name_of(name: &str, ty: &Type) -> String {
    format!("{name}{}", if ty.is_time() { "_ms" } else { "" })
}

/// The name of the function that reads a record.
pub(crate) fn reader(key: &str) -> String {
    let name = match key {
        "shuffle.Stats" => "ShuffleStats",
        key => code_name(key),
    };
    name[..1].to_lowercase() + &name[1..]
}

fn writers(model: &Model) -> String {
    let mut out = String::from(
        "//! How records are written for JavaScript: their fields one after the other.\n\n\
         use crate::list::{Done, List, Push};\n",
    );
    for key in records(model) {
        let record = &model.types[key];
        let _ = writeln!(
            out,
            "\nimpl Push for {} {{\nfn push(&self, list: &mut List<'_>) -> Done {{",
            rust_path(key)
        );
        let fields = record.fields.iter().map(|field| format!("self.{}", field.name));
        let getters = record.getters().map(|method| format!("self.{}()", method.name));
        let pushed: Vec<_> = fields.chain(getters).map(|one| one + ".push(list)").collect();
        let _ = writeln!(out, "{}", pushed.join("?;\n"));
        out.push_str("}\n}\n");
    }
    let others = model.types["tasks.Task"]
        .fields
        .iter()
        .filter(|field| !["id", "version"].contains(&&*field.name));
    let others = others.map(|field| match &field.ty {
        Type::Option(_) => format!("{}: None", field.name),
        Type::Text => format!("{}: \"\".into()", field.name),
        _ => format!("{}: Default::default()", field.name),
    });
    let _ = writeln!(
        out,
        "\n/// A task that is known by its id and version alone.\n\
         pub(crate) fn task_of(id: std::sync::Arc<str>, version: u64) -> millpond::tasks::Task {{\n\
         millpond::tasks::Task {{ id, version, {} }}\n}}",
        others.collect::<Vec<_>>().join(", ")
    );
    out
}

fn readers(model: &Model) -> String {
    let mut out = String::from(
        "'use strict'\n\n// How records are read from what the native half has written: see reader.js.\n\n\
         /** The classes of records that have one; each puts itself here. */\nconst made = {}\n",
    );
    let mut names = vec!["made".to_owned()];
    for key in records(model).into_iter().filter(|key| !READ_BY_HAND.contains(key)) {
        let record = &model.types[key];
        let fields = record.fields_and_getters();
        let lines = fields
            .iter()
            .map(|field| format!("{}: {}", js_name(key, field), read(model, &field.ty)));
        let lines: Vec<_> = lines.collect();
        let (open, close) = match CLASSES.contains(&key) {
            true => (format!("new made.{}({{", record.name), "})"),
            false => ("{".to_owned(), "}"),
        };
        let _ = write!(
            out,
            "\nfunction {}(reader) {{\n  return {open}\n    {}\n  {close}\n}}\n",
            reader(key),
            lines.join(",\n    ")
        );
        names.push(reader(key));
        if CLASSES.contains(&key) {
            let names_of: Vec<_> = fields.iter().map(|field| js_name(key, field)).collect();
            let given = fields.iter().zip(&names_of).map(|(field, name)| match &field.ty {
                _ if ["id", "namespace"].contains(&&**name) => name.clone(),
                Type::Option(_) => format!("{name} = null"),
                Type::Text => format!("{name} = ''"),
                Type::Headers => format!("{name} = []"),
                _ => format!("{name} = 0"),
            });
            let sets = names_of.iter().map(|name| format!("this.{name} = {name}"));
            let _ = write!(
                out,
                "\nclass {name}Fields {{\n  constructor({{\n    {}\n  }}) {{\n    {}\n  }}\n}}\n",
                given.collect::<Vec<_>>().join(",\n    "),
                sets.collect::<Vec<_>>().join("\n    "),
                name = record.name
            );
            names.push(format!("{}Fields", record.name));
        }
    }
    names.sort_by_key(|name| name.to_lowercase());
    let _ = write!(out, "\nmodule.exports = {{\n  {}\n}}\n", names.join(",\n  "));
    out
}

/// The expression that reads a value.
pub(crate) fn read(model: &Model, ty: &Type) -> String {
    let read = |ty: &Type| read(model, ty);
    let function = |ty: &Type| match ty {
        Type::Named(key) if READ_BY_HAND.contains(&&**key) => Some(format!("made.{}", reader(key))),
        Type::Named(key) if records(model).contains(&**key) => Some(reader(key)),
        Type::Tuple(parts) => {
            Some(format!("() => [{}]", parts.iter().map(read).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    };
    match ty {
        Type::Headers => "reader.some(() => [reader.one(), reader.one()])".to_owned(),
        Type::Named(key) if key == "shuffle.Stream" => "reader.stream()".to_owned(),
        Type::Option(inner) => match function(inner) {
            Some(function) => format!("reader.maybe({function})"),
            None => read(inner),
        },
        Type::List(inner) => {
            format!(
                "reader.some({})",
                function(inner).unwrap_or_else(|| format!("() => {}", read(inner)))
            )
        }
        ty => {
            function(ty).map_or("reader.one()".to_owned(), |function| format!("{function}(reader)"))
        }
    }
}

/// Whether JavaScript gives its options as steps.
pub(crate) fn has_steps(model: &Model, key: &str) -> bool {
    model.types.get(key).is_some_and(|of| !of.settings.is_empty()) && !NO_STEPS.contains(&key)
}

/// How options are checked in JavaScript, and how the steps are done that come of them in Rust.
fn options(model: &Model, output: &mut Output) {
    let mut js = String::from(
        "'use strict'\n\nconst check = require('../arguments.js')\n\n/** How the options of each are checked. */\n\
         module.exports = {\n",
    );
    let mut rust = String::from(
        "//! How options are set: JavaScript gives steps, the name of a setter and what it takes.\n\n\
         use millpond::Async;\n\nuse crate::convert::{duration, unexpected};\n\
         use crate::entries::Reader;\n\nimpl Reader<'_> {\n",
    );
    for key in model.types.keys().filter(|key| has_steps(model, key)) {
        let (settings, is_handle) = (&model.types[key].settings, model.is(key, Kind::Handle));
        let mut checks = Vec::new();
        let path = rust_path(key) + if is_handle { "<Async>" } else { "" };
        let snake = calls::snake_of(key);
        let _ = writeln!(
            rust,
            "pub(crate) fn {snake}(&mut self, mut of: {path}) -> napi::Result<{path}> {{\n\
             for _ in 0..self.count()? {{ of = match self.text()? {{"
        );
        for setting in settings {
            if let Some((_, all)) = SEVERAL.iter().find(|(of, _)| *of == setting.name) {
                let name = &setting.name;
                let _ = writeln!(
                    rust,
                    "\"{all}\" => {{ let mut of = of; for _ in 0..self.count()? {{ of = of.{name}(self.text()?); }} of }}"
                );
                checks.push(format!("    {all}: check.someTexts"));
                continue;
            }
            let js_name = option_name(setting);
            let types = setting.params.iter().map(|param| &param.ty);
            let read: Option<Vec<_>> = types.map(|ty| taken(model, ty)).collect();
            let Some(read) = read else { continue };
            let parts: Vec<_> = read.iter().map(|(_, rust)| rust.as_str()).collect();
            let (name, parts_of) = (&setting.name, parts.join(", "));
            let _ = writeln!(rust, "\"{js_name}\" => of.{name}({parts_of}),");
            if parts.len() < 2 && !NO_OPTIONS.contains(&&*format!("{key}.{}", setting.name)) {
                let check = read.first().map_or("check.flag", |(js, _)| js);
                checks.push(format!("    {js_name}: {check}"));
            }
        }
        rust.push_str("other => return Err(unexpected(other)),\n}; }\nOk(of)\n}\n\n");
        let js_key = camel(&snake);
        let _ = writeln!(js, "  {js_key}: {{\n{}\n  }},", checks.join(",\n"));
    }
    output.add("node/lib/generated/options.js", js.trim_end_matches(",\n").to_owned() + "\n}\n");
    output.add_rust("node/src/generated/options.rs", rust + "}\n");
}

/// The name of an option in JavaScript.
fn option_name(setting: &Setting) -> String {
    if let Some((_, all)) = SEVERAL.iter().find(|(of, _)| *of == setting.name) {
        return (*all).to_owned();
    }
    match (&*setting.name, &*setting.params) {
        ("value" | "content", _) => "json".to_owned(),
        ("after", [param]) if param.ty == Type::Duration => "delayMs".to_owned(),
        (name, [param]) => camel(&js_name_of(name, &param.ty)),
        (name, _) => camel(name),
    }
}

/// The setters that are options in JavaScript.
pub(crate) fn option_names<'a>(model: &'a Model, key: &str) -> Vec<(String, &'a Setting)> {
    let settings = model.types[key].settings.iter();
    let known = settings
        .filter(|of| of.params.len() < 2 && !NO_OPTIONS.contains(&&*format!("{key}.{}", of.name)));
    let known = known.filter(|of| of.params.iter().all(|param| taken(model, &param.ty).is_some()));
    known.map(|of| (option_name(of), of)).collect()
}

/// How a value that an option takes is checked, and how Rust reads it.
fn taken(model: &Model, ty: &Type) -> Option<(String, String)> {
    let (js, rust) = match ty {
        Type::Bool => ("check.flag", "true"),
        Type::Float => ("check.number", "self.number()?"),
        Type::Text => ("check.text", "self.text()?"),
        Type::Bytes => ("check.bytes", "self.bytes()?"),
        Type::Named(key) if model.texts.contains(key) => {
            return Some(("check.text".to_owned(), format!("self.{}()?", calls::snake_of(key))));
        }
        // Beyond its range it becomes the largest, which the core refuses when the call is made.
        Type::Option(of) if **of == Type::Number(8) => {
            ("check.smallSize", "Some(self.number()? as u8)")
        }
        Type::Number(8) => ("check.byte", "self.number()? as u8"),
        Type::Number(16) => ("check.smallSize", "self.number()? as u16"),
        Type::Number(32) => ("check.smallSize", "self.number()? as u32"),
        Type::Number(_) | Type::Size => ("check.wholeNumber", "self.count()? as _"),
        Type::Duration => ("check.milliseconds", "duration(self.number()?)"),
        Type::List(_) => ("check.headers", "self.pairs()?"),
        Type::Option(of) if **of == Type::Bool => ("check.choice", "self.number()? != 0.0"),
        Type::Option(inner) => {
            return taken(model, inner).map(|(js, rust)| (js, format!("Some({rust})")));
        }
        Type::Named(key) if model.enums.contains_key(key) && !IN_URLS.contains(&&**key) => {
            let path = rust_path(key);
            let variants = model.enums[key].variants.iter().map(|(name, _)| name);
            let js: Vec<_> =
                variants.clone().map(|name| format!("'{}'", name.to_lowercase())).collect();
            let arms =
                variants.map(|name| format!("\"{}\" => {path}::{name},", name.to_lowercase()));
            let arms = arms.collect::<String>();
            let rust =
                format!("match self.text()? {{ {arms} other => return Err(unexpected(other)) }}");
            return Some((format!("check.oneOf({})", js.join(", ")), rust));
        }
        Type::Named(key) if model.is(key, Kind::Record) => {
            let fields = model.types[key].fields.iter().map(|field| {
                let is_owned = matches!(field.ty, Type::Text | Type::Bytes);
                let into = if is_owned { ".into()" } else { "" };
                Some(format!("{}: {}{into}", field.name, taken(model, &field.ty)?.1))
            });
            let fields = fields.collect::<Option<Vec<_>>>()?.join(", ");
            let parts = model.types[key].fields.iter();
            let parts =
                parts.map(|of| Some(format!("{}: {}", js_name(key, of), taken(model, &of.ty)?.0)));
            let parts = parts.collect::<Option<Vec<_>>>()?.join(", ");
            return Some((
                format!("check.parts({{ {parts} }})"),
                format!("{} {{ {fields} }}", rust_path(key)),
            ));
        }
        _ => return None,
    };
    Some((js.to_owned(), rust.to_owned()))
}
