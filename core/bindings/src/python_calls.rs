//! Python: the methods that convert arguments, call the core and convert the result. A module or a stub has the
//! signature (`def claim(self, queues: Texts, lease: Seconds = 30) -> Task[Any] | None: ...`); this finds what the core
//! does with each argument, and says how the native half reads it.

use serde::Serialize;

use crate::comments::Comment;
use crate::model::{Kind, Method, Model, Setting, Type};
use crate::python::rust_path;
use crate::surface::Surface;

/// What Python calls otherwise.
const NAMES: [(&str, &str); 2] = [("claimant", "claimant_id"), ("members", "commit")];

/// A method as Python has it.
#[derive(Clone, Serialize)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) returns: String,
    pub(crate) is_async: bool,
    pub(crate) is_property: bool,
    /// Whether it has no body, so that it is generated.
    pub(crate) is_straight: bool,
    /// Whether the native half alone has it.
    pub(crate) is_native: bool,
}

#[derive(Clone, Serialize)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) annotation: String,
    /// As Python has it; empty without one.
    pub(crate) default: String,
    pub(crate) is_first_keyword: bool,
}

impl Param {
    /// What the native half takes.
    fn native_type(&self) -> &'static str {
        match (&*self.annotation, &*self.default) {
            ("bool", _) => "bool",
            (_, "UNSET") => "Given<'_>",
            (_, "None") => "Option<&Bound<'_, PyAny>>",
            (annotation, _) if annotation.ends_with("| None") => "Option<&Bound<'_, PyAny>>",
            _ => "&Bound<'_, PyAny>",
        }
    }

    fn with_default(&self, equals: &str, unset: &str, off: &str) -> String {
        let star = if self.is_first_keyword { "*, " } else { "" };
        let default = match &*self.default {
            "" => String::new(),
            "UNSET" => format!("{equals}{unset}"),
            "False" => format!("{equals}{off}"),
            other => format!("{equals}{other}"),
        };
        format!("{star}{}{default}", self.name)
    }
}

impl Signature {
    /// The signature at the start of these lines, and how many it has.
    pub(crate) fn read(lines: &[&str]) -> Option<(Self, usize)> {
        let is_async = lines[0].trim_start().starts_with("async ");
        let head = lines[0].trim_start().trim_start_matches("async ").strip_prefix("def ")?;
        let ends = |line: &&str| line.ends_with(':') || line.ends_with(": ...");
        let count = lines.iter().position(ends)? + 1;
        let text =
            lines[1..count].iter().fold(head.to_owned(), |all, line| all + line.trim() + " ");
        let (name, rest) = text.split_once('(')?;
        let (params, returns) = rest.rsplit_once(") -> ")?;
        let (mut found, mut is_first_keyword) = (Vec::new(), false);
        for param in parts(params).into_iter().filter(|param| param != "self") {
            if param == "*" {
                is_first_keyword = true;
                continue;
            }
            let (name, rest) = param.split_once(": ")?;
            let (annotation, default) = rest.split_once(" = ").unwrap_or((rest, ""));
            let [name, annotation, default] = [name, annotation, default].map(str::to_owned);
            found.push(Param { name, annotation, default, is_first_keyword });
            is_first_keyword = false;
        }
        let is_straight = returns.trim_end().ends_with("...");
        let returns =
            returns.trim_end().trim_end_matches("...").trim_end_matches([' ', ':']).to_owned();
        let name = name.to_owned();
        Some((
            Self {
                name,
                params: found,
                returns,
                is_async,
                is_property: false,
                is_straight,
                is_native: false,
            },
            count,
        ))
    }
}

/// The parts between commas that are in no brackets.
fn parts(text: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for letter in text.chars() {
        depth += i32::from("[(".contains(letter)) - i32::from("])".contains(letter));
        match (letter, depth) {
            (',', 0) => all.push(String::new()),
            _ => all.last_mut().expect("there is one").push(letter),
        }
    }
    all.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// A method of the native half.
#[derive(Serialize)]
pub(crate) struct Call {
    pub(crate) signature: Signature,
    comment: Comment,
    /// Its parameters in Rust, with their types; with defaults, as pyo3 has them; and as Python shows them.
    declared: String,
    defaults: String,
    shown: String,
    /// What reads the arguments.
    before: Vec<String>,
    /// What is done with what was made.
    after: Vec<String>,
    /// `call`, `make`, `ask` or `entry`.
    kind: &'static str,
    can_fail: bool,
    /// Calls of the core, each for a pattern of `of`; one alone has none.
    of: String,
    arms: Vec<(String, String)>,
    /// The class of what is made.
    made: String,
}

/// Finds what the core does with a method of `owner`.
pub(crate) struct Calls<'a> {
    pub(crate) model: &'a Model,
    pub(crate) surface: &'a Surface,
}

impl<'a> Calls<'a> {
    /// The core's method of this name in Python.
    pub(crate) fn method(&self, owner: &str, name: &str) -> Option<&'a Method> {
        let of = |name: &str| {
            self.model.types.get(owner)?.methods.iter().find(|method| method.name == name)
        };
        of(name).or_else(|| of(NAMES.iter().find(|(python, _)| *python == name)?.1))
    }

    fn settings(&self, owner: &str) -> &'a [Setting] {
        self.model.types.get(owner).map_or(&[], |of| &of.settings)
    }

    /// The setting that an argument sets, of what a method takes or makes.
    pub(crate) fn setting(&self, of: &str, param: &str) -> Option<&'a Setting> {
        let names = |setting: &&Setting| {
            let is_second = setting.params.len() == 2 && param == format!("{}_max", setting.name);
            setting.name == param || is_second || param == format!("{}es", setting.name)
        };
        self.settings(of).iter().find(names)
    }

    /// The types whose settings are arguments of a method.
    pub(crate) fn with_settings(&self, owner: &str, name: &str) -> Vec<&'a str> {
        let method = self.method(owner, name);
        let types = method.into_iter().flat_map(|method| {
            method.params.iter().map(|param| &param.ty).chain([&method.returns])
        });
        let own = self.settings(owner).iter().find(|setting| setting.name == name);
        let own = own.into_iter().flat_map(|setting| setting.params.iter().map(|param| &param.ty));
        let keys = types.chain(own).filter_map(|ty| match ty {
            Type::Named(key) => Some(&**key),
            _ => None,
        });
        keys.filter(|key| !self.settings(key).is_empty()).collect()
    }

    /// The core's name of a parameter.
    pub(crate) fn core_name<'b>(&self, python: &'b str) -> &'b str {
        NAMES.iter().find(|(name, _)| *name == python).map_or(python, |(_, core)| core)
    }

    /// The enums that a method takes.
    pub(crate) fn enums(&self, owner: &str, signature: &Signature) -> Vec<&'a str> {
        let own = self.method(owner, &signature.name).map(|method| &*method.params);
        let settings = self.with_settings(owner, &signature.name);
        let set = settings.into_iter().flat_map(|of| self.settings(of)).flat_map(|of| &of.params);
        let all = own.unwrap_or(&[]).iter().chain(set);
        let keys = all.filter_map(|param| match &param.ty {
            Type::Named(key) if self.model.enums.contains_key(key) => Some(&**key),
            _ => None,
        });
        keys.collect()
    }

    /// How the native half makes a call of this method.
    pub(crate) fn call(&self, owner: &str, signature: &Signature, comment: Comment) -> Call {
        let name = &*signature.name;
        let method = self.method(owner, name);
        let own = self.settings(owner).iter().find(|setting| setting.name == name);
        let declared = method.map(|method| &method.params).or(own.map(|own| &own.params));
        let declared = declared.map_or(&[][..], |params| params);
        let mut before = Vec::new();
        let mut after = Vec::new();
        let mut used = Vec::new();
        let has = |name: &str| signature.params.iter().any(|param| param.name == name);
        let mut passed = Vec::new();
        for param in declared {
            let python = self.python_name(signature, &param.name);
            match (&param.ty, python) {
                (Type::Named(key), _) if self.is_spread(key, signature) => {
                    let mut fields = Vec::new();
                    for field in &self.model.types[key].fields {
                        let python = self.python_name(signature, &field.name).expect("it is there");
                        before.push(self.read(owner, name, &field.name, python, &field.ty));
                        fields.push(pass(&field.ty, &field.name));
                        used.push(field.name.clone());
                    }
                    passed.push(format!("({})", fields.join(", ")));
                }
                (ty, Some(python)) => {
                    before.push(self.read(owner, name, &param.name, python, ty));
                    passed.push(pass(ty, &python.name));
                    used.push(python.name.clone());
                }
                (Type::Named(key), None) if self.model.is(key, Kind::Options) => {
                    let required = &self.model.types[key].required;
                    let mut given = Vec::new();
                    for one in required {
                        let python = self
                            .python_name(signature, &one.name)
                            .unwrap_or_else(|| panic!("{owner}.{name}: {}", one.name));
                        before.push(self.read(key, name, &one.name, python, &one.ty));
                        given.push(pass(&one.ty, &one.name));
                        used.push(one.name.clone());
                    }
                    let rest: Vec<_> = signature
                        .params
                        .iter()
                        .filter(|one| {
                            !required.iter().chain(declared).any(|of| of.name == one.name)
                        })
                        .collect();
                    before.push(format!(
                        "let mut {} = {}::new({});",
                        param.name,
                        rust_path(key),
                        given.join(", ")
                    ));
                    for one in rest {
                        before.extend(self.set(key, name, one, &param.name, &has, false));
                        used.push(one.name.clone());
                    }
                    passed.push(param.name.clone());
                }
                _ => panic!("{owner}.{name} needs {}", param.name),
            }
        }
        let made = match method.map(|method| &method.returns) {
            Some(Type::Named(key)) => key.clone(),
            None => owner.to_owned(),
            _ => String::new(),
        };
        let is_entry = self.model.is(owner, Kind::Options);
        let mut arms = vec![(
            String::new(),
            format!("{}({})", method.map_or(name, |method| &method.name), passed.join(", ")),
        )];
        let mut of = String::new();
        for param in signature.params.iter().filter(|param| !used.contains(&param.name)) {
            let python = &param.name;
            // Another method of the core does it if this is given.
            let variant = self.model.types.get(owner).and_then(|handle| {
                handle.methods.iter().find(|one| {
                    let is_longer = one.name.starts_with(&format!("{name}_"));
                    match &*param.annotation {
                        "bool" => one.name == *python || one.name == format!("{name}_{python}"),
                        _ => is_longer && one.params.iter().any(|of| of.name == *python),
                    }
                })
            });
            match variant {
                Some(variant) => {
                    of.clone_from(python);
                    let mut passed = passed.clone();
                    let pattern = match variant.params.iter().find(|of| of.name == *python) {
                        Some(found) => {
                            before.push(self.read(owner, name, python, param, &found.ty));
                            passed.push(pass(&found.ty, python));
                            ("None".to_owned(), format!("Some({python})"))
                        }
                        None => ("false".to_owned(), "true".to_owned()),
                    };
                    arms[0].0 = pattern.0;
                    arms.push((pattern.1, format!("{}({})", variant.name, passed.join(", "))));
                }
                None => after.extend(self.set(
                    &made,
                    name,
                    param,
                    "core",
                    &has,
                    self.model.is(&made, Kind::Handle),
                )),
            }
        }
        if is_entry && own.is_none() {
            arms.clear();
        }
        let kind = match method {
            _ if is_entry => "entry",
            Some(method) if method.is_call => "call",
            Some(_) if !self.model.is(&made, Kind::Handle) => "ask",
            _ => "make",
        };
        if own.is_some() && !is_entry {
            arms[0].1 = format!("clone().{}", arms[0].1);
        }
        let listed = |text: &dyn Fn(&Param) -> String| {
            signature.params.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        Call {
            signature: signature.clone(),
            comment,
            declared: listed(&|param| format!("{}: {}", param.name, param.native_type())),
            defaults: listed(&|param| param.with_default(" = ", "Given(None)", "false")),
            shown: listed(&|param| param.with_default("=", "millpond.UNSET", "False")),
            before,
            after,
            kind,
            can_fail: method.is_some_and(|method| method.can_fail),
            of,
            arms,
            made: made.rsplit('.').next().unwrap_or("").to_owned(),
        }
    }

    /// Whether the fields of a record are arguments, in place of the record.
    fn is_spread(&self, key: &str, signature: &Signature) -> bool {
        let fields = self.model.types.get(key).map(|of| &of.fields).filter(|of| !of.is_empty());
        let has = |name: &str| signature.params.iter().any(|param| param.name == name);
        fields.is_some_and(|fields| fields.iter().all(|field| has(&field.name)))
    }

    fn python_name<'b>(&self, signature: &'b Signature, core: &str) -> Option<&'b Param> {
        let of = |name: &str| signature.params.iter().find(|param| param.name == name);
        of(core).or_else(|| of(NAMES.iter().find(|(_, name)| *name == core)?.0))
    }

    /// Reads an argument.
    fn read(&self, owner: &str, method: &str, core: &str, param: &Param, ty: &Type) -> String {
        let name = &param.name;
        if *ty == Type::Bool {
            return String::new();
        }
        let (is_optional, inner) = match ty {
            Type::Option(inner) => (true, &**inner),
            _ => (param.default == "None" || param.annotation.ends_with("| None"), ty),
        };
        let max = match inner {
            Type::List(_) => self.limit(owner, method, core),
            _ => None,
        };
        let read = match (inner, max, is_optional) {
            (Type::Number(8 | 64), ..) => format!("amount({name:?}, {name})?"),
            (_, Some(max), _) => format!("up_to({name:?}, {name}, {max})?"),
            (_, _, true) => format!("given({name:?}, {name})?"),
            _ => format!("required({name:?}, {name})?"),
        };
        let of = rust_type(inner);
        match is_optional {
            true if read.starts_with("given") => format!("let {name}: Option<{of}> = {read};"),
            true => format!(
                "let {name}: Option<{of}> = match {name} {{ Some({name}) => Some({read}), None => None }};"
            ),
            false if of == "_" => format!("let {name} = {read};"),
            false => format!("let {name}: {of} = {read};"),
        }
    }

    /// How many items an argument has at most, as its words say.
    fn limit(&self, owner: &str, method: &str, param: &str) -> Option<u64> {
        let docs = &self.surface.of(owner, method, param)?.docs;
        let names = docs.split('`').filter(|name| {
            name.ends_with("_MAX") && !name.contains("BYTES") && !name.contains("CHARS")
        });
        let queue = owner.split('.').next().unwrap_or("");
        names
            .filter_map(|name| match self.model.constant(queue, name)?.value {
                crate::model::Value::Number(max) => Some(max),
                _ => None,
            })
            .next()
    }

    /// Sets what an argument says of `target`, which is a handle for two kinds of callers or not.
    fn set(
        &self,
        of: &str,
        method: &str,
        param: &Param,
        target: &str,
        has: &dyn Fn(&str) -> bool,
        is_handle: bool,
    ) -> Vec<String> {
        let name = &*param.name;
        let make = |call: String| match is_handle {
            true => format!("{target} = derive!({target}, |core| core.{call});"),
            false => format!("{target} = {target}.{call};"),
        };
        match name {
            // These are read together.
            "json" | "at_ms" | "delay" if has("json") => return Vec::new(),
            "value" | "content" if has("json") => {
                let absent = match self.setting(of, "no_value") {
                    Some(_) => make("no_value()".to_owned()),
                    None => String::new(),
                };
                let set = make(format!("{name}(text)"));
                return vec![format!(
                    "match json::read(py, {name:?}, {name}, json)? {{ Json::LeftOut => {{}} Json::Absent => {{ {absent} }} Json::Text(text) => {{ {set} }} }}"
                )];
            }
            "at" => {
                let [at, after] =
                    ["at_ms(at_ms)", "after(delay)"].map(|call| make(call.to_owned()));
                return vec![format!(
                    "match when::read(py, at, at_ms, delay)? {{ When::LeftOut => {{}} When::At(at_ms) => {{ {at} }} When::After(delay) => {{ {after} }} }}"
                )];
            }
            _ => {}
        }
        let setting = self
            .setting(of, name)
            .unwrap_or_else(|| panic!("{of} has no {name}, which {method} takes"));
        let Some(first) = setting.params.first() else {
            return vec![format!("if {name} {{ {} }}", make(format!("{}()", setting.name)))];
        };
        if matches!(&*param.annotation, "Texts") {
            let read = self.read(of, method, name, param, &Type::List(Box::new(first.ty.clone())));
            return vec![
                read,
                format!("for name in {name} {{ {} }}", make(format!("{}(name)", setting.name))),
            ];
        }
        let read = self.read(
            of,
            method,
            name,
            param,
            &setting.params[usize::from(setting.name != name)].ty,
        );
        let is_optional = read.contains("Option<") && !matches!(first.ty, Type::Option(_));
        let passed = match setting.params.len() {
            2 if setting.name == name => return vec![read],
            2 => format!("{}, {name}", setting.name),
            _ => pass(&first.ty, name),
        };
        let set = make(format!("{}({passed})", setting.name));
        match is_optional {
            true => vec![read, format!("if let Some({name}) = {name} {{ {set} }}")],
            false => vec![read, set],
        }
    }
}

/// What an argument is read as.
fn rust_type(ty: &Type) -> String {
    match ty {
        Type::Bytes => "Vec<u8>".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Number(64) => "_".to_owned(),
        Type::Number(bits) => format!("u{bits}"),
        Type::Signed => "i64".to_owned(),
        Type::Duration => "Duration".to_owned(),
        Type::Named(key) => rust_path(key),
        Type::List(inner) => match &**inner {
            Type::Bytes => "ByteList".to_owned(),
            Type::Tuple(parts) => match &parts[..] {
                [Type::Option(_), _] => "Pairs".to_owned(),
                [_, Type::List(_)] => "Written".to_owned(),
                _ => "Fields".to_owned(),
            },
            inner => format!("Vec<{}>", rust_type(inner)),
        },
        other => panic!("Python has no {other:?} as an argument"),
    }
}

/// How the core gets it.
fn pass(ty: &Type, name: &str) -> String {
    match ty {
        Type::Bytes | Type::Text => format!("&{name}"),
        Type::List(inner) => match **inner {
            Type::Text => format!("&{name}"),
            Type::Bytes | Type::Tuple(_) => format!("{name}.iter()"),
            _ => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}
