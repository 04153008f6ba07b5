//! PHP: the classes with methods. A method that is one call of the library is generated from the function's
//! parameters, unless the class has it by hand; the interface of a class has all its public methods without a
//! comment of their own, with the core's.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use crate::c::abi::CType;
use crate::c::calls::{CArgument, arguments, function};
use crate::comments::Comments;
use crate::docs::{camel, capital, snake};
use crate::model::{Method, Type, Value};
use crate::php::names::{ARGUMENTS, CLASSES, DEFAULTS, DOC_TYPES, RESULTS};
use crate::php::{Param, Php, about, class, in_seconds, php_type, phpdoc};

const FFI: &str = "$this->library->ffi";

#[derive(Default, Serialize)]
struct Call {
    name: String,
    params: String,
    returns: String,
    setup: Vec<String>,
    function: String,
    arguments: Vec<String>,
    result: String,
    is_held: bool,
    /// What the closure of a held call takes from around it.
    locals: String,
    /// Parameters as they are declared, those with a default last.
    #[serde(skip)]
    declared: [Vec<String>; 2],
}

impl Call {
    fn param(&mut self, ty: &str, name: &str, default: Option<&Value>) {
        let (ty, default) = match default {
            None => (ty.to_owned(), None),
            Some(Value::None) if ty == "text" => ("?string".to_owned(), Some("null".to_owned())),
            Some(Value::None) if ty == "string" => (ty.to_owned(), Some("''".to_owned())),
            Some(Value::None) if ty.ends_with("iterable") => (ty.to_owned(), Some("[]".to_owned())),
            Some(Value::None) if ty.contains('|') => {
                (format!("{ty}|null"), Some("null".to_owned()))
            }
            Some(Value::None) => (format!("?{ty}"), Some("null".to_owned())),
            Some(value) => (ty.to_owned(), Some(crate::php::literal(value))),
        };
        let declared = format!("{ty} ${name}");
        match default {
            None => self.declared[0].push(declared),
            Some(default) => self.declared[1].push(format!("{declared} = {default}")),
        }
    }
}

impl Php<'_> {
    pub(crate) fn class(&mut self, (path, key, handle, extends): &(&str, &str, &str, &str)) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut source = self.output.text(&format!("ffi/php/src/{path}.php"));
        let parts = [
            ("HoldsLease", " function release("),
            ("Scans", " function scan("),
            ("Works", " function run("),
            ("YieldsBatches", " function next("),
        ];
        for (part, has) in parts {
            if !source.contains(has) && source.contains(&format!(" {part};")) {
                source += &self.output.text(&format!("ffi/php/src/Internal/{part}.php"));
            }
        }
        if !handle.is_empty() {
            let methods = &self.model.types[*key].methods;
            let calls = methods.iter().filter_map(|method| self.call(key, handle, method));
            let is_left = |call: &Call| !source.contains(&format!(" function {}(", call.name));
            let calls: Vec<_> = calls.filter(is_left).collect();
            let file = format!("{name}Calls");
            self.file(
                "Internal",
                &file,
                "calls.php",
                context! { class => name, calls => Serde(&calls) },
            );
            source += &self.output.text(&format!("ffi/php/src/Internal/{file}.php"));
        }
        self.revise(path, key, Some(extends));
        let interface = interface(name);
        let parent = if extends.ends_with("Interface") {
            self.output.text(&format!("ffi/php/src/{extends}.php"))
        } else {
            String::new()
        };
        let lines: Vec<_> = source.lines().collect();
        let mut methods = Vec::new();
        let mut tags = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            if let Some(property) = line.strip_prefix("    public readonly ") {
                tags.push(format!("@property-read {}", property.trim_end_matches(';')));
            }
            let Some(mut signature) = Signature::read(&lines[index..]) else { continue };
            signature.text = mocked(&signature.text);
            if lines[index - 1].ends_with("*/") || parent.contains(&format!("{};", signature.text))
            {
                continue;
            }
            let docs = signature
                .docs(&self.comments, key, extends)
                .unwrap_or_else(|| panic!("{key} has no {}: it needs a comment", signature.name));
            methods.push(context! { docs => mocked_tags(docs), text => signature.text });
        }
        let parent = match *extends {
            "" => "",
            of if of.ends_with("Interface") => of,
            of => {
                tags.insert(0, format!("@extends \\IteratorAggregate<int, {}>", mocked(of)));
                "\\IteratorAggregate"
            }
        };
        let mut docs = self.comments.of(&format!("php.{interface}"), &[]).unwrap_or_default();
        if docs.text.is_empty() {
            docs.text.push(format!(
                "What `{name}` does, for a program that puts something else in its place."
            ));
        }
        let docs = phpdoc("", docs, &[], &tags).join("\n");
        self.file(
            folder,
            &interface,
            "interface.php",
            context! { docs, name => &interface, parent, methods },
        );
    }

    /// Writes the core's comments above a class, and above its methods if they are in no interface.
    pub(crate) fn revise(&mut self, path: &str, key: &str, extends: Option<&str>) {
        let comments = &self.comments;
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let path = format!("ffi/php/src/{path}.php");
        self.output.revise(&path, (&["/**", "*"], &["#["], &[]), |_, lines| {
            if lines[0].starts_with("final class ") {
                let items = extends.filter(|of| !of.is_empty() && !of.ends_with("Interface"));
                let tags: Vec<_> = items
                    .iter()
                    .map(|of| format!("@implements \\IteratorAggregate<int, {of}>"))
                    .collect();
                return Some(phpdoc("", about(comments, key, &name), &[], &tags));
            }
            let signature = Signature::read(lines).filter(|_| extends.is_none())?;
            let docs = signature.docs(comments, key, "")?;
            Some(
                docs.iter()
                    .map(|line| line.strip_prefix("    ").unwrap_or(line).to_owned())
                    .collect(),
            )
        });
    }

    /// The method by the function of the library that it calls; none if there is no such function, or if a
    /// hand has to make something of what it takes or returns.
    fn call(&self, key: &str, handle: &str, method: &Method) -> Option<Call> {
        let function = function(self.abi, key, handle, method)?;
        let mut call = Call {
            name: camel(&method.name),
            function: function.name.clone(),
            returns: "void".to_owned(),
            ..Call::default()
        };
        let is_ick = handle == "client";
        call.arguments = match is_ick {
            true => ["$this->client->handle", "$this->name", "\\strlen($this->name)"]
                .map(str::to_owned)
                .into(),
            false => vec!["$this->handle".to_owned()],
        };
        let params = &function.params[call.arguments.len()..function.params.len() - 1];
        let outs = self.arguments(&mut call, key, method, params)?;
        let has_keys = outs.iter().any(|(of, ..)| *of == "**keys");
        if has_keys && !matches!(method.returns, Type::List(_)) {
            return None;
        }
        if is_ick && method.name == "commit" {
            // It makes several steps of them.
            call.setup[0] = call.setup[0].replace("$members)", "$members, Limits::get()->items)");
        }
        call.params = call.declared.concat().join(", ");
        self.results(&mut call, &outs, method);
        Some(call)
    }

    /// Adds the arguments that the library takes; returns what it takes for results.
    fn arguments(
        &self,
        call: &mut Call,
        key: &str,
        method: &Method,
        params: &[(String, CType)],
    ) -> Option<Vec<&'static (&'static str, &'static str, &'static str)>> {
        let (mut outs, mut bools) = (Vec::new(), 0);
        for CArgument { core, kind, ty: c_type } in arguments(method, params) {
            if let Some(of) = c_type
                .strip_prefix('*')
                .filter(|of| of.ends_with("_query") || of.ends_with("_filter"))
            {
                let mut query = Call { setup: std::mem::take(&mut call.setup), ..Call::default() };
                self.arguments(&mut query, key, method, &self.abi.structure(of).fields[1..])?;
                call.setup = query.setup;
                let [first, last] = query.declared;
                call.declared[0].extend(first);
                call.declared[1].extend(last);
                let cells = query.arguments.join(", ").replace("->array", "->address");
                let size = self.size(of);
                call.setup.push(format!(
                    "$query = Packed::record({FFI}, 'millpond_{of} *', [{size}, {cells}]);"
                ));
                call.arguments.push("$query->array".to_owned());
                continue;
            }
            let core = core.as_str();
            let of_queue = format!("{}.{core}", key.split('.').next().unwrap_or_default());
            let is_it = |(of, name, ..): &&(&str, &str, &str, &str, &str)| {
                let is_named = |name| name == core || name == of_queue;
                *of == kind && name.strip_suffix(':').is_none_or(is_named)
            };
            let Some((_, as_name, ty, value, taken)) = ARGUMENTS.iter().find(is_it) else {
                outs.push(RESULTS.iter().find(|(name, ..)| *name == c_type)?);
                continue;
            };
            let name =
                camel(if as_name.is_empty() || as_name.ends_with(':') { core } else { as_name });
            let fill = |text: &str| {
                text.replace('$', &format!("${name}"))
                    .replace('%', &name)
                    .replace("(ffi", &format!("({FFI}"))
            };
            if kind == "i64" && method.returns == Type::Bool {
                // One is enough to know whether there is any.
                call.arguments.push("Arguments::NOT_SET".to_owned());
                continue;
            }
            let words = self.model.surface.of(key, &method.name, core);
            let is_option = call.function.is_empty();
            let own = DEFAULTS.iter().find(|(of, ..)| *of == format!("{of_queue}:{}", method.name));
            let default = own.map(|(_, default)| default);
            let default = match default.or(words.and_then(|words| words.default.as_ref())) {
                None if is_option && kind == "bool" => Some(&Value::Bool(false)),
                None if is_option => Some(&Value::None),
                default => default,
            };
            call.param(ty, &name, default);
            bools = if is_option && kind == "bool" { bools + 1 } else { 0 };
            if bools > 1 {
                // Those in a row share a word.
                let before = call.arguments.pop().expect("there is one before");
                call.arguments.push(format!("{before} | ${name} << {}", 8 * (bools - 1)));
                continue;
            }
            let packed = if taken.is_empty() { "Packed::" } else { "" };
            if !value.is_empty() {
                call.setup.push(format!("${name} = {packed}{};", fill(value)));
            }
            let taken = if taken.is_empty() { "$->array|$->count" } else { taken };
            call.arguments.extend(fill(taken).split('|').map(str::to_owned));
        }
        Some(outs)
    }

    /// What a call returns.
    fn results(&self, call: &mut Call, outs: &[&(&str, &str, &str)], method: &Method) {
        let (inner, is_list) = match &method.returns {
            Type::List(inner) => (&**inner, true),
            Type::Option(inner) => (&**inner, false),
            ty => (ty, false),
        };
        if let Some((ty, out, result)) = outs.last() {
            call.returns = php_type(self.model, &method.returns).0;
            let of = match inner {
                Type::Named(key) => camel(&snake(class(key))[1..]),
                _ if ty.ends_with("_result") => "value".to_owned(),
                _ => String::new(),
            };
            let is_one = *ty == "**tasks_result" && matches!(method.returns, Type::Option(_));
            let read =
                if (is_list || is_one) && !of.ends_with('s') { format!("{of}s") } else { of };
            call.result = result.trim_start_matches('!').replace('%', &read).replace("$ffi", FFI);
            call.is_held = result.starts_with('!');
            if let Type::Named(key) = &method.returns
                && self.model.enums.contains_key(key)
            {
                call.result = format!("{}::cases()[{} - 1]", class(key), call.result);
            }
            if is_one {
                call.result += "[0] ?? null";
            }
            if *ty == "*u64" && *inner == Type::Duration {
                call.result += " / 1000";
            }
            if outs.len() > 1 {
                call.result = format!("$call->flag[0] ? {} : null", call.result);
            }
            if is_list && ["receipt", "flag", "small"].contains(out) {
                // One for each of what is given.
                let count = call.arguments.iter().find(|of| of.ends_with("->count"));
                let count = count.cloned().unwrap_or_default();
                let of = match *out {
                    "flag" => "bool",
                    "small" => "uint32_t",
                    _ => "millpond_shuffle_receipt",
                };
                let array = format!("'{of}[' . \\max(1, {count}) . ']'");
                call.setup.push(format!("${out}s = {FFI}->new({array});"));
                call.setup.push(format!("$pointer = FFI::addr(${out}s[0]);"));
                call.arguments.push("$pointer".to_owned());
                let read = match inner {
                    Type::Option(_) => format!("maybe{}s", capital(out)),
                    _ => format!("{out}s"),
                };
                call.result = match inner {
                    Type::Named(of) if *out == "small" => {
                        format!("EventResults::outcomes({}::cases(), $pointer, {count})", class(of))
                    }
                    _ => format!("ShuffleResults::{read}({FFI}, $pointer, {count})"),
                };
            } else {
                call.arguments.extend(outs.iter().map(|(_, out, _)| format!("$call->{out}")));
            }
        }
        let first = |of: &String| of.split("->").next().unwrap_or_default().to_owned();
        let mut locals: Vec<_> = call.arguments.iter().map(first).collect();
        locals.retain(|of| of.starts_with('$') && of != "$this" && of != "$call");
        locals.dedup();
        call.locals = locals.join(", ");
        call.arguments.push("$call->error".to_owned());
    }
}

/// A public method as it is declared.
struct Signature {
    name: String,
    /// The types and names of its parameters.
    params: Vec<(String, String)>,
    returns: String,
    text: String,
}

impl Signature {
    /// The one that the first of these lines begins.
    fn read(lines: &[&str]) -> Option<Self> {
        let is_open = lines.first()?.ends_with('(');
        let end =
            if is_open { lines.iter().position(|line| line.starts_with("    )"))? } else { 0 };
        // An interface does not offer arguments that a class takes only to refuse them.
        let text = lines[..=end].join("\n").replace(", mixed ...$refused", "");
        let text = text.trim_end_matches(" {").to_owned();
        let (name, rest) = text.strip_prefix("    public function ")?.split_once('(')?;
        let (params, returns) = rest.rsplit_once(')')?;
        let params = params.split(',').filter_map(|param| {
            let (ty, name) = param.split('=').next()?.trim().rsplit_once(" $")?;
            Some((ty.to_owned(), name.to_owned()))
        });
        let is_own = !name.starts_with("__") && name != "getIterator";
        let (name, params, returns) =
            (name.to_owned(), params.collect(), returns.trim_start_matches(": ").to_owned());
        is_own.then_some(Self { name, params, returns, text })
    }

    /// Its comment: the core's. A parameter that sets an option has the comment of that.
    fn docs(&self, comments: &Comments<'_>, key: &str, items: &str) -> Option<Vec<String>> {
        let name = snake(&self.name);
        let cores: Vec<_> = self.params.iter().map(|(_, name)| snake(name)).collect();
        let params: Vec<_> = cores
            .iter()
            .map(String::as_str)
            .zip(self.params.iter().map(|(_, name)| name.as_str()))
            .collect();
        let mut comment = comments.of(&format!("{key}.{name}"), &params)?;
        let method = comments.method(key, &name);
        if method.is_none() {
            // What only PHP has is the same in several classes.
            comment.text.extend(comments.of(&format!("php.{name}"), &[]).unwrap_or_default().text);
        }
        let params = self.params.iter().filter_map(|(ty, name)| {
            let found = comment.params.iter().find(|of| of.name == *name)?;
            let is_endless = name == "wait" && !found.has_end;
            let without = if is_endless { "; INF waits without limit" } else { "" };
            let is_time = ty.ends_with("float") && found.ty != Some(Type::Float);
            let text = in_seconds(&found.text, is_time) + without;
            let doc = doc_type(ty, name, key);
            Some(Param { name: name.clone(), doc, text, ..Param::default() })
        });
        let params: Vec<_> = params.collect();
        let returns = match (self.returns.as_str(), self.name.as_str()) {
            ("array", "queues") => Some("array<string, int>".to_owned()),
            ("?array", _) => Some(format!("{items}|null")),
            ("array", _) => method.map(|method| php_type(comments.model, &method.returns).1),
            _ => None,
        };
        let tags: Vec<_> = returns.iter().map(|of| format!("@return {of}")).collect();
        Some(phpdoc("    ", comment, &params, &tags))
    }
}

/// The type of a parameter as phpdoc has it.
fn doc_type(native: &str, name: &str, key: &str) -> String {
    let queue = key.split('.').next().unwrap_or_default();
    let job = class(&format!("{queue}.Job")).to_owned();
    let of_queue = format!("{queue}.{name}");
    let is_it = |(of, ty, _): &&(&str, &str, &str)| {
        (*of == name || *of == of_queue) && (ty.is_empty() || *ty == native)
    };
    if let Some((.., doc)) = DOC_TYPES.iter().find(is_it) {
        return doc.replace('%', &job);
    }
    match (native.split_once("|iterable"), native.strip_prefix('?')) {
        (Some((one, _)), _) => format!("{one}|iterable<{one}>"),
        (_, Some(inner)) => format!("{inner}|null"),
        _ => native.to_owned(),
    }
}

/// The interface of a class.
fn interface(class: &str) -> String {
    match class {
        "BorrowedIck" => "DirtyListInterface".to_owned(),
        "BorrowedClient" => "QueueFactoryInterface".to_owned(),
        "BorrowedVolatileHash" => "ExpiringHashInterface".to_owned(),
        _ => format!("{class}Interface"),
    }
}

/// Code with interfaces in place of their classes.
fn mocked(code: &str) -> String {
    let (mut out, mut word) = (String::new(), String::new());
    for letter in code.chars().chain([' ']) {
        if letter.is_alphanumeric() || "$\\_`".contains(letter) {
            word.push(letter);
            continue;
        }
        let is_class = CLASSES.iter().any(|(path, ..)| path.rsplit('/').next() == Some(&word));
        out += &if is_class { interface(&word) } else { std::mem::take(&mut word) };
        word.clear();
        out.push(letter);
    }
    out.pop();
    out
}

/// The lines of a comment, with interfaces in place of classes in what it returns.
fn mocked_tags(lines: Vec<String>) -> String {
    let tag = |line: &String| if line.contains("* @return") { mocked(line) } else { line.clone() };
    lines.iter().map(tag).collect::<Vec<_>>().join("\n")
}
