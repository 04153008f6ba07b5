//! Python: the methods that convert arguments, call the core and convert the result. A module or a stub has the
//! signature (`def claim(self, queues: Texts, lease: Seconds = 30) -> Task[Any] | None: ...`); this finds what the core
//! does with each argument, and how the native half reads it.

use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use crate::comments::Comment;
use crate::forms::Form;
use crate::model::{Kind, Method, Model, Param as Declared, Setting, Type, rust_path};
use crate::python::class_name;
use crate::python::names::{CALLS, QUICK};

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
    default: String,
    is_first_keyword: bool,
}

impl Signature {
    /// The signature at the start of these lines, and how many it has.
    pub(crate) fn read(lines: &[&str]) -> Option<(Self, usize)> {
        let is_async = lines[0].trim_start().starts_with("async ");
        let head = lines[0].trim_start().trim_start_matches("async ").strip_prefix("def ")?;
        let ends = |line: &&str| line.ends_with(':') || line.ends_with(": ...");
        let count = lines.iter().position(ends)? + 1;
        let rest = lines[1..count].iter().fold(String::new(), |all, line| all + line.trim() + " ");
        let text = head.to_owned() + &rest;
        let (name, rest) = text.split_once('(')?;
        let (params, returns) = rest.rsplit_once(") -> ")?;
        let (mut found, mut is_first_keyword) = (Vec::new(), false);
        for param in parts(params).iter().filter(|param| *param != "self") {
            if let Some((name, rest)) = param.split_once(": ") {
                let (annotation, default) = rest.split_once(" = ").unwrap_or((rest, ""));
                let [name, annotation, default] = [name, annotation, default].map(str::to_owned);
                found.push(Param { name, annotation, default, is_first_keyword });
            }
            is_first_keyword = param == "*";
        }
        let is_straight = returns.trim_end().ends_with("...");
        let returns = returns.trim_end_matches([' ', '.', ':']).to_owned();
        let (name, params) = (name.to_owned(), found);
        let (is_property, is_native) = (false, false);
        let read = Self { name, params, returns, is_async, is_property, is_straight, is_native };
        Some((read, count))
    }

    /// The parameter for one of the core's.
    fn param(&self, core: &str) -> Option<&Param> {
        let of = |name: &str| self.params.iter().find(|param| param.name == name);
        of(core).or_else(|| of(CALLS.iter().find(|(_, name)| *name == core)?.0))
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

/// Finds what the core does with the methods of Python.
pub(crate) struct Calls<'a> {
    pub(crate) model: &'a Model,
}

impl<'a> Calls<'a> {
    /// The core's method of this name in Python.
    pub(crate) fn method(&self, owner: &str, name: &str) -> Option<&'a Method> {
        let of =
            |name: &str| self.model.types.get(owner)?.methods.iter().find(|of| of.name == name);
        of(name).or_else(|| of(CALLS.iter().find(|(python, _)| *python == name)?.1))
    }

    /// Whether its settings are arguments.
    fn is_given(&self, key: &str) -> bool {
        self.model.is(key, Kind::Options)
    }

    fn settings(&self, owner: &str) -> &'a [Setting] {
        self.model.types.get(owner).map_or(&[], |of| &of.settings)
    }

    /// What a method takes, or a setter that Python has as one.
    fn declared(&self, owner: &str, name: &str) -> &'a [Declared] {
        let setting = || self.settings(owner).iter().find(|of| of.name == name);
        let method = self.method(owner, name).map(|of| &of.params);
        method.or_else(|| Some(&setting()?.params)).map_or(&[], |of| of)
    }

    /// What the core calls a parameter.
    pub(crate) fn core_name<'b>(&self, owner: &str, method: &str, python: &'b str) -> &'b str {
        let declared = self.declared(owner, method);
        let is = |(name, core): &&(&str, &'static str)| {
            *name == python && declared.iter().any(|of| of.name == *core)
        };
        CALLS.iter().find(is).map_or(python, |(_, core)| core)
    }

    /// The options that a method takes and Python has as arguments, by their name.
    fn options(
        &self,
        declared: &'a [Declared],
        signature: &Signature,
    ) -> Option<(&'a str, &'a str)> {
        declared.iter().find_map(|param| match &param.ty {
            Type::Named(key) if self.is_given(key) => {
                signature.param(&param.name).is_none().then_some((&*param.name, &**key))
            }
            _ => None,
        })
    }

    /// How the native half makes a call of this method: how arguments are read (`reads`); the `options` that are
    /// made for the core, and what is set of these or else of what is `made` (`steps`); and the calls of the core,
    /// each for a pattern of an argument (`arms` and `of`).
    pub(crate) fn call(&self, owner: &str, signature: &Signature, comment: Comment) -> Value {
        let name = &*signature.name;
        let (method, declared) = (self.method(owner, name), self.declared(owner, name));
        let options = self.options(declared, signature);
        let made = match method.map(|of| &of.returns) {
            Some(Type::Named(key)) => key,
            Some(_) => "",
            None => owner,
        };
        let is_entry = self.model.is(owner, Kind::Options);
        let is_handle = options.is_none() && self.model.is(made, Kind::Handle);
        let (target, of) = options.unwrap_or(("core", made));
        let required = options.map_or(&[][..], |(_, key)| &self.model.types[key].required);
        let passed = declared.iter().map(|param| self.passed(param, signature)).collect::<Vec<_>>();
        let core = method.map_or(name, |of| &of.name);
        let mut arms = vec![(String::new(), format!("{core}({})", passed.join(", ")))];
        let (mut reads, mut steps, mut switch) = (Vec::new(), Vec::new(), String::new());
        for param in &signature.params {
            let taken = declared
                .iter()
                .chain(required)
                .find(|of| signature.param(&of.name).is_some_and(|found| found.name == param.name));
            let spread = self.spread(declared, signature).find(|(field, _)| *field == param.name);
            let forms = method.map_or(&[][..], |of| &of.forms);
            let form = forms.iter().find(|form| form.option.name == param.name);
            let setting = self.setting(of, &param.name);
            let ty = match (&spread, taken, form, setting) {
                (Some((_, ty)), ..) => Some((*ty).clone()),
                (_, Some(taken), ..) => Some(taken.ty.clone()),
                (_, _, Some(Form { method, option, is_flag, .. }), _) => {
                    let (none, some) = match is_flag {
                        false => ("None".to_owned(), format!("Some({})", param.name)),
                        true => ("false".to_owned(), "true".to_owned()),
                    };
                    let given = (!is_flag).then(|| option.ty.clone());
                    let more = given.as_ref().map(|ty| pass(ty, &param.name));
                    let all: Vec<_> = passed.iter().cloned().chain(more).collect();
                    arms[0].0 = none;
                    arms.push((some, format!("{method}({})", all.join(", "))));
                    switch.clone_from(&param.name);
                    given
                }
                _ => self.step(signature, param, setting, &mut steps, (target, of, is_handle)),
            };
            let owner = if setting.is_some() && taken.is_none() { of } else { owner };
            let max = match &ty {
                Some(Type::List(_)) => self
                    .model
                    .surface
                    .of(owner, name, self.core_name(owner, name, &param.name))
                    .and_then(|words| words.max),
                _ => None,
            };
            reads.extend(ty.and_then(|ty| read(param, &ty, max)));
        }
        if is_entry && declared.is_empty() {
            arms.clear();
        }
        if method.is_none() && !is_entry {
            arms[0].1 = format!("clone().{}", arms[0].1);
        }
        let kind = match method {
            _ if is_entry => "entry",
            Some(method) if method.is_call => "call",
            Some(_) if !self.model.is(made, Kind::Handle) => "ask",
            _ => "make",
        };
        let given = required.iter().map(|param| pass(&param.ty, &param.name)).collect::<Vec<_>>();
        let options = options.map(|(name, key)| {
            context! { name, made => format!("{}::new({})", rust_path(key), given.join(", ")) }
        });
        let can_fail = method.is_some_and(|method| method.can_fail);
        let is_quick = QUICK.iter().any(|of| format!("{owner}.{name}").starts_with(of));
        let (signature, comment, arms) = (Serde(signature), Serde(comment), Serde(arms));
        let made = class_name(made);
        context! {
            signature, comment, reads, options, steps, kind, can_fail, is_quick, of => switch, arms, made
        }
    }

    /// The fields of a record that are arguments in place of it.
    fn spread(
        &self,
        declared: &'a [Declared],
        signature: &Signature,
    ) -> impl Iterator<Item = (&'a str, &'a Type)> {
        let fields = declared.iter().find_map(|param| match &param.ty {
            Type::Named(key) => {
                let fields = &self.model.types.get(key)?.fields;
                let is_there = |name: &str| signature.params.iter().any(|of| of.name == name);
                let is_spread = !fields.is_empty() && fields.iter().all(|of| is_there(&of.name));
                is_spread.then_some(fields)
            }
            _ => None,
        });
        fields.into_iter().flatten().map(|field| (&*field.name, &field.ty))
    }

    /// An argument of the core's.
    fn passed(&self, param: &'a Declared, signature: &Signature) -> String {
        let spread = self.spread(std::slice::from_ref(param), signature);
        let spread: Vec<_> = spread.map(|(field, ty)| pass(ty, field)).collect();
        match signature.param(&param.name) {
            _ if !spread.is_empty() => format!("({})", spread.join(", ")),
            Some(found) => pass(&param.ty, &found.name),
            None => param.name.clone(),
        }
    }

    fn setting(&self, of: &str, param: &str) -> Option<&'a Setting> {
        let is =
            |setting: &&Setting| setting.name == param || param == format!("{}es", setting.name);
        self.settings(of).iter().find(is)
    }

    /// What an argument sets, and what it is read as.
    fn step(
        &self,
        signature: &Signature,
        param: &Param,
        setting: Option<&'a Setting>,
        steps: &mut Vec<Value>,
        (target, of, is_handle): (&str, &str, bool),
    ) -> Option<Type> {
        let name = &*param.name;
        let mut push = |kind, call: String| {
            let is_removable = self.setting(of, "no_value").is_some();
            steps.push(context! { kind, name, call, target, is_handle, is_removable });
        };
        let has = |name: &str| signature.params.iter().any(|param| param.name == name);
        let has_json = has("json");
        match name {
            // These are read together.
            "json" if has_json => return None,
            "at_ms" | "delay" if has("at") => return None,
            "value" | "content" if has_json => {
                push("json", String::new());
                return None;
            }
            "at" => {
                let delay = if self.setting(of, "delay").is_some() { "delay" } else { "after" };
                push("when", delay.to_owned());
                return None;
            }
            _ => {}
        }
        let setting = setting.unwrap_or_else(|| panic!("{of} has no {name}"));
        let Some(ty) = setting.params.first().map(|param| &param.ty) else {
            push("flag", format!("{name}()"));
            return None;
        };
        if param.annotation == "Texts" {
            push("each", format!("{}(name)", setting.name));
            return Some(Type::List(Box::new(ty.clone())));
        }
        let is_optional = param.default == "None" && !matches!(ty, Type::Option(_));
        let kind = if is_optional { "some" } else { "one" };
        push(kind, format!("{name}({})", pass(ty, name)));
        Some(ty.clone())
    }
}

/// How an argument is read.
fn read(param: &Param, ty: &Type, max: Option<u64>) -> Option<Value> {
    let (is_optional, inner) = match ty {
        Type::Bool => return None,
        Type::Option(inner) => (true, &**inner),
        _ => (param.default == "None" || param.annotation.ends_with("| None"), ty),
    };
    let function = match (inner, max) {
        (Type::Number(8 | 16 | 64) | Type::Size, _) => "amount",
        (_, Some(_)) => "up_to",
        _ if is_optional => "given",
        _ => "required",
    };
    Some(context! { name => &param.name, function, max, is_optional, ty => rust_type(inner) })
}

/// What an argument is read as.
fn rust_type(ty: &Type) -> String {
    match ty {
        Type::Bytes => "Vec<u8>".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Number(64) | Type::Size => "_".to_owned(),
        Type::Number(bits) => format!("u{bits}"),
        Type::Signed => "i64".to_owned(),
        Type::Float => "f64".to_owned(),
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
