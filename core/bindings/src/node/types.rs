//! Node's `index.d.ts`, from `node/scripts/declarations.d.ts`: what a program can write is there by hand, and the
//! core's comments are put before it.
//!
//! - A declaration without a comment gets the core's; one with `/**` keeps its own; of one with `/**+` the
//!   comment comes after the core's.
//! - `//! tasks.Worker` behind `export interface … {` names what it is in the core, if its name does not.
//! - `//! fields tasks.Task -value` and `//! errors` are declarations from the core.

use std::collections::BTreeSet;

use crate::bytes::Bytes;
use crate::docs::{Docs, Renderer, Words, camel, grouped, snake, wrap};
use crate::model::{ErrorKind, Kind, Model, Setting, Type, Value, own_name};
use crate::node::calls::{Argument, Call, calls};
use crate::node::names::{DISTINCT, NAMES};
use crate::node::{js_name, option_names};

const WIDTH: usize = 100;

/// The names that are declared, and their members as `Name.member`.
struct Declared(BTreeSet<String>);

impl Words for Declared {
    fn none(&self) -> String {
        "null".to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!("{{@link {}Error}}", error.ident)
    }

    fn item(&self, key: &str, text: &str) -> String {
        let name = node_name(key);
        if self.0.contains(name) { format!("{{@link {name}}}") } else { self.code(text) }
    }

    fn member(&self, _: &str, key: &str, member: &str, text: &str) -> String {
        let name = format!("{}.{}", node_name(key), camel(member));
        let is_name = text.rsplit("::").next() == Some(member);
        match (self.0.contains(&name), is_name) {
            (true, true) => format!("{{@link {name}}}"),
            (true, false) => format!("{{@link {name} | {text}}}"),
            (false, true) => self.code(member),
            (false, false) => text.to_owned(),
        }
    }

    fn code(&self, text: &str) -> String {
        if let Some((_, variant)) = text.split_once("::") {
            return format!("`'{}'`", variant.to_lowercase());
        }
        let is_name =
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        format!("`{}`", if is_name { camel(text) } else { text.to_owned() })
    }
}

/// The name of a type in Node.
pub(crate) fn node_name(key: &str) -> &str {
    let known = NAMES.iter().find(|(core, _)| *core == key).map(|(_, name)| *name);
    known.unwrap_or_else(|| own_name(key))
}

/// The name of a type in generated code, where only some are called otherwise than in the core.
pub(crate) fn code_name(key: &str) -> &str {
    if DISTINCT.contains(&key) { node_name(key) } else { own_name(key) }
}

pub(crate) fn declarations(model: &Model, template: &str) -> String {
    let (mut declared, mut by_hand) = (BTreeSet::new(), BTreeSet::new());
    let mut owner = String::new();
    for line in template.lines() {
        match declaration(line) {
            Some((name, true)) => owner = name.to_owned(),
            Some((name, false)) => _ = declared.insert(format!("{owner}.{name}")),
            None => match line.trim().strip_prefix("//! method ") {
                Some(name) => _ = by_hand.insert(format!("{owner}.{name}")),
                None => continue,
            },
        }
        declared.insert(owner.clone());
    }
    by_hand.extend(declared.iter().cloned());
    // What is generated can be named in comments as well.
    let classes = model.types.iter().filter(|(_, of)| of.kind == Kind::Handle);
    for (key, _) in classes {
        if !declared.contains(node_name(key)) {
            continue;
        }
        let calls = calls(model, key);
        declared.extend(calls.iter().map(|call| format!("{}.{}", node_name(key), call.js)));
    }
    declared.extend(model.errors.iter().map(|error| format!("{}Error", error.ident)));
    let words = Declared(declared);
    let (out, owner) = Default::default();
    let mut page = Page { model, words: &words, template, by_hand, out, owner };
    let (mut own, mut last): (Option<Vec<&str>>, String) = Default::default();
    for line in template.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("//! method ") {
            page.methods(Some(name), own.take());
        } else if let Some(directive) = trimmed.strip_prefix("//! ") {
            page.directive(directive);
        } else if trimmed.starts_with("/**") || (own.is_some() && trimmed.starts_with('*')) {
            own.get_or_insert_default().push(trimmed);
        } else {
            let is_open = page.owner.head.contains('{');
            let found = declaration(line).filter(|(_, is_top)| *is_top || is_open);
            if let Some((name, is_top)) = found {
                if is_top {
                    page.owner = page.owner_of(name, line);
                }
                let place = format!("{}.{name}", page.owner.key);
                page.comment(name, line, own.take(), place == last);
                last = place;
            } else if let Some(lines) = own.take() {
                page.hand(line, &lines);
            }
            page.out.push(line.split(" //! ").next().unwrap_or(line).to_owned());
        }
    }
    page.out.join("\n") + "\n"
}

/// The name that a line declares, and whether it is no member of another.
fn declaration(line: &str) -> Option<(&str, bool)> {
    let (is_top, rest) = match line.strip_prefix("export ") {
        Some(rest) if rest.starts_with("interface") && rest.ends_with("{}") => return None,
        Some(rest) => (true, rest.split_once(' ')?.1),
        None => (false, line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?),
    };
    let rest = rest.trim_start_matches("static ").trim_start_matches("readonly ");
    let end = rest.find(|c: char| !c.is_alphanumeric())?;
    let is_member = rest[end..].starts_with(['(', '<', ':', '?']) && &rest[..end] != "constructor";
    (end > 0 && (is_top || is_member)).then_some((&rest[..end], is_top))
}

/// The class or the interface that is open.
#[derive(Default)]
struct Owner {
    key: String,
    is_class: bool,
    /// Its first line, which names its type parameters.
    head: String,
}

struct Page<'a> {
    model: &'a Model,
    words: &'a Declared,
    template: &'a str,
    /// What has a comment or a signature of its own.
    by_hand: BTreeSet<String>,
    out: Vec<String>,
    owner: Owner,
}

impl Page<'_> {
    fn owner_of(&self, name: &str, line: &str) -> Owner {
        let named = line.split_once(" //! ").map(|(_, key)| key.to_owned());
        let key = named.or_else(|| self.model.key_of(|key| node_name(key) == name));
        let (is_class, head) = (line.starts_with("export class"), line.to_owned());
        Owner { key: key.unwrap_or_else(|| format!("node.{name}")), is_class, head }
    }

    /// The comment of a declaration; one with the name of the last is another form of it.
    fn comment(&mut self, name: &str, line: &str, own: Option<Vec<&str>>, is_again: bool) {
        match own {
            Some(lines) if lines[0] != "/**+" => self.hand(line, &lines),
            None if is_again || line.contains("private ") => {}
            own => {
                let mut text = self.core(name, line).unwrap_or_else(|| {
                    panic!("declarations.d.ts: the core says nothing of {}.{name}", self.owner.key)
                });
                self.name_units(line, &mut text);
                let lines = own.unwrap_or_default();
                let more = lines.iter().skip(1).filter(|line| **line != "*/");
                let more: Vec<_> =
                    more.map(|line| line.trim_start_matches('*').to_owned()).collect();
                if !more.is_empty() {
                    text.push(format!("\n{}", more.join("\n")));
                }
                self.write(indent_of(line), &text);
            }
        }
    }

    fn hand(&mut self, line: &str, lines: &[&str]) {
        let indent = indent_of(line);
        for (index, text) in lines.iter().enumerate() {
            self.out.push(format!("{indent}{}{text}", if index > 0 { " " } else { "" }));
        }
    }

    /// What the core says of a declaration: paragraphs, and what is thrown.
    fn core(&self, name: &str, line: &str) -> Option<Vec<String>> {
        let (model, key) = (self.model, self.owner.key.as_str());
        let renderer = Renderer { model, words: self.words, owner: key };
        let of = model.types.get(key)?;
        if line.starts_with("export ") {
            return Some(renderer.text(&of.docs));
        }
        let snake = snake(name);
        // `docInserts` is several of what `insert_doc` takes.
        let one = snake.strip_prefix("doc_").map_or(snake.clone(), |rest| format!("{rest}_doc"));
        let one = one.trim_end_matches('s').replace("s_", "_");
        let names = [&*snake, snake.trim_end_matches("_ms"), &*one, "value", "content"];
        let names = &names[..if name == "json" { 5 } else { 3 }];
        if let Some(method) = of.methods.iter().find(|of| names.contains(&&*of.name)) {
            return Some(self.method(&renderer, &method.name, &method.docs, line));
        }
        if let Some(setting) = of.settings.iter().find(|of| names.contains(&&*of.name)) {
            return Some(setting_text(&renderer, setting));
        }
        let field = of.fields.iter().find(|field| names.contains(&&*field.name))?;
        Some(renderer.text(&field.docs))
    }

    fn method(&self, renderer: &Renderer<'_>, name: &str, docs: &Docs, line: &str) -> Vec<String> {
        let mut text = renderer.text(docs);
        let params = line.split_once('(').map_or("", |(_, rest)| rest);
        let params = params.split(", ").filter_map(|param| param.split([':', '?']).next());
        let tag = |name: &str, of: &str, docs: &str| {
            let unit = if of.ends_with("Ms") { ", in milliseconds" } else { "" };
            format!("@param {name} - {}{unit}", renderer.inline(docs))
        };
        let mut tags: Vec<_> = params
            .filter_map(|param| {
                let words = self.model.surface.of(
                    &self.owner.key,
                    name,
                    snake(param).trim_end_matches("_ms"),
                )?;
                Some(tag(param, param, &words.docs))
            })
            .collect();
        let call = calls(self.model, &self.owner.key).into_iter();
        let options = call.filter(|call| call.name == name).flat_map(|call| {
            let own = call.args.into_iter().filter(|arg| arg.is_option && !arg.is_steps);
            own.chain(call.variant.map(|of| of.option)).collect::<Vec<_>>()
        });
        tags.extend(options.filter_map(|of| {
            let is_there =
                ['{', ';'].map(|before| line.contains(&format!("{before} {}?: ", of.js)));
            is_there.contains(&true).then_some(())?;
            let words = self.model.surface.of(&self.owner.key, name, &of.core)?;
            Some(tag(&format!("options.{}", of.js), &of.js, &words.docs))
        }));
        let of = self.model.types.get(&self.owner.key);
        if of.is_some_and(|of| of.methods.iter().any(|of| of.name == name && of.returns.is_time()))
        {
            tags.push("@returns the time in milliseconds, which need not be whole".to_owned());
        }
        let errors = renderer.blocks(docs.section("Errors"));
        tags.extend(errors.iter().map(|error| format!("@throws {error}")));
        text.extend(tags);
        text
    }

    /// Where the core says `ttl`, the parameter is `ttlMs`: of the method in this line, and of the one that makes such
    /// an object.
    fn name_units(&self, line: &str, text: &mut [String]) {
        let own = line.split([' ', '(', ':', '?']).filter_map(|word| word.strip_suffix("Ms"));
        let methods = self.model.types.values().flat_map(|of| &of.methods);
        let makes = methods.filter(|of| of.returns.named() == Some(&self.owner.key));
        let called = line.trim_start().split('(').next().unwrap_or_default();
        let of = self.model.types.get(&self.owner.key);
        let called =
            of.into_iter().flat_map(|of| &of.methods).filter(|of| camel(&of.name) == called);
        let times = makes.chain(called).flat_map(|of| &of.params);
        let times = times.filter(|of| of.ty == Type::Duration).map(|of| camel(&of.name));
        for name in own.map(str::to_owned).chain(times) {
            for block in &mut *text {
                *block = block.replace(&format!("`{name}`"), &format!("`{name}Ms`"));
            }
        }
    }

    /// The methods of the class that follow from the core's: one, whose comment goes on as `own` says, or all others.
    fn methods(&mut self, name: Option<&str>, own: Option<Vec<&str>>) {
        let class = node_name(&self.owner.key).to_owned();
        let mut calls = calls(self.model, &self.owner.key);
        calls.retain(|call| match name {
            Some(name) => call.js == name,
            None => !self.by_hand.contains(&format!("{class}.{}", call.js)),
        });
        assert!(!calls.is_empty(), "declarations.d.ts: {class} has no {name:?}");
        for call in calls {
            let (params, returns) = self.signature(&call);
            let line = format!("  {}({}): {returns}", params[0], params[1..].join(", "));
            if self.out.last().is_some_and(|line| !line.is_empty()) {
                self.out.push(String::new());
            }
            self.comment(&call.js, &line, own.clone(), false);
            if let (Some(made), true) = (&call.made, call.has_buffers) {
                self.overloads(made, &params);
            } else if line.len() <= WIDTH {
                self.out.push(line);
            } else {
                self.out.push(format!(
                    "  {}(\n    {}\n  ): {returns}",
                    params[0],
                    params[1..].join(",\n    ")
                ));
            }
        }
    }

    /// The forms of a method whose options say what results hold.
    fn overloads(&mut self, made: &str, params: &[String]) {
        let taken = params.last().and_then(|last| last.strip_prefix("options?: "));
        let (params, taken) = match taken {
            Some(taken) => (&params[..params.len() - 1], format!("{taken} & ")),
            None => (params, String::new()),
        };
        let forms = [
            ("?: ", "{ returnBuffers?: undefined }", format!("{made}<T>")),
            (": ", "{ returnBuffers: false }", format!("{made}<string>")),
            (": ", "{ returnBuffers: true }", format!("{made}<Buffer>")),
            ("?: ", "ResultOptions", format!("{made}<string> | {made}<Buffer>")),
        ];
        for (mark, option, returns) in forms {
            let options = format!("options{mark}{taken}{option}");
            let all = [&params[1..], &[options]].concat().join(",\n    ");
            self.out.push(format!("  {}(\n    {all}\n  ): {returns}", params[0]));
        }
    }

    /// The name with its type parameters, the parameters, and what is returned.
    fn signature(&self, call: &Call) -> (Vec<String>, String) {
        let is_modification = call.args.iter().any(|arg| arg.ts == "Modification<T>");
        let holds = |of: &str| self.holds(&call.returns, of);
        let is_store = self.owner.key == "tasks.TaskStore" && !is_modification;
        let (generic, of) = match () {
            () if holds("tasks.Task") => {
                if is_store {
                    ("<V = T>", "<V>")
                } else {
                    ("", "<T>")
                }
            }
            () if holds("tasks.Doc") => ("<C = any>", "<C>"),
            () => ("", "<T>"),
        };
        let mut params = vec![format!("{}{generic}", call.js)];
        let is_job = self.owner.key == "tasks.Job";
        let places = call.args.iter().filter(|arg| !arg.is_option).map(|arg| {
            let ty = if is_job { arg.ts.replace("<T>", "") } else { arg.ts.clone() };
            format!("{}{}: {ty}", arg.js, if arg.default.is_some() { "?" } else { "" })
        });
        params.extend(places);
        let said = |of: &[&Argument]| {
            let others = if call.is_call { "CallOptions & " } else { "" };
            let fields = of.iter().map(|of| format!("{}?: {} | undefined", of.js, of.ts));
            format!("{others}{{ {} }}", fields.collect::<Vec<_>>().join("; "))
        };
        let all: Vec<_> = call.args.iter().filter(|arg| arg.is_option).collect();
        let named = all.first().map(|arg| match &*arg.js {
            "leaseMs" => "LeaseOptions".to_owned(),
            "deadline" => "TrackedOptions".to_owned(),
            _ if arg.is_steps => node_name(&arg.steps).to_owned(),
            _ => said(&all),
        });
        let made = call.made.as_deref().map(|made| format!("{made}Options"));
        let option = call.variant.as_ref().map(|of| said(&[&of.option]));
        let options = option.or(named);
        let options = match made {
            Some(made) if self.template.contains(&format!("interface {made} ")) => Some(made),
            _ => options.or(call.is_call.then(|| "CallOptions".to_owned())),
        };
        params.extend(options.map(|options| format!("options?: {options}")));
        let returns = match (&call.made, &call.returns) {
            (Some(made), Type::Option(_)) => format!("{} | null", self.named(made, of)),
            (Some(made), _) => self.named(made, of),
            (_, Type::List(pairs)) if matches!(&**pairs, Type::Tuple(_)) => {
                "Map<string, number>".to_owned()
            }
            _ if is_job => self.ty(&call.returns, if of == "<T>" { "" } else { of }),
            _ => self.ty(&call.returns, of),
        };
        (params, if call.is_call { format!("Promise<{returns}>") } else { returns })
    }

    /// Whether there are such records in a type, in its fields, or in what a loop yields.
    fn holds(&self, ty: &Type, record: &str) -> bool {
        ty.keys().into_iter().any(|key| {
            let of = self.model.types.get(key);
            let parts =
                of.iter().flat_map(|of| of.fields.iter().map(|field| &field.ty).chain(&of.item));
            key == record || parts.into_iter().any(|part| self.holds(part, record))
        })
    }

    /// A type with its parameter, if it has one; `of` is what it is where the type is about tasks or documents.
    fn named(&self, name: &str, of: &str) -> String {
        let find = |letter: &str| {
            ["class", "interface", "type"]
                .iter()
                .any(|kind| self.template.contains(&format!("{kind} {name}<{letter}")))
        };
        match (find("T"), find("C")) {
            (true, _) => format!("{name}{of}"),
            (_, true) if of == "<C>" || self.owner.head.contains("<C") => format!("{name}<C>"),
            _ => name.to_owned(),
        }
    }

    /// The options that its setters are.
    fn settings(&self, key: &str, skipped: &[&str]) -> Vec<(String, Vec<String>)> {
        let renderer = Renderer { model: self.model, words: self.words, owner: key };
        let class = node_name(self.owner.head.split([' ', '<']).nth(2).unwrap_or("")).to_owned();
        let all = option_names(self.model, key).into_iter();
        let all = all.filter(|(name, _)| !skipped.contains(&&**name));
        let all = all.filter(|(name, _)| !self.by_hand.contains(&format!("{class}.{name}")));
        let lines = all.map(|(name, setting)| {
            let ty = match setting.params.first().map(|param| &param.ty) {
                None => "boolean".to_owned(),
                Some(_) if ["exact", "prefixes"].contains(&&*name) => "Iterable<string>".to_owned(),
                Some(Type::Duration) => "number".to_owned(),
                Some(Type::List(_)) => "Fields".to_owned(),
                Some(Type::Bytes) => "Member".to_owned(),
                Some(ty) if ty.is_whole() => "number | bigint".to_owned(),
                Some(ty) => self.ty(ty, ""),
            };
            (format!("  {name}?: {ty} | undefined"), setting_text(&renderer, setting))
        });
        lines.collect()
    }

    fn directive(&mut self, directive: &str) {
        let mut parts = directive.split(' ');
        let (kind, key) = (parts.next(), parts.next().unwrap_or(""));
        let skipped: Vec<_> =
            directive.split(' ').filter_map(|part| part.strip_prefix('-')).collect();
        let renderer = Renderer { model: self.model, words: self.words, owner: key };
        let mut lines = Vec::new();
        match kind {
            Some("fields") => {
                let only_read = if self.owner.is_class { "readonly " } else { "" };
                let all = self.model.types[key].fields_and_getters().into_iter();
                for field in all.filter(|field| !skipped.contains(&&*field.name)) {
                    let ty = self.ty(&field.ty, "<T>");
                    let line = format!("  {only_read}{}: {ty}", js_name(key, &field));
                    lines.push((line, renderer.text(&field.docs)));
                }
            }
            Some("methods") => return self.methods(None, None),
            Some("settings") => lines = self.settings(&self.owner.key, &skipped),
            Some("errors") => {
                for error in &self.model.errors {
                    let name = format!("{}Error", error.ident);
                    let line = format!("export class {name} extends MillpondError {{}}");
                    if !self.template.contains(&format!("class {name} ")) {
                        lines.push((line, renderer.text(&error.docs)));
                    }
                }
            }
            _ => panic!("declarations.d.ts: {directive} is not known"),
        }
        for (line, text) in lines {
            self.write(indent_of(&line), &text);
            self.out.push(line);
        }
    }

    fn ty(&self, ty: &Type, of: &str) -> String {
        match ty {
            Type::Unit => "void".to_owned(),
            Type::Bool => "boolean".to_owned(),
            Type::Number(_) | Type::Size | Type::Signed | Type::Float | Type::Duration => {
                "number".to_owned()
            }
            Type::Bytes if Bytes::of(&self.owner.key) == Bytes::Always => "Buffer".to_owned(),
            Type::Bytes => "T".to_owned(),
            Type::Headers => "[name: string, value: Buffer][]".to_owned(),
            Type::Option(inner) => format!("{} | null", self.ty(inner, of)),
            Type::List(inner) => match self.ty(inner, of) {
                one if one.contains(" | ") => format!("({one})[]"),
                one => format!("{one}[]"),
            },
            Type::Named(key) if key == "shuffle.Stream" => "number | null".to_owned(),
            Type::Named(key) if self.model.texts.contains(key) => "string".to_owned(),
            Type::Named(key) if self.template.contains(&format!(" {}", node_name(key))) => {
                self.named(node_name(key), of)
            }
            Type::Named(key) if self.model.enums.contains_key(key) => {
                let words = self.model.enums[key].words();
                words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" | ")
            }
            Type::Named(key) if self.model.is(key, Kind::Record) => {
                let parts = self.model.types[key].fields_and_getters().into_iter();
                let parts =
                    parts.map(|of| format!("{}: {}", js_name(key, &of), self.ty(&of.ty, "")));
                format!("{{ {} }}", parts.collect::<Vec<_>>().join("; "))
            }
            _ => "string".to_owned(),
        }
    }

    fn write(&mut self, indent: &str, text: &[String]) {
        let one = format!("{indent}/** {} */", text.join(""));
        if text.len() == 1 && one.len() <= WIDTH && !one.contains('\n') {
            self.out.push(one);
            return;
        }
        self.out.push(format!("{indent}/**"));
        for (index, block) in text.iter().enumerate() {
            let is_next = index > 0 && text[index - 1].starts_with(['@', '-']);
            if index > 0 && !(is_next && block.starts_with(['@', '-'])) {
                self.out.push(format!("{indent} *"));
            }
            let lines = match block.strip_prefix('\n') {
                Some(own) => own
                    .lines()
                    .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
                    .collect(),
                None => block
                    .replace("{@link ", "{@link\u{a0}")
                    .lines()
                    .flat_map(|line| wrap(line, WIDTH - 3 - indent.len()))
                    .map(|line| line.replace('\u{a0}', " "))
                    .collect::<Vec<_>>(),
            };
            self.out.extend(
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned()),
            );
        }
        self.out.push(format!("{indent} */"));
    }
}

/// What the core says of a setting, with its unit and its default if that is not said.
fn setting_text(renderer: &Renderer<'_>, of: &Setting) -> Vec<String> {
    let mut text = renderer.text(&of.docs);
    let default = match of.default {
        Value::Number(number) | Value::Duration(number) => Some(grouped(number)),
        _ => None,
    };
    let default = default.filter(|_| !text.join(" ").contains("default"));
    let is_time = of.params.first().is_some_and(|param| param.ty == Type::Duration);
    let more = match (is_time, default) {
        (true, Some(default)) => format!(" In milliseconds; {default} by default."),
        (true, None) => " In milliseconds.".to_owned(),
        (false, Some(default)) => format!(" It is {default} by default."),
        (false, None) => String::new(),
    };
    if let Some(first) = text.first_mut() {
        first.push_str(&more);
    }
    text
}

fn indent_of(line: &str) -> &'static str {
    if line.starts_with(' ') { "  " } else { "" }
}
