//! PHP: a class for each kind of error, record, enum and set of options; how records are read from the C
//! library's memory and options written to it, word by word; methods that are one call of the library; and the
//! interfaces and comments of classes. The text of files is in `ffi/php/templates`.

mod classes;
mod names;

use std::collections::BTreeSet;
use std::path::Path;

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use crate::c::abi::{CAbi, CStruct, CType};
use crate::comments::{Comment, Comments};
use crate::docs::{Words, camel, pascal, snake, wrap};
use crate::model::{ErrorKind, Kind, Model, Setting, Struct, Type, Value, own_name};
use crate::output::Output;

use crate::php::names::{CLASSES, ENUMS, NAMES, NAMESPACES, OPTIONS, OTHERS, VALUES};
use crate::templates::Templates;

pub(crate) fn emit(root: &Path, model: &Model, abi: &CAbi, output: &mut Output) {
    let words = PhpWords { model };
    let comments = Comments::new(root, model, "ffi/php/docs.md", &words);
    let templates = Templates::read(root, "ffi/php/templates");
    let mut php = Php { model, comments, abi, templates, output, known: BTreeSet::new() };
    php.known = php.names(root);
    let records_and_options = records(model).into_iter().map(|key| (key, class(key)));
    let records_and_options =
        records_and_options.chain(OPTIONS.iter().map(|(key, name, ..)| (*key, *name)));
    php.known.extend(records_and_options.map(|(key, name)| full_name(folder(key), name)));
    model.errors.iter().for_each(|error| php.exception(error));
    ENUMS.iter().for_each(|(key, name)| php.enumeration(key, name));
    records(model).into_iter().for_each(|key| php.record(key));
    php.readers();
    OPTIONS.iter().for_each(|of| php.options(of));
    php.layouts();
    let names =
        abi.structure("limits").fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    php.file("Internal", "Limits", "limits.php", context! { names });
    CLASSES.iter().for_each(|class| php.class(class));
    VALUES.iter().for_each(|(path, key)| php.revise(path, key, None));
    php.comments.overlay.finish(php.output);
}

pub(crate) struct Php<'a> {
    pub(crate) model: &'a Model,
    pub(crate) comments: Comments<'a>,
    pub(crate) abi: &'a CAbi,
    templates: Templates,
    pub(crate) output: &'a mut Output,
    /// All classes of PHP by their full names, for imports.
    known: BTreeSet<String>,
}

/// The records that calls return, and the one that calls take.
fn records(model: &Model) -> BTreeSet<&str> {
    let mut found = model.returned();
    found.insert("events.Receipt");
    found.retain(|key| !OTHERS.contains(key));
    found
}

fn is_bool(ty: &CType) -> bool {
    *ty == CType::Plain("bool".to_owned())
}

/// A parameter, of a constructor a property too unless it is the value of a JSON text.
#[derive(Default, Serialize)]
pub(crate) struct Param {
    pub(crate) name: String,
    /// As PHP declares it, and as phpdoc has it.
    pub(crate) ty: String,
    pub(crate) doc: String,
    pub(crate) default: Option<String>,
    pub(crate) text: String,
    pub(crate) promoted: String,
}

impl Php<'_> {
    fn exception(&mut self, error: &ErrorKind) {
        let class = pascal(&error.name);
        let key = format!("client.{}", error.ident);
        let is_dependency = error.name == "DEPENDENCY";
        let of = &self.model.types["tasks.Dependency"];
        let list = |field: &crate::model::Field| {
            let one = field.name.trim_end_matches('s');
            let (_, doc) = php_type(self.model, &field.ty);
            let text = self.phrase("tasks.Dependency", &field.name, field.docs.first(), "");
            let is_tasks = doc == "list<TaskId>";
            context! { name => camel(&field.name), c => &field.name, count => format!("{one}_count"), doc, text, is_tasks }
        };
        let getter = |method: &crate::model::Method| {
            context! { name => &method.name, text => self.comments.inline("tasks.Dependency", method.docs.first()) }
        };
        let values = context! {
            base => if class.starts_with("Invalid") { "InvalidArgument" } else { "Runtime" },
            docs => self.class_docs(&key, ""),
            class => &class, code => error.code, name => &error.name, retry => &error.retry,
            lists => of.fields.iter().map(list).collect::<Vec<_>>(),
            methods => of.getters().map(getter).collect::<Vec<_>>(),
        };
        let template = if is_dependency { "dependency.php" } else { "exception.php" };
        self.file("Exception", &format!("{class}Exception"), template, values);
    }

    fn enumeration(&mut self, key: &str, name: &str) {
        let case = |(case, docs): &(String, crate::docs::Docs)| {
            let comment = Comment {
                text: vec![self.comments.inline(key, docs.first())],
                ..Comment::default()
            };
            let docs = phpdoc("    ", comment, &[], &[]).join("\n");
            context! { name => case, value => snake(case).trim_start_matches('_'), docs }
        };
        let cases: Vec<_> = self.model.enums[key].variants.iter().map(case).collect();
        let values = context! { docs => self.class_docs(key, name), name, cases };
        self.file("", name, "enum.php", values);
    }

    fn record(&mut self, key: &str) {
        let (record, class) = (&self.model.types[key], class(key));
        // A test makes tasks and documents of what names them.
        let required = if ["Doc", "Task"].contains(&class) { 3 } else { record.fields.len() };
        let param = |(index, field): (usize, &crate::model::Field)| {
            let (ty, doc) = php_type(self.model, &field.ty);
            let default = match (field.name.as_str(), ty.as_str()) {
                ("deliveries", _) => Some("1"),
                ("reason", "string") => Some("''"),
                _ if index < required => None,
                (_, "int") => Some("0"),
                (_, "string") => Some("''"),
                (_, "array") => Some("[]"),
                _ => Some("null"),
            };
            let text = self.phrase(key, &field.name, field.docs.first(), &ty);
            let name = field_name(key, &field.name);
            Param { name, ty, doc, default: default.map(str::to_owned), text, promoted: promoted() }
        };
        let mut params: Vec<_> =
            record.fields_and_getters().iter().enumerate().map(param).collect();
        params.sort_by_key(|param| param.default.is_some());
        let values = context! {
            docs => self.class_docs(key, class),
            class,
            constructor_docs => block("    ", vec![param_lines(&params)]).join("\n"),
            has_methods => self.known.contains(&format!("Millpond\\Internal\\{class}Methods")),
            params => Serde(&params),
        };
        self.file(folder(key), class, "record.php", values);
    }

    /// The functions that read records from an array of structures: those of results.
    fn readers(&mut self) {
        let mut records = Vec::new();
        for (key, structure) in crate::c::results(self.abi) {
            let fields = &self.model.types[key].fields;
            let values: Vec<_> = fields.iter().map(|of| self.read(structure, of)).collect();
            let of_tasks = folder(key) == "Tasks";
            records.push(context! { values, class => class(key), of_tasks });
        }
        self.file("Internal", "ReadsRecords", "readers.php", context! { records });
    }

    /// What a field of a record is read from.
    fn read(&self, structure: &str, field: &crate::model::Field) -> String {
        // It is beside the structure.
        if let (Type::List(of), name) = (&field.ty, &field.name) {
            let (read, one) = (class(of.named().unwrap_or_default()), name.trim_end_matches('s'));
            return format!(
                "$this->all('read{read}', $this->data[0]->{one}_count, $this->data[0], '{name}', '{one}_size')"
            );
        }
        let (word, ty) = self.word(structure, &field.name);
        let at = format!("$words[$word + {word}]").replace(" + 0]", "]");
        let text = format!("\\substr($texts, {at} - $base, $words[$word + {}])", word + 1);
        let named = field.ty.named().filter(|key| self.model.enums.contains_key(*key));
        let named = named.map(|key| format!("{}::cases()[{at} - 1]", class(key)));
        match (&field.ty, ty, named) {
            (Type::Headers, ..) => format!("Headers::of({text})"),
            (Type::Option(_), CType::Named(_), _) => format!("{at} === 0 ? null : {text}"),
            (_, CType::Named(_), _) => text,
            (Type::Option(_), _, Some(case)) => format!("{at} === 0 ? null : {case}"),
            (_, _, Some(case)) => case,
            (Type::Option(of), ..) if **of == Type::Duration => {
                format!("{at} < 0 ? null : {at} / 1000")
            }
            (Type::Option(_), ..) => format!("{at} < 0 ? null : {at}"),
            (Type::Duration, ..) => format!("{at} / 1000"),
            (Type::Bool, ..) => format!("({at} & 1) === 1"),
            _ => at,
        }
    }

    fn options(&mut self, &(key, name, structure, is_packed): &(&str, &str, &str, bool)) {
        let Struct { required, settings, .. } = &self.model.types[key];
        let said = |name: &str| {
            let words = self.model.surface.of(key, "new", name);
            words.unwrap_or_else(|| panic!("surface.md has no {key} {name}")).docs.clone()
        };
        let new = |name: &str, ty: Type, default: Option<&str>, docs: &str| {
            let is_value = ty == Type::Unit;
            let promoted = if is_value || name == "json" { String::new() } else { promoted() };
            let (ty, mut doc) = php_type(self.model, &ty);
            if let Some(pairs) = doc.strip_prefix("list<array{string, string}>") {
                doc = format!("array<string, string>|list<array{{string, string}}>{pairs}");
            }
            let text = self.phrase(key, name, docs, &ty);
            let name = if is_value { name.to_owned() } else { property(name) };
            Param { name, ty, doc, default: default.map(str::to_owned), text, promoted }
        };
        let required =
            required.iter().map(|of| new(&of.name, of.ty.clone(), None, &said(&of.name)));
        let mut params: Vec<_> = required.collect();
        let (jsons, settings): (Vec<_>, Vec<_>) = settings
            .iter()
            .filter(|setting| {
                let others = ["on_error", "on_report", "skip_colliding", "tell_all"];
                !others.contains(&setting.name.as_str())
            })
            .partition(|setting| setting.params[0].name == "json");
        for json in &jsons {
            params.push(new(&json.name, Type::Unit, Some("Value::None"), &said(&json.name)));
            let text = Type::Option(Box::new(Type::Text));
            params.push(new("json", text, Some("null"), json.docs.first()));
        }
        let mut lines = Vec::new();
        for (setting, param, name) in settings.iter().flat_map(|setting| {
            let names = [setting.name.clone(), format!("{}_max", setting.name)];
            setting.params.iter().zip(names).map(move |(param, name)| (setting, param, name))
        }) {
            let own = self.model.surface.own(key, &name);
            let words = self.model.surface.of(key, "new", &name);
            // What a queue calls so is not what its configuration does.
            let words = if key == "events.ConfigChange" { own } else { words };
            let default = words.and_then(|words| words.default.as_ref());
            let mut default = literal(default.unwrap_or(&setting.default));
            let mut ty = param.ty.clone();
            match &ty {
                Type::Named(key) if key == "shuffle.TrackKeys" => {
                    default = format!("{}::Global", php_type(self.model, &ty).0);
                }
                Type::Option(_) => {}
                _ if default == "null" => ty = Type::Option(Box::new(ty)),
                _ => {}
            }
            let docs = own.map(|words| words.docs.as_str());
            if !is_packed {
                lines.extend(self.write(structure, &name, &ty));
            }
            params.push(new(&name, ty, Some(&default), docs.unwrap_or(setting.docs.first())));
        }
        let mut constructor = vec![param_lines(&params)];
        if is_packed {
            lines = self.cells(structure, &self.model.types[key].settings);
        }
        if !jsons.is_empty() {
            let throws = "@throws InvalidArgumentException for a value that JSON has not, and for two values";
            constructor.push(vec![throws.to_owned()]);
        }
        let values = context! {
            docs => self.class_docs(key, name),
            class => name,
            json => jsons.first().map(|json| &json.name),
            constructor_docs => block("    ", constructor).join("\n"),
            params => Serde(&params), structure, lines, is_packed,
        };
        self.file(folder(key), name, "options.php", values);
    }

    /// What sets a field of a structure; nothing for what a hand has to set.
    fn write(&self, structure: &str, name: &str, ty: &Type) -> Option<String> {
        let (inner, is_optional) = match ty {
            Type::Option(inner) => (&**inner, name != "wait"),
            ty => (ty, false),
        };
        let own = property(name);
        let (field, value) = match inner {
            Type::Duration if name == "wait" => (format!("{name}_ms"), "wait"),
            Type::Duration => (format!("{name}_ms"), "milliseconds"),
            Type::Number(_) | Type::Size => {
                let ty = self.word(structure, name).1;
                let is_short = matches!(inner, Type::Number(bits) if *bits < 64);
                let is_small = is_short || *ty == CType::Plain("u32".to_owned());
                (name.to_owned(), if is_small { "smallSize" } else { "size" })
            }
            Type::Bool => {
                // C++ has a word of that name.
                let field = if name == "delete" { "delete_done" } else { name };
                self.word(structure, field);
                let value = match is_optional {
                    true => {
                        format!("$this->{own} === null ? Arguments::NOT_SET : (int) $this->{own}")
                    }
                    false => format!("$this->{own}"),
                };
                return Some(format!("$options->{field} = {value}"));
            }
            _ => return None,
        };
        self.word(structure, &field);
        let unset = if is_optional {
            format!("$this->{own} === null ? Arguments::NOT_SET : ")
        } else {
            String::new()
        };
        Some(format!("$options->{field} = {unset}Arguments::{value}('{own}', $this->{own})"))
    }

    /// The fields of a structure as `Packed` takes them.
    fn cells(&self, structure: &str, settings: &[Setting]) -> Vec<String> {
        let cell = |(name, ty): &(String, CType)| {
            // A time of the calendar is called so, and a span is not.
            let is_time = settings.iter().any(|of| of.name == *name && name.ends_with("_ms"));
            let span = name.strip_suffix("_ms").filter(|_| !is_time);
            let own = property(span.unwrap_or(name));
            Some(match (name.as_str(), ty) {
                ("delay_ms", _) => return None,
                ("size", _) => self.size(structure).to_string(),
                ("at_ms", _) => "...TaskArguments::when($this->atMs, $this->delay)".to_owned(),
                ("if_exists" | "missed" | "overlap", _) => {
                    format!("EventArguments::number($this->{own})")
                }
                ("skip_colliding", _) => "$skipColliding".to_owned(),
                ("headers", _) => "Headers::piece($this->headers)".to_owned(),
                (_, CType::Named(_)) => format!("$this->{own}"),
                (_, CType::Plain(of)) if is_time && of == "i64" => {
                    format!("Arguments::optionalSize('{own}', $this->{own})")
                }
                _ if span.is_some() => format!("Arguments::optional('{own}', $this->{own})"),
                _ => format!("Arguments::size('{own}', $this->{own})"),
            })
        };
        self.abi.structure(structure).fields.iter().filter_map(cell).collect()
    }

    /// The size of a structure that is made of words.
    pub(crate) fn size(&self, structure: &str) -> usize {
        let fields = &self.abi.structure(structure).fields;
        let words = self.words(&CType::Named(structure.to_owned()));
        // Bools in a row share a word.
        let shared = fields.windows(2).filter(|pair| pair.iter().all(|(_, ty)| is_bool(ty)));
        8 * (words.expect("all are words") - shared.count())
    }

    /// Where a field of a record is in a structure.
    fn word(&self, structure: &str, field: &str) -> (usize, &CType) {
        let fields = &self.abi.structure(structure).fields;
        let is_it = |name: &str| {
            let ends = ["_name", "_ms"];
            name == field || ends.iter().any(|end| name.strip_suffix(end) == Some(field))
        };
        let index = fields.iter().position(|(name, _)| is_it(name));
        let index = index.unwrap_or_else(|| panic!("millpond_{structure} has no {field}"));
        let before = fields[..index].iter().filter_map(|(_, ty)| self.words(ty)).sum();
        (before, &fields[index].1)
    }

    /// How many words a field has; none if it is shorter than one.
    fn words(&self, ty: &CType) -> Option<usize> {
        match ty {
            CType::Named(name) => {
                let of = self.abi.structs.iter().find(|of| of.name == *name)?;
                of.fields.iter().map(|(_, ty)| self.words(ty)).sum()
            }
            CType::Plain(name) if name == "u32" => None,
            _ => Some(1),
        }
    }

    /// Of all structures that are made of words, for the suite to compare.
    fn layouts(&mut self) {
        let layout = |of: &CStruct| {
            let mut fields = Vec::new();
            let mut at = 0;
            for (name, ty) in &of.fields {
                fields.push((name.clone(), at));
                at += 8 * self.words(ty)?;
            }
            fields.push((String::new(), at));
            // Bools in a row share a word.
            let bools = of.fields.iter().filter(|(_, ty)| is_bool(ty));
            (bools.count() < 2).then(|| context! { name => &of.name, fields })
        };
        let layouts: Vec<_> = self.abi.structs.iter().filter_map(layout).collect();
        self.file("../tests", "Layouts", "layouts.php", context! { layouts });
    }

    /// What follows the name of a parameter: a part of a sentence.
    pub(crate) fn phrase(&self, key: &str, name: &str, docs: &str, ty: &str) -> String {
        let note = self.comments.overlay.of(&format!("{key}.{name}"));
        let text = match note.paragraphs.first() {
            Some(text) => text.clone(),
            None => self.comments.inline(key, docs),
        };
        in_seconds(&text, ty.ends_with("float") && name != "score")
    }

    fn class_docs(&self, key: &str, class: &str) -> String {
        phpdoc("", about(&self.comments, key, class), &[], &[]).join("\n")
    }

    /// Adds a file with its imports.
    pub(crate) fn file(
        &mut self,
        folder: &str,
        class: &str,
        template: &str,
        values: impl Serialize,
    ) {
        let body = self.templates.render(template, values);
        let space =
            format!("Millpond\\{}", folder.replace("../t", "T")).trim_end_matches('\\').to_owned();
        let code =
            body.lines().filter(|line| !line.trim_start().starts_with('*') || line.contains("* @"));
        let code = code.collect::<Vec<_>>().join("\n");
        let is_part = |letter: char| letter.is_alphanumeric() || "\\$_`'".contains(letter);
        let words =
            code.split(|letter| !is_part(letter)).map(|word| word.split('\\').next().unwrap_or(""));
        let words: BTreeSet<_> = words.collect();
        let imports = self.known.iter().filter(|path| {
            let (of, name) = path.rsplit_once('\\').unwrap_or(("", path));
            of != space && words.contains(name)
        });
        let mut imports: String = imports.map(|path| format!("use {path};\n")).collect();
        if !imports.is_empty() {
            imports.push('\n');
        }
        let path = format!("ffi/php/src/{folder}/{class}.php")
            .replace("src//", "src/")
            .replace("src/../", "");
        let head = format!("<?php\n\ndeclare(strict_types=1);\n\nnamespace {space};\n\n");
        self.output.add(&path, head + &imports + &body);
    }

    /// What files may import: the classes of this package, those that are generated included, and others.
    fn names(&self, root: &Path) -> BTreeSet<String> {
        let others = [
            "FFI",
            "FFI\\CData",
            "FFI\\CType",
            "Millpond\\Exception",
            "Millpond\\Tasks",
            "Psr\\Log\\LoggerInterface",
        ];
        let mut names: BTreeSet<_> = others.map(str::to_owned).into();
        for folder in ["", "Exception", "Internal", "Tasks"] {
            let entries = root.join("ffi/php/src").join(folder).read_dir().expect("it is there");
            for entry in entries {
                let name =
                    entry.expect("it can be read").file_name().to_string_lossy().into_owned();
                names.extend(name.strip_suffix(".php").map(|name| full_name(folder, name)));
            }
        }
        names
    }
}

struct PhpWords<'a> {
    model: &'a Model,
}

impl Words for PhpWords<'_> {
    fn none(&self) -> String {
        "null".to_owned()
    }

    fn error(&self, error: &ErrorKind) -> String {
        format!("{}Exception", pascal(&error.name))
    }

    fn item(&self, key: &str, text: &str) -> String {
        let is_name = text.ends_with(class(key)) || text == own_name(key);
        if is_name { format!("`{}`", class(key)) } else { text.to_owned() }
    }

    fn variant(&self, key: &str, name: &str, _: &str) -> String {
        format!("`{}::{name}`", class(key))
    }

    fn member(&self, owner: &str, key: &str, member: &str, text: &str) -> String {
        let fields = self.model.types.get(key).map_or(&[][..], |of| &of.fields);
        let settings = self.model.types.get(key).map_or(&[][..], |of| &of.settings);
        let is_property = self.model.is(key, Kind::Options)
            || fields.iter().any(|field| field.name == member)
            || settings.iter().any(|setting| setting.name == member);
        let name = field_name(key, member);
        match (is_property, key == owner) {
            _ if !text.ends_with(member) => text.to_owned(),
            (true, _) => format!("`{name}`"),
            (false, true) => format!("{name}()"),
            (false, false) => format!("`{}::{name}()`", class(key)),
        }
    }

    fn code(&self, text: &str) -> String {
        let is_name = text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        if is_name { format!("`{}`", camel(text)) } else { format!("`{text}`") }
    }
}

/// What is said of a class: what the page has on its name, or else the core's.
pub(crate) fn about(comments: &Comments<'_>, key: &str, class: &str) -> Comment {
    let own = comments.of(&format!("php.{class}"), &[]);
    own.or_else(|| comments.of(key, &[])).unwrap_or_default()
}

/// The lines of a phpdoc: the comment of an item with these parameters.
pub(crate) fn phpdoc(
    indent: &str,
    comment: Comment,
    params: &[Param],
    tags: &[String],
) -> Vec<String> {
    let width = 106 - indent.len();
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for text in &comment.text {
        blocks.push(
            text.lines()
                .flat_map(|line| {
                    if line.starts_with('|') { vec![line.to_owned()] } else { wrap(line, width) }
                })
                .collect(),
        );
    }
    let code = |code: &String| code.lines().map(|line| format!("    {line}")).collect();
    blocks.extend(comment.examples.iter().map(code));
    blocks.push(param_lines(params));
    blocks.push(tags.to_vec());
    let throws = comment.errors.iter().flat_map(|failure| {
        let classes: Vec<_> =
            failure.classes.iter().map(|class| format!("Exception\\{class}")).collect();
        let when = in_seconds(&failure.when, false);
        let tag = match classes.as_slice() {
            [] if failure.is_given => format!("@throws \\Throwable {when}"),
            [] => format!("@throws Exception\\MillpondException {when}"),
            all => format!("@throws {} {}", all.join("|"), failure.when),
        };
        let lines = wrap(&tag, width).into_iter().enumerate();
        lines
            .map(|(line, text)| if line == 0 { text } else { format!("    {text}") })
            .collect::<Vec<_>>()
    });
    blocks.push(throws.collect());
    block(indent, blocks)
}

/// A phpdoc of these paragraphs.
pub(crate) fn block(indent: &str, mut paragraphs: Vec<Vec<String>>) -> Vec<String> {
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    let lines = paragraphs.join(&String::new());
    let lines = lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned());
    [format!("{indent}/**")].into_iter().chain(lines).chain([format!("{indent} */")]).collect()
}

pub(crate) fn param_lines(params: &[Param]) -> Vec<String> {
    // A point in time that a caller gives.
    let doc = |param: &Param| match (param.name.as_str(), param.doc.as_str()) {
        ("atMs", "int|null") => "int|\\DateTimeInterface|null".to_owned(),
        (_, doc) => doc.to_owned(),
    };
    let types = params.iter().map(|param| doc(param).len()).max().unwrap_or(0);
    let names = params.iter().map(|param| param.name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for param in params {
        let (Param { name, text, .. }, doc) = (param, doc(param));
        let mut head = format!("@param {doc:types$} ${name:names$} ");
        for text in wrap(text, 108usize.saturating_sub(head.len()).max(40)) {
            lines.push(format!("{head}{text}"));
            head = " ".repeat(head.len());
        }
    }
    lines
}

/// A part of a sentence, which says if it is a time that it is in seconds.
pub(crate) fn in_seconds(text: &str, is_time: bool) -> String {
    let mut letters = text.strip_suffix('.').unwrap_or(text).chars();
    let first = letters.next().map_or(String::new(), |first| first.to_lowercase().to_string());
    let text = first + letters.as_str();
    match (is_time, text.strip_prefix("how long ")) {
        (true, Some(rest)) => format!("how long in seconds {rest}"),
        (true, None) => {
            let (first, rest) = text.split_at(text.find(". ").unwrap_or(text.len()));
            format!("{first}, in seconds{rest}")
        }
        _ => text,
    }
}

fn promoted() -> String {
    "public readonly ".to_owned()
}

fn folder(key: &str) -> &'static str {
    let queue = key.split('.').next().unwrap_or_default();
    NAMESPACES.iter().find(|(of, _)| *of == queue).map_or("", |(_, name)| name)
}

/// The name of a class with its namespace.
fn full_name(folder: &str, name: &str) -> String {
    format!("Millpond\\{folder}\\{name}").replace("\\\\", "\\")
}

pub(crate) fn class(key: &str) -> &str {
    NAMES.iter().find(|(of, _)| *of == key).map_or_else(|| own_name(key), |(_, name)| name)
}

/// What a field of a record is called: only the values of tasks are JSON.
fn field_name(key: &str, name: &str) -> String {
    if name == "value" && folder(key) != "Tasks" { camel(name) } else { property(name) }
}

/// A JSON text is `json`, whatever it is the text of.
pub(crate) fn property(name: &str) -> String {
    match name {
        "value" | "content" => "json".to_owned(),
        "after" => "delay".to_owned(),
        "namespace_name" => "namespace".to_owned(),
        _ => camel(name),
    }
}

/// The type as PHP declares it, and as phpdoc has it. What has none is any value that JSON has.
pub(crate) fn php_type(model: &Model, ty: &Type) -> (String, String) {
    let same = |name: &str| (name.to_owned(), name.to_owned());
    match ty {
        Type::Bool => same("bool"),
        Type::Number(_) | Type::Size | Type::Signed => same("int"),
        Type::Float | Type::Duration => same("float"),
        Type::Text | Type::Bytes => same("string"),
        Type::Headers => ("array".to_owned(), "array<string, string>".to_owned()),
        Type::Option(inner) => {
            let (native, doc) = php_type(model, inner);
            (format!("?{native}"), format!("{doc}|null"))
        }
        Type::List(inner) => ("array".to_owned(), format!("list<{}>", php_type(model, inner).1)),
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| php_type(model, part).1).collect();
            ("array".to_owned(), format!("array{{{}}}", parts.join(", ")))
        }
        Type::Named(key) if key == "shuffle.Stream" => ("?int".to_owned(), "int|null".to_owned()),
        Type::Named(key) if model.texts.contains(key) => same("string"),
        Type::Named(key) => same(class(key)),
        Type::Unit | Type::Other(_) => same("mixed"),
    }
}

pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Duration(ms) => format!("{:?}", *ms as f64 / 1_000.0),
        Value::Text(text) => format!("'{text}'"),
        Value::Bool(flag) => flag.to_string(),
        Value::None => "null".to_owned(),
    }
}
