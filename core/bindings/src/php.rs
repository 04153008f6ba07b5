//! PHP: a class for each kind of error, record and set of options; how records are read from the C library's
//! memory and options written to it, word by word; and the interfaces of the classes that are written by hand.

use std::path::Path;

use crate::c_abi::{CAbi, CStruct, CType};
use crate::docs::{Docs, Renderer, Words, camel, pascal, snake, wrap};
use crate::model::{ErrorKind, Kind, Model, Type, Value};
use crate::output::Output;
use crate::overlay::{Note, Overlay};
use crate::surface::Surface;

/// The records: how many fields have no default, where not all, and the structure of the C library to read.
const RECORDS: &[(&str, usize, &str)] = &[
    ("client.Recovery", 9, ""),
    ("ick.Added", 9, ""),
    ("ick.Entry", 9, ""),
    ("shuffle.DeadLetter", 9, ""),
    ("shuffle.Message", 9, ""),
    ("shuffle.Receipt", 9, ""),
    ("shuffle.Reclaimed", 9, ""),
    ("shuffle.StreamStats", 9, ""),
    ("tasks.Doc", 3, "doc"),
    ("tasks.DocId", 9, ""),
    ("tasks.DocPage", 9, ""),
    ("tasks.DocPosition", 9, "doc_position"),
    ("tasks.Modified", 9, ""),
    ("tasks.NamespaceStats", 9, "task_namespace_stats"),
    ("tasks.Position", 9, "task_position"),
    ("tasks.QueueStats", 9, "task_queue_stats"),
    ("tasks.Renewed", 9, ""),
    ("tasks.Task", 3, "task"),
    ("tasks.TaskId", 9, ""),
    ("tasks.TaskPage", 9, ""),
];

/// The options, what PHP calls them, and their structure. One with a JSON text is a list of cells for `Packed`.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("shuffle.ShuffleConsumer", "ConsumerOptions", "shuffle_consumer_options"),
    ("shuffle.ShuffleQueue", "ShuffleOptions", "shuffle_options"),
    ("tasks.NewDoc", "NewDoc", "new_doc"),
    ("tasks.NewTask", "NewTask", "new_task"),
    ("tasks.Worker", "WorkerOptions", "tasks_worker_options"),
];

/// The classes with an interface, and the trait with a part of their methods.
const INTERFACES: &[(&str, &str)] = &[
    ("ConsumerLease", ""),
    ("Garbage", ""),
    ("IckChannel", ""),
    ("Messages", ""),
    ("ShuffleConsumer", ""),
    ("ShuffleQueue", "TracksMessages"),
    ("Tasks/Claims", ""),
    ("Tasks/Job", ""),
    ("Tasks/Jobs", ""),
    ("Tasks/TaskStore", "ReadsStore"),
    ("Tasks/Worker", ""),
];

/// What generated code may need, and how it is mentioned there.
const IMPORTS: &[(&str, &str)] = &[
    ("FFI\\CData", "CData $"),
    ("Millpond\\Exception", " Exception\\"),
    ("Millpond\\Exception\\InvalidArgumentException", "@throws InvalidArgumentException"),
    ("Millpond\\Internal\\Arguments", " Arguments::"),
    ("Millpond\\Internal\\DocMethods", " DocMethods;"),
    ("Millpond\\Internal\\ErrorDetails", " ErrorDetails;"),
    ("Millpond\\Internal\\Json", " Json::"),
    ("Millpond\\Internal\\MessageMethods", " MessageMethods;"),
    ("Millpond\\Internal\\TaskArguments", "TaskArguments::"),
    ("Millpond\\Internal\\TaskMethods", " TaskMethods;"),
    ("Millpond\\Retry", "= Retry::"),
    ("Millpond\\Tasks", " Tasks\\"),
];

pub(crate) fn emit(root: &Path, model: &Model, surface: &Surface, abi: &CAbi, output: &mut Output) {
    let overlay = Overlay::read(root, "ffi/php/docs.md");
    let php = Php { model, surface, overlay: &overlay, abi };
    for error in model.errors.iter().filter(|error| error.name != "DEPENDENCY") {
        php.exception(error, output);
    }
    RECORDS.iter().for_each(|(key, required, _)| php.record(key, *required, output));
    php.readers(output);
    OPTIONS.iter().for_each(|(key, name, of)| php.options(key, name, of, output));
    php.layouts(output);
    INTERFACES.iter().for_each(|(class, of)| php.interface(root, class, of, output));
    overlay.finish();
}

struct Php<'a> {
    model: &'a Model,
    surface: &'a Surface,
    overlay: &'a Overlay,
    abi: &'a CAbi,
}

/// A parameter of a constructor, which is a property too unless it is the value of a JSON text.
struct Property {
    name: String,
    /// As PHP declares it, and as phpdoc has it.
    ty: (String, String),
    default: Option<String>,
    docs: String,
}

impl Php<'_> {
    fn exception(&self, error: &ErrorKind, output: &mut Output) {
        let class = pascal(&error.name);
        let base = if class.starts_with("Invalid") { "InvalidArgument" } else { "Runtime" };
        let body = format!(
            "{}final class {class}Exception extends \\{base}Exception implements MillpondException
{{
    use ErrorDetails;

    public const CODE = {};
    public const NAME = '{}';
    public const RETRY = Retry::{};
}}
",
            self.comment("client.Error", &error.docs, &Note::default()),
            error.code,
            error.name,
            error.retry,
        );
        file("Exception", &format!("{class}Exception"), &body, output);
    }

    fn record(&self, key: &str, required: usize, output: &mut Output) {
        let (record, name) = (&self.model.types[key], class(key));
        let property = |(index, field): (usize, &crate::model::Field)| {
            let ty = php_type(&field.ty);
            let default = match (field.name.as_str(), ty.0.as_str()) {
                ("deliveries", _) => Some("1"),
                _ if index < required => None,
                (_, "int") => Some("0"),
                (_, "string") => Some("''"),
                _ => Some("null"),
            };
            let docs = self.phrase(key, &field.name, field.docs.first(), &ty.0);
            Property { name: property(&field.name), ty, default: default.map(str::to_owned), docs }
        };
        let mut properties: Vec<_> = record.fields.iter().enumerate().map(property).collect();
        properties.sort_by_key(|property| property.default.is_some());
        let has_methods =
            IMPORTS.iter().any(|(path, _)| path.ends_with(&format!("\\{name}Methods")));
        let methods =
            if has_methods { format!("    use {name}Methods;\n\n") } else { String::new() };
        let docs = self.comment(key, &record.docs, &self.overlay.of(key));
        let constructor = constructor(&properties, "");
        file(
            folder(key),
            name,
            &format!("{docs}final class {name}\n{{\n{methods}{constructor}}}\n"),
            output,
        );
    }

    /// The functions that read records from an array of structures.
    fn readers(&self, output: &mut Output) {
        let mut body = String::from(
            "/**
 * Reads records of task stores from memory of the library: arrays of structures, word by word, whose texts
 * are all in one piece.
 *
 * @internal
 */
trait ReadsRecords
{
    /** All texts of the result. */
    private readonly string $texts;

    /** Where these are in memory. */
    private readonly int $base;
",
        );
        for (key, _, structure) in RECORDS.iter().filter(|(.., structure)| !structure.is_empty()) {
            let value = |field: &crate::model::Field| {
                let (word, ty) = self.word(structure, &field.name);
                let (at, after) = (format!("$words[$word + {word}]"), word + 1);
                let text = format!("\\substr($texts, {at} - $base, $words[$word + {after}])");
                let value = match (&field.ty, ty) {
                    (Type::Option(_), CType::Named(_)) => format!("{at} === 0 ? null : {text}"),
                    (_, CType::Named(_)) => text,
                    (Type::Option(_), _) => format!("{at} < 0 ? null : {at}"),
                    _ => at,
                };
                format!("                {},\n", value.replace(" + 0]", "]"))
            };
            let values: String = self.model.types[*key].fields.iter().map(value).collect();
            body += &format!(
                "
    /**
     * @param CData $words the first of them
     * @param int   $bytes from one to the next
     *
     * @return list<Tasks\\{name}>
     */
    private function read{name}(CData $words, int $count, int $bytes): array
    {{
        [$texts, $base, $stride, $found] = [$this->texts, $this->base, $bytes >> 3, []];
        for ($word = 0, $end = $stride * $count; $word < $end; $word += $stride) {{
            $found[] = new Tasks\\{name}(
{values}            );
        }}

        return $found;
    }}
",
                name = class(key),
            );
        }
        file("Internal", "ReadsRecords", &(body + "}\n"), output);
    }

    fn options(&self, key: &str, name: &str, structure: &str, output: &mut Output) {
        let of = &self.model.types[key];
        let (docs, required, settings) = (&of.docs, &of.required, &of.settings);
        let said = |name: &str| {
            let words = self.surface.of(key, "new", name);
            words.unwrap_or_else(|| panic!("surface.md has no {key} {name}")).docs.clone()
        };
        let new = |name: &str, ty: Type, default: Option<&str>, docs: &str| {
            let (docs, default) =
                (self.phrase(key, name, docs, &php_type(&ty).0), default.map(str::to_owned));
            let name = if ty == Type::Unit { name.to_owned() } else { property(name) };
            Property { name, ty: php_type(&ty), default, docs }
        };
        let mut properties: Vec<_> = required
            .iter()
            .map(|param| new(&param.name, param.ty.clone(), None, &said(&param.name)))
            .collect();
        let (jsons, settings): (Vec<_>, Vec<_>) = settings
            .iter()
            .filter(|setting| !["on_error", "skip_colliding"].contains(&setting.name.as_str()))
            .partition(|setting| setting.params[0].name == "json");
        for json in &jsons {
            properties.push(new(&json.name, Type::Unit, Some("Value::None"), &said(&json.name)));
            let text = Type::Option(Box::new(Type::Text));
            properties.push(new("json", text, Some("null"), json.docs.first()));
        }
        let mut writes = String::new();
        for (setting, param, name) in settings.iter().flat_map(|setting| {
            let names = [setting.name.clone(), format!("{}_max", setting.name)];
            setting.params.iter().zip(names).map(move |(param, name)| (setting, param, name))
        }) {
            let words = self.surface.of(key, "new", &name).and_then(|words| words.default.clone());
            let default = literal(&words.unwrap_or_else(|| setting.default.clone()));
            let (ty, is_named) = match &param.ty {
                Type::Named(_) => (param.ty.clone(), true),
                Type::Option(_) => (param.ty.clone(), false),
                ty if default == "null" => (Type::Option(Box::new(ty.clone())), false),
                ty => (ty.clone(), false),
            };
            let docs = self.surface.own(key, &name).map(|words| words.docs.as_str());
            let docs = docs.unwrap_or(setting.docs.first());
            let default = if is_named { format!("{}::Global", php_type(&ty).0) } else { default };
            if jsons.is_empty() {
                writes += &self.write(structure, &name, &ty);
            }
            properties.push(new(&name, ty, Some(&default), docs));
        }
        let note = self.overlay.of(&format!("php.{name}"));
        let (before, body, last) = match jsons.first().map(|json| &json.name) {
            Some(json) => (
                format!(
                    "    /** The {json} as a JSON text; null if there is none. */\n    public readonly ?string $json;\n\n"
                ),
                format!("        $this->json = Json::given('{json}', ${json}, $json);\n"),
                self.cells(structure),
            ),
            None => (
                String::new(),
                String::new(),
                format!(
                    "    /** @internal fills a millpond_{structure} */
    public function write(CData $options): void
    {{\n{writes}    }}\n"
                ),
            ),
        };
        let text = format!(
            "{}final class {name}\n{{\n{before}{}\n{last}}}\n",
            self.comment(key, docs, &note),
            constructor(&properties, &body),
        );
        file(folder(key), name, &text, output);
    }

    /// The lines that set a field of a structure; nothing for what a hand has to set.
    fn write(&self, structure: &str, name: &str, ty: &Type) -> String {
        let (inner, is_optional) = match ty {
            Type::Option(inner) => (&**inner, true),
            ty => (ty, false),
        };
        let own = property(name);
        let (field, value) = match inner {
            Type::Duration if name == "wait" => (format!("{name}_ms"), "wait"),
            Type::Duration => (format!("{name}_ms"), "milliseconds"),
            Type::Number(64) => (name.to_owned(), "size"),
            Type::Number(_) => (name.to_owned(), "smallSize"),
            Type::Bool => return format!("        $options->{name} = $this->{own};\n"),
            _ => return String::new(),
        };
        self.word(structure, &field);
        let line = format!("$options->{field} = Arguments::{value}('{own}', $this->{own});\n");
        match is_optional && name != "wait" {
            true => {
                format!("        if ($this->{own} !== null) {{\n            {line}        }}\n")
            }
            false => format!("        {line}"),
        }
    }

    /// The fields of a structure as `Packed` takes them.
    fn cells(&self, structure: &str) -> String {
        let fields = &self.abi.structure(structure).fields;
        let words: Option<usize> = fields.iter().map(|(_, ty)| self.words(ty)).sum();
        let cell = |(name, ty): &(String, CType)| {
            let own = property(name.strip_suffix("_ms").unwrap_or(name));
            let value = match (name.as_str(), ty) {
                ("delay_ms", _) => return String::new(),
                ("size", _) => (8 * words.expect("all are words")).to_string(),
                ("at_ms", _) => "...TaskArguments::when($this->atMs, $this->delay)".to_owned(),
                ("skip_colliding", _) => "$skipColliding".to_owned(),
                (_, CType::Named(_)) => format!("$this->{own}"),
                _ if name.ends_with("_ms") => format!("Arguments::optional('{own}', $this->{own})"),
                _ => format!("Arguments::size('{own}', $this->{own})"),
            };
            format!("            {value},\n")
        };
        format!(
            "    /**
     * @internal a millpond_{structure}
     *
     * @return list<string|int|bool|null>
     *
     * @throws InvalidArgumentException for two times and for a number below 0
     */
    public function cells(bool $skipColliding): array
    {{
        return [
{}        ];
    }}
",
            fields.iter().map(cell).collect::<String>(),
        )
    }

    /// Where a field of a record is in a structure.
    fn word(&self, structure: &str, field: &str) -> (usize, &CType) {
        let fields = &self.abi.structure(structure).fields;
        let is_it = |name: &str| name.strip_suffix("_name").unwrap_or(name) == field;
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
    fn layouts(&self, output: &mut Output) {
        let mut all = String::new();
        // Bools in a row share a word.
        let is_of_words = |of: &&CStruct| {
            of.fields.iter().filter(|(_, ty)| *ty == CType::Plain("bool".to_owned())).count() < 2
        };
        for of in self.abi.structs.iter().filter(is_of_words) {
            let offsets =
                of.fields.iter().try_fold((0, String::new()), |(at, line), (name, ty)| {
                    Some((
                        at + 8 * self.words(ty)?,
                        format!("{line}\n            '{name}' => {at},"),
                    ))
                });
            if let Some((size, line)) = offsets {
                let name = &of.name;
                all += &format!(
                    "        'millpond_{name}' => [{line}\n            '' => {size},\n        ],\n"
                );
            }
        }
        let text = format!(
            "<?php\n\ndeclare(strict_types=1);\n\nnamespace Millpond\\Tests;\n
/**
 * Where the fields of structures are for those that read and write them word by word, and how long they are.
 */
final class Layouts
{{
    public const ALL = [\n{all}    ];\n}}\n"
        );
        output.add("ffi/php/tests/Layouts.php", "//", text);
    }

    fn comment(&self, key: &str, docs: &Docs, note: &Note) -> String {
        let words = PhpWords { model: self.model };
        let renderer = Renderer { model: self.model, words: &words, owner: key };
        let core = if note.replaces { Vec::new() } else { renderer.text(docs) };
        let texts = core.iter().chain(&note.paragraphs).map(|text| wrap(text, 106));
        let code = |code: &String| code.lines().map(|line| format!("    {line}")).collect();
        comment("", texts.chain(note.examples.iter().map(code)).collect())
    }

    /// What follows the name of a parameter: a part of a sentence.
    fn phrase(&self, key: &str, name: &str, docs: &str, ty: &str) -> String {
        let words = PhpWords { model: self.model };
        let note = self.overlay.of(&format!("{key}.{name}"));
        let text = match note.paragraphs.first() {
            Some(text) => text.clone(),
            None => Renderer { model: self.model, words: &words, owner: key }.inline(docs),
        };
        let mut letters = text.strip_suffix('.').unwrap_or(&text).chars();
        let first = letters.next().map_or(String::new(), |first| first.to_lowercase().to_string());
        let text = first + letters.as_str();
        match (ty.ends_with("float") && name != "score", text.strip_prefix("how long ")) {
            (true, Some(rest)) => format!("how long in seconds {rest}"),
            (true, None) => format!("{text}, in seconds"),
            _ => text,
        }
    }

    /// The interface of a class: its public methods, where each class that has an interface is that. A comment
    /// that the class has is kept; otherwise it is the core's.
    fn interface(&self, root: &Path, path: &str, of_trait: &str, output: &mut Output) {
        let sources = [path.to_owned(), format!("Internal/{of_trait}")].map(|path| {
            std::fs::read_to_string(root.join(format!("ffi/php/src/{path}.php")))
                .unwrap_or_default()
        });
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (mut uses, mut methods, mut docs) = (Vec::new(), String::new(), String::new());
        let about =
            format!("What `{name}` does, for a program that puts something else in its place.");
        let (mut said, mut parent, mut open) = (vec![vec![about]], "", String::new());
        for line in sources.iter().flat_map(|source| source.lines()) {
            let is_method = line.starts_with("    public function ") && !line.contains(" __");
            if line.starts_with("use ") {
                uses.push(line);
            } else if let Some(of) = line.strip_prefix(" * @implements ") {
                said.push(vec![format!("@extends {}", of.replace("Job>", "JobInterface>"))]);
                parent = " extends \\IteratorAggregate";
            } else if let Some(property) = line.strip_prefix("    public readonly ") {
                said.push(vec![format!("@property-read {}", property.trim_end_matches(';'))]);
            } else if line.trim_start().starts_with(['/', '*']) {
                docs += &format!("{}\n", mocked(line, line.contains("@return")));
                continue;
            } else if !open.is_empty() || is_method && !docs.contains("@internal") {
                open += line.trim_end_matches(" {");
                if line.ends_with(['(', ',']) {
                    open.push('\n');
                    continue;
                }
                let made =
                    if docs.is_empty() { self.method_docs(name, &open) } else { docs.clone() };
                methods += &format!("\n{made}{};\n", mocked(&std::mem::take(&mut open), true));
            }
            docs.clear();
        }
        uses.retain(|line| {
            let last = line.trim_end_matches(';').rsplit(['\\', ' ']).next().unwrap_or("");
            let is_used = |before: &str| methods.contains(&format!("{before}{last}"));
            let is_here = folder.is_empty() && line.matches('\\').count() == 1;
            let is_other =
                !line.contains("\\Tasks\\") && !line.contains("\\Internal\\") && !is_here;
            is_other && [" ", "?", "|", "<"].iter().any(|before| is_used(before))
        });
        uses.sort_by_key(|line| line.trim_end_matches(';'));
        uses.dedup();
        let uses = if uses.is_empty() { String::new() } else { uses.join("\n") + "\n\n" };
        let docs = comment("", said);
        let body = format!("{uses}{docs}interface {name}Interface{parent}\n{{{methods}}}\n");
        file(folder, &format!("{name}Interface"), &body.replacen("{\n\n", "{\n", 1), output);
    }

    /// The comment of a method with this signature.
    fn method_docs(&self, class: &str, signature: &str) -> String {
        let (name, rest) = signature
            .trim_start_matches("    public function ")
            .split_once('(')
            .expect("a signature");
        let key =
            self.model.types.keys().find(|key| self::class(key) == class).expect("the core has it");
        let method =
            self.model.types[key].methods.iter().find(|method| camel(&method.name) == name);
        let method =
            method.unwrap_or_else(|| panic!("the core has no {key}.{name}: it needs a comment"));
        let words = PhpWords { model: self.model };
        let renderer = Renderer { model: self.model, words: &words, owner: key };
        let note = self.overlay.of(&format!("{key}.{}", method.name));
        let core = if note.replaces { Vec::new() } else { renderer.text(&method.docs) };
        let mut blocks: Vec<_> =
            core.iter().chain(&note.paragraphs).map(|text| wrap(text, 102)).collect();
        let code = |code: &String| code.lines().map(|line| format!("    {line}")).collect();
        blocks.extend(note.examples.iter().map(code));
        let params = rest.split_once(')').map_or(rest, |(params, _)| params).split(',').filter_map(
            |param| {
                let (ty, name) = param.split('=').next()?.trim().split_once(" $")?;
                let said = self.surface.of(key, &method.name, &snake(name))?;
                let docs = self.phrase(key, &format!("{}.{name}", method.name), &said.docs, ty);
                Some(Property {
                    name: name.to_owned(),
                    ty: (String::new(), doc_type(ty, name)),
                    default: None,
                    docs,
                })
            },
        );
        blocks.push(param_lines(&params.collect::<Vec<_>>()));
        if signature.ends_with(": array") {
            blocks.push(vec![format!("@return {}", php_type(&method.returns).1)]);
        }
        blocks.extend(throws(&renderer.blocks(method.docs.section("Errors")).join(" ")));
        blocks.retain(|block: &Vec<String>| !block.is_empty());
        comment("    ", blocks)
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
        if text.ends_with(class(key)) { format!("`{}`", class(key)) } else { text.to_owned() }
    }

    fn member(&self, owner: &str, key: &str, member: &str, text: &str) -> String {
        let fields = self.model.types.get(key).map_or(&[][..], |of| &of.fields);
        let settings = self.model.types.get(key).map_or(&[][..], |of| &of.settings);
        let is_property = self.model.is(key, Kind::Options)
            || fields.iter().any(|field| field.name == member)
            || settings.iter().any(|setting| setting.name == member);
        let name = property(member);
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

/// What a section of errors says, a tag for each class: `ClosedException if …; TimeoutException …`.
fn throws(errors: &str) -> Option<Vec<String>> {
    let mut tags: Vec<String> = Vec::new();
    for clause in errors.trim_end_matches('.').split("; ").filter(|clause| !clause.is_empty()) {
        let clause = clause.trim_start_matches("also ");
        let is_class =
            |word: &&str| word.trim_end_matches(',').ends_with("Exception") || *word == "and";
        let words: Vec<_> = clause.split(' ').take_while(is_class).collect();
        let rest = clause[words.join(" ").len()..].trim();
        let classes = words.iter().filter(|word| **word != "and");
        let classes: Vec<_> =
            classes.map(|word| format!("Exception\\{}", word.trim_end_matches(','))).collect();
        match (classes.is_empty(), tags.last_mut()) {
            (false, _) => tags.push(format!("@throws {} {rest}", classes.join("|"))),
            (true, Some(last)) => *last += &format!("; {rest}"),
            (true, None) => {
                let rest = rest[..1].to_lowercase() + &rest[1..];
                tags.push(format!("@throws Exception\\MillpondException {rest}"));
            }
        }
    }
    let lines = tags.iter().flat_map(|tag| {
        let lines = wrap(tag, 102).into_iter().enumerate();
        lines.map(|(line, text)| if line == 0 { text } else { format!("    {text}") })
    });
    Some(lines.collect())
}

/// A phpdoc of these paragraphs.
fn comment(indent: &str, paragraphs: Vec<Vec<String>>) -> String {
    let lines = paragraphs.join(&String::new());
    let line = |line: &String| format!("{indent} * {line}").trim_end().to_owned() + "\n";
    format!("{indent}/**\n{}{indent} */\n", lines.iter().map(line).collect::<String>())
}

fn constructor(properties: &[Property], body: &str) -> String {
    let mut params = String::new();
    for Property { name, ty, default, .. } in properties {
        let is_made = ty.0 == "mixed" || name == "json" && !body.is_empty();
        let promoted = if is_made { "" } else { "public readonly " };
        let default = default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
        params += &format!("        {promoted}{} ${name}{default},\n", ty.0);
    }
    let mut paragraphs = vec![param_lines(properties)];
    if !body.is_empty() {
        let throws =
            "@throws InvalidArgumentException for a value that JSON has not, and for two values";
        paragraphs.push(vec![throws.to_owned()]);
    }
    let docs = comment("    ", paragraphs);
    format!("{docs}    public function __construct(\n{params}    ) {{\n{body}    }}\n")
}

fn param_lines(properties: &[Property]) -> Vec<String> {
    let width = |of: fn(&Property) -> &str| {
        properties.iter().map(|property| of(property).len()).max().unwrap_or(0)
    };
    let (types, names) = (width(|property| &property.ty.1), width(|property| &property.name));
    let mut lines = Vec::new();
    for Property { name, ty, docs, .. } in properties {
        let mut head = format!("@param {:types$} ${name:names$} ", ty.1);
        for text in wrap(docs, 108usize.saturating_sub(head.len()).max(40)) {
            lines.push(format!("{head}{text}"));
            head = " ".repeat(head.len());
        }
    }
    lines
}

/// The type of a parameter as phpdoc has it.
fn doc_type(native: &str, name: &str) -> String {
    match (native, name, native.split_once("|iterable")) {
        ("iterable", "members", _) => "iterable<string>".to_owned(),
        ("iterable", "numbers", _) => "iterable<int>".to_owned(),
        ("iterable", "pairs", _) => "iterable<array{float|int|null, string}|string>".to_owned(),
        ("iterable", "fields", _) => "iterable<string>|iterable<array{string, string}>".to_owned(),
        ("iterable", ..) => {
            "iterable<array{string, iterable<string>|iterable<array{string, string}>}>".to_owned()
        }
        (_, _, Some((one, _))) => format!("{one}|iterable<{one}>"),
        _ => native.strip_prefix('?').map_or(native.to_owned(), |inner| format!("{inner}|null")),
    }
}

/// A line of code with interfaces in place of their classes.
fn mocked(line: &str, is_type: bool) -> String {
    let names = INTERFACES.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or(path));
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '$';
    names.chain(["Batches", "Ick"]).fold(line.to_owned(), |line, name| {
        let parts: Vec<_> = line.split(name).collect();
        let starts = |part: &str| !part.starts_with(|letter| is_word(letter) || letter == ':');
        parts[1..].iter().fold(parts[0].to_owned(), |all, part| {
            let is_one = (is_type || all.ends_with("callable("))
                && starts(part)
                && !all.ends_with(|letter| is_word(letter) || letter == '`');
            all + name + if is_one { "Interface" } else { "" } + part
        })
    })
}

fn file(folder: &str, class: &str, body: &str, output: &mut Output) {
    let space = format!("Millpond\\{folder}").trim_end_matches('\\').to_owned();
    let imports = IMPORTS.iter().filter(|(path, used)| {
        let is_here = path.rsplit_once('\\').map(|(space, _)| space) == Some(&space[..]);
        body.contains(used) && !body.contains(&format!("use {path};")) && !is_here
    });
    let mut imports: String = imports.map(|(path, _)| format!("use {path};\n")).collect();
    if !imports.is_empty() && !body.starts_with("use ") {
        imports.push('\n');
    }
    let path = format!("ffi/php/src/{folder}/{class}.php").replace("src//", "src/");
    let head = format!("<?php\n\ndeclare(strict_types=1);\n\nnamespace {space};\n\n");
    output.add(&path, "//", head + &imports + body);
}

fn folder(key: &str) -> &'static str {
    if key.starts_with("tasks.") { "Tasks" } else { "" }
}

fn class(key: &str) -> &str {
    key.split('.').next_back().unwrap_or(key)
}

/// A JSON text is `json`, whatever it is the text of.
fn property(name: &str) -> String {
    match name {
        "value" | "content" => "json".to_owned(),
        "after" => "delay".to_owned(),
        "namespace_name" => "namespace".to_owned(),
        _ => camel(name),
    }
}

/// The type as PHP declares it, and as phpdoc has it. What has none is any value that JSON has.
fn php_type(ty: &Type) -> (String, String) {
    let same = |name: &str| (name.to_owned(), name.to_owned());
    match ty {
        Type::Bool => same("bool"),
        Type::Number(_) | Type::Signed => same("int"),
        Type::Float | Type::Duration => same("float"),
        Type::Text | Type::Bytes => same("string"),
        Type::Option(inner) => {
            let (native, doc) = php_type(inner);
            (format!("?{native}"), format!("{doc}|null"))
        }
        Type::List(inner) => ("array".to_owned(), format!("list<{}>", php_type(inner).1)),
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| php_type(part).1).collect();
            ("array".to_owned(), format!("array{{{}}}", parts.join(", ")))
        }
        Type::Named(key) if key == "shuffle.Stream" => ("?int".to_owned(), "int|null".to_owned()),
        Type::Named(key) if key == "step.StreamId" => same("string"),
        Type::Named(key) => same(class(key)),
        Type::Unit | Type::Other(_) => same("mixed"),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Duration(ms) => format!("{:?}", *ms as f64 / 1_000.0),
        Value::Text(text) => format!("'{text}'"),
        Value::Bool(flag) => flag.to_string(),
        Value::None => "null".to_owned(),
    }
}
