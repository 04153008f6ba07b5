//! Nothing is silent: each public item of the core is in each host, or the host's page in `hosts` says where else it
//! is, or why it is not there at all.
//!
//! A page is Markdown. A heading names a type of the core, and a line under it one of its members:
//!
//! ```text
//! # tasks.Worker
//! in `TaskStore.worker`, `Worker.run`
//! - `claim_many` = `TaskStore.claim`
//! - `tell_all`: what `on_event` sets
//! ```
//!
//! `in` says where the members of a type are if there is no class of its name, and text on a line of its own why a
//! host has nothing of the type. What a page says and nobody needs is an error too.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::c::abi::CAbi;
use crate::c::functions::function_name;
use crate::declared::{Declared, PHP, PYTHON, RBS, Syntax, TYPESCRIPT};
use crate::docs::camel;
use crate::model::{Enum, Kind, Method, Model, Param, Type};
use crate::node::types::node_name;
use crate::output::Output;
use crate::{c, php, python, ruby};

/// A host, and what it calls things.
pub(crate) struct Host<'a> {
    /// As its page is called.
    pub(crate) name: &'a str,
    pub(crate) declared: Declared,
    /// The class of a type by its key.
    pub(crate) class: &'a dyn Fn(&str) -> Option<String>,
    /// Where a method is, by the key of its type: `TaskStore.claim`.
    pub(crate) method: &'a dyn Fn(&str, &str) -> Option<String>,
    /// What a field, an option or a parameter can be called.
    pub(crate) spelled: &'a dyn Fn(&str) -> Vec<String>,
    /// Whether it has this value of an enum, by its key.
    pub(crate) has_value: &'a dyn Fn(&str, &str) -> bool,
}

/// What a page says of a type.
#[derive(Default)]
struct Entry {
    places: Vec<String>,
    reason: String,
    members: BTreeMap<String, Member>,
}

enum Member {
    Is(String),
    Absent,
}

/// What hosts lack and do not say so, each with what to do about it.
pub(crate) fn missing(root: &Path, model: &Model, abi: &CAbi, output: &Output) -> Vec<String> {
    let texts = |folder, ending| output.folder(folder, &[ending]);
    let declared = |syntax: &Syntax, files: &BTreeMap<String, String>| {
        let mut declared = Declared::default();
        files.values().for_each(|text| declared.add(syntax, text));
        declared
    };
    // Whether one list of texts has all values of an enum, each in these quotes.
    let lists = |files: &BTreeMap<String, String>, key: &str, quote: char| {
        let words = model.enums.get(key).map(Enum::words).unwrap_or_default();
        let ends = ['[', ']', ':', '=', ';', '(', ')', '<', '>', '/'];
        let mut parts = files.values().flat_map(|text| text.split(ends));
        parts.any(|part| words.iter().all(|word| part.contains(&format!("{quote}{word}{quote}"))))
    };
    let has =
        |files: &BTreeMap<String, String>, text: &str| files.values().any(|of| of.contains(text));
    let dotted = |class: &str, method: &str| Some(format!("{class}.{method}"));

    let mut python_files = output.folder("python/python/millpond", &[".py", ".pyi"]);
    // The native module, which programs do not see.
    python_files.retain(|path, _| !path.ends_with("/_handles.pyi"));
    let python = Host {
        name: "python",
        declared: declared(&PYTHON, &python_files),
        class: &|key| Some(python::class_name(key).to_owned()),
        method: &|key, method| dotted(python::class_name(key), method),
        spelled: &|name| {
            vec![
                name.to_owned(),
                after(name),
                format!("{name}_ms"),
                name.trim_start_matches("is_").to_owned(),
                format!("{name}Error"),
            ]
        },
        has_value: &|key, _| lists(&python_files, key, '"'),
    };
    let node_files = BTreeMap::from(
        [("", output.text("node/index.d.ts"))].map(|(path, text)| (path.to_owned(), text)),
    );
    let node = Host {
        name: "node",
        declared: declared(&TYPESCRIPT, &node_files),
        class: &|key| Some(node_name(key).to_owned()),
        method: &|key, method| dotted(node_name(key), &camel(method)),
        spelled: &|name| {
            let ms = |name: &str| camel(&format!("{name}_ms"));
            vec![
                camel(name),
                ms(name),
                ms(&after(name)),
                camel(name.trim_start_matches("is_")),
                format!("{name}Error"),
            ]
        },
        has_value: &|key, _| lists(&node_files, key, '\''),
    };
    let ruby_files = texts("ffi/ruby/sig", ".rbs");
    let ruby_sources = texts("ffi/ruby/lib", ".rb");
    let ruby = Host {
        name: "ruby",
        declared: declared(&RBS, &ruby_files),
        class: &|key| Some(ruby::name(key)),
        method: &|key, method| {
            let name = ruby::find(ruby::names::NAMES, &format!("{key}.{method}")).unwrap_or(method);
            dotted(&ruby::name(key), name)
        },
        spelled: &|name| {
            vec![
                name.to_owned(),
                after(name),
                format!("{name}?"),
                format!("{}?", name.trim_start_matches("is_")),
                format!("{name}Error"),
            ]
        },
        has_value: &|_, word| {
            [format!(":{word}"), format!(" {word} "), format!(" {word}]"), format!("[{word} ")]
                .iter()
                .any(|text| has(&ruby_sources, text))
        },
    };
    let php_files = texts("ffi/php/src", ".php");
    let php = Host {
        name: "php",
        declared: declared(&PHP, &php_files),
        class: &|key| Some(php::class(key).to_owned()),
        method: &|key, method| dotted(php::class(key), &camel(method)),
        spelled: &|name| {
            vec![
                camel(name),
                php::property(name),
                camel(name.trim_start_matches("is_")),
                format!("{name}Exception"),
            ]
        },
        has_value: &|_, name| has(&php_files, &format!("case {name} = ")),
    };
    let mut in_c = Declared::default();
    for of in &abi.structs {
        of.fields.iter().for_each(|(field, _)| in_c.insert(&of.name, field, []));
    }
    for of in &abi.functions {
        in_c.insert("", &of.name, of.params.iter().map(|(name, _)| name.clone()));
    }
    let c_files = texts("ffi/src", ".rs");
    let c = Host {
        name: "c",
        declared: in_c,
        class: &|key| {
            c::has_struct(key).then(|| c::c_struct(key).trim_start_matches("millpond_").to_owned())
        },
        method: &|key, method| {
            let of_worker =
                key.strip_suffix(".Worker").map(|queue| format!(".{queue}_worker_{method}"));
            let name = function_name(model, key, method);
            name.map(|name| name.replacen("millpond_", ".", 1)).or(of_worker)
        },
        spelled: &|name| {
            let own = after(name);
            let ends = ["", "_ms", "_s", "_name", "_count"];
            ends.iter().flat_map(|end| [format!("{name}{end}"), format!("{own}{end}")]).collect()
        },
        has_value: &|key, name| {
            let error = (key == "client.Error").then(|| format!("MILLPOND_{name} = "));
            c::value(key, name).or(error).is_some_and(|name| has(&c_files, &name))
        },
    };
    let all = Page::read(root, "all");
    let hosts = [python, node, ruby, php, c];
    let mut missing: Vec<_> =
        hosts.iter().flat_map(|host| missing_in(root, model, &all, host)).collect();
    missing.extend(all.unused());
    missing
}

fn missing_in(root: &Path, model: &Model, all: &Page, host: &Host<'_>) -> Vec<String> {
    let page = Page::read(root, host.name);
    let check = Check { model, host, pages: [&page, all] };
    let mut missing: Vec<_> = check.types().iter().flat_map(|key| check.of_type(key)).collect();
    missing.extend(check.errors());
    let missing = missing.into_iter().map(|(item, why)| {
        format!("{}: {item} {why}: write it there, or say why in {}", host.name, page.path)
    });
    missing.chain(page.unused()).collect()
}

/// A page, and what of it was of use.
struct Page {
    path: String,
    entries: BTreeMap<String, Entry>,
    used: RefCell<BTreeSet<String>>,
}

impl Page {
    fn read(root: &Path, name: &str) -> Self {
        let path = format!("core/bindings/hosts/{name}.md");
        let text = std::fs::read_to_string(root.join(&path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let (mut entries, mut key) = (BTreeMap::<String, Entry>::new(), String::new());
        let code =
            |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        for line in text.lines() {
            let entry = entries.entry(key.clone()).or_default();
            if let Some(heading) = line.strip_prefix("# ") {
                heading.trim().clone_into(&mut key);
            } else if line.starts_with("in `") {
                entry.places = code(line);
            } else if let Some(rest) = line.strip_prefix("- `") {
                let (member, rest) =
                    rest.split_once('`').unwrap_or_else(|| panic!("{path}: {line}"));
                let said = match rest.strip_prefix(" = `").and_then(|name| name.strip_suffix('`')) {
                    Some(name) => Member::Is(name.to_owned()),
                    None if rest.starts_with(": ") => Member::Absent,
                    None => {
                        panic!("{path}: {line} says neither what it is called nor why it is absent")
                    }
                };
                entry.members.insert(member.to_owned(), said);
            } else if !line.starts_with("  ") && !key.is_empty() {
                entry.reason += line;
            }
        }
        entries.remove("");
        Self { path, entries, used: RefCell::default() }
    }

    /// What it says in vain.
    fn unused(&self) -> Vec<String> {
        let used = self.used.borrow();
        let items = self.entries.iter().flat_map(|(key, entry)| {
            let is_of_type = !entry.reason.is_empty() || !entry.places.is_empty();
            let members = entry.members.keys().map(move |member| format!("{key}.{member}"));
            is_of_type.then(|| key.clone()).into_iter().chain(members)
        });
        let unused = items.filter(|item| !used.contains(item));
        unused.map(|item| format!("{}: what is said of {item} is not needed", self.path)).collect()
    }

    fn is_used(&self, item: &str) {
        self.used.borrow_mut().insert(item.to_owned());
    }
}

struct Check<'a> {
    model: &'a Model,
    host: &'a Host<'a>,
    /// The host's own, and that of all.
    pages: [&'a Page; 2],
}

/// An item, and what is wrong about it.
type Missing = (String, String);

impl Check<'_> {
    /// The handles, and the types that are reached from them.
    fn types(&self) -> BTreeSet<String> {
        let handles = self.model.types.iter().filter(|(_, of)| of.kind == Kind::Handle);
        let mut open: Vec<_> = handles.map(|(key, _)| key.clone()).collect();
        let mut found = BTreeSet::new();
        while let Some(key) = open.pop() {
            if !found.insert(key.clone()) {
                continue;
            }
            let Some(of) = self.model.types.get(&key) else { continue };
            let params = of.methods.iter().flat_map(|method| &method.params).map(|param| &param.ty);
            let set = of
                .settings
                .iter()
                .flat_map(|of| &of.params)
                .chain(&of.required)
                .map(|param| &param.ty);
            let fields = of.fields.iter().map(|field| &field.ty);
            let returned = of.methods.iter().map(|method| &method.returns);
            let types = params.chain(set).chain(fields).chain(returned).chain(&of.item);
            open.extend(types.flat_map(Type::keys).map(str::to_owned));
        }
        found
    }

    fn of_type(&self, key: &str) -> Vec<Missing> {
        for page in self.pages {
            if page.entries.get(key).is_some_and(|entry| !entry.reason.is_empty()) {
                page.is_used(key);
                return Vec::new();
            }
        }
        let mut missing = Vec::new();
        if let Some(of) = self.model.enums.get(key) {
            for ((name, _), word) in of.variants.iter().zip(of.words()) {
                if !(self.host.has_value)(key, name) && !(self.host.has_value)(key, &word) {
                    missing.extend(self.unless_said(key, name, "has no value there"));
                }
            }
        }
        let Some(of) = self.model.types.get(key) else { return missing };
        let places = self.places(key);
        let is_there = |name: &str| {
            let names = (self.host.spelled)(name);
            places.iter().any(|place| names.iter().any(|name| self.host.declared.has(place, name)))
        };
        let params = of.required.iter().map(|param| &param.name);
        let settings = of.settings.iter().map(|setting| &setting.name);
        for name in of.fields.iter().map(|field| &field.name).chain(params).chain(settings) {
            if !is_there(name) {
                missing.extend(self.unless_said(
                    key,
                    name,
                    &format!("is neither generated nor written by hand in {}", places.join(", ")),
                ));
            }
        }
        for method in of.methods.iter().filter(|method| method.has_self) {
            if !self.has_method(key, method) && !is_there(&method.name) {
                let place = (self.host.method)(key, &method.name).unwrap_or_default();
                missing.extend(self.unless_said(
                    key,
                    &method.name,
                    &format!("is neither generated nor written by hand as {place}"),
                ));
            }
            missing.extend(self.of_params(key, method));
        }
        missing
    }

    /// The parameters that a method lacks which is there.
    fn of_params(&self, key: &str, method: &Method) -> Vec<Missing> {
        let place = (self.host.method)(key, &method.name).filter(|place| self.is_there(place));
        let Some(place) = place else { return Vec::new() };
        let lacks = |param: &&Param| {
            let names = (self.host.spelled)(&param.name);
            param.ty.keys().is_empty()
                && !names.iter().any(|name| self.host.declared.has(&place, name))
        };
        let lacking = method.params.iter().filter(lacks);
        let lacking = lacking.filter_map(|param| {
            let item = format!("{}.{}", method.name, param.name);
            self.unless_said(key, &item, &format!("is not in {place}"))
        });
        lacking.collect()
    }

    /// Whether there is this method or function.
    fn is_there(&self, place: &str) -> bool {
        place.split_once('.').is_some_and(|(class, name)| self.host.declared.has(class, name))
    }

    fn has_method(&self, key: &str, method: &Method) -> bool {
        let is_there =
            |name: &str| (self.host.method)(key, name).filter(|place| self.is_there(place));
        let form = || {
            let (base, form) = self.model.form_of(key, method)?;
            let place = is_there(&base.name)?;
            let names = (self.host.spelled)(&form.option.name);
            names.iter().any(|name| self.host.declared.has(&place, name)).then_some(place)
        };
        is_there(&method.name).or_else(form).is_some()
    }

    /// Where the members of a type can be: in its class, as arguments of what makes or takes it, and where the page
    /// says.
    fn places(&self, key: &str) -> Vec<String> {
        for page in self.pages {
            if let Some(entry) = page.entries.get(key).filter(|entry| !entry.places.is_empty()) {
                page.is_used(key);
                return entry.places.clone();
            }
        }
        let class = (self.host.class)(key).filter(|class| self.host.declared.has_class(class));
        let is_it = |ty: &Type| ty.keys().contains(&key);
        let handles = self.model.types.iter().filter(|(_, of)| of.kind == Kind::Handle);
        let methods =
            handles.flat_map(|(owner, of)| of.methods.iter().map(move |method| (owner, method)));
        let takes = methods.filter(|(_, method)| {
            method.params.iter().any(|param| is_it(&param.ty))
                || !method.is_call && is_it(&method.returns)
        });
        let takes = takes.filter_map(|(owner, method)| (self.host.method)(owner, &method.name));
        class.into_iter().chain(takes).collect()
    }

    /// The item as missing, unless its page says what it is.
    fn unless_said(&self, key: &str, member: &str, why: &str) -> Option<Missing> {
        let item = format!("{key}.{member}");
        let said = self.pages.iter().find_map(|page| {
            let said = page.entries.get(key)?.members.get(member)?;
            page.is_used(&item);
            Some(said)
        });
        match said {
            Some(Member::Absent) => None,
            Some(Member::Is(name)) => {
                let is_there = name
                    .rsplit_once('.')
                    .is_some_and(|(place, name)| self.host.declared.has(place, name));
                (!is_there).then(|| (item, format!("is not there as {name}")))
            }
            None => Some((item, why.to_owned())),
        }
    }

    fn errors(&self) -> Vec<Missing> {
        let missing = self.model.errors.iter().filter(|error| {
            let names = (self.host.spelled)(&error.ident);
            let is_class = names.iter().any(|name| self.host.declared.has_class(name));
            !is_class && !(self.host.has_value)("client.Error", &error.name)
        });
        missing.map(|error| (error.name.clone(), "has no class".to_owned())).collect()
    }
}

/// What a time that is not a point in time is called in hosts.
fn after(name: &str) -> String {
    if name == "after" { "delay" } else { name }.to_owned()
}
