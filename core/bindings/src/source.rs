//! Reads the core's source: its public items as `syn` parses them, with no compiler. What is behind
//! `cfg(test)`, hidden or private is left out, and so are the steps themselves (`impl Operation`), which
//! no binding has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quote::ToTokens;
use syn::visit::Visit;
use syn::{
    Attribute, Expr, FnArg, GenericParam, Generics, Item, Lit, Meta, Pat, ReturnType, Visibility,
};

use crate::docs::Docs;
use crate::forms;
use crate::model::{
    Constant, Enum, ErrorKind, Field, Kind, Method, Model, Param, SHARED, Setting, Struct, Type,
    Value, nearest,
};
use crate::surface::Surface;

/// Reads all of `core/src` but for what is not yet to be in hosts.
pub(crate) fn read(root: &Path) -> Model {
    let mut source = Source::default();
    let folder = root.join("core/src");
    source.file(&folder.join("lib.rs"), &folder, &[]);
    let mut model = source.model();
    model.surface = Surface::read(root, &model);
    for (key, of) in &mut model.types {
        for setting in of.settings.iter_mut().filter(|of| of.default == Value::None) {
            let words = model.surface.own(key, &setting.name);
            let default = words.and_then(|words| words.default.clone());
            setting.default = default.unwrap_or(Value::None);
        }
    }
    forms::complete(&mut model);
    model
}

/// What is below the queues, and no binding has.
const BELOW: [&str; 3] = ["runtime", "redis", "embedded"];

/// The items of all files, by queue.
#[derive(Default)]
struct Source {
    items: Vec<(String, Item)>,
    constants: BTreeMap<String, (String, syn::ItemConst)>,
    aliases: BTreeMap<String, syn::Type>,
    /// The handles of queues that are one type for all: `pub type Worker<M> = worker::Worker<Tasks<M>, M>`.
    shared: Vec<(String, syn::ItemType)>,
    operations: BTreeSet<String>,
    texts: BTreeSet<String>,
    /// The folders of the queues.
    queues: BTreeSet<String>,
    /// The public types, as `queue.Name`.
    types: BTreeSet<String>,
    /// The values that fields have in `Self { … }`, by `queue.Name.field`.
    defaults: BTreeMap<String, (String, Expr)>,
}

impl Source {
    fn file(&mut self, path: &Path, folder: &Path, module: &[String]) {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let queue =
            match module.first().map_or("", String::as_str) {
                queue if BELOW.contains(&queue) || SHARED.contains(&queue) => queue,
                queue
                    if folder.join(queue).is_dir()
                        && !["client", "options", "queues"].contains(&queue) =>
                {
                    if module.is_empty() { "client" } else { queue }
                }
                _ => "client",
            };
        let queue = queue.to_owned();
        if ![&SHARED[..], &BELOW].concat().contains(&&*queue) {
            self.queues.insert(queue.clone());
        }
        for item in parsed.items {
            match &item {
                Item::Mod(inner) if is_test(&inner.attrs) => {}
                Item::Mod(inner) if inner.content.is_none() => {
                    let name = inner.ident.to_string();
                    let own = [module, std::slice::from_ref(&name)].concat();
                    let below = module
                        .iter()
                        .fold(folder.to_owned(), |path, part| path.join(part))
                        .join(&name);
                    let file = below.with_extension("rs");
                    let file = if file.exists() { file } else { below.join("mod.rs") };
                    if file.exists() {
                        self.file(&file, folder, &own);
                    }
                }
                Item::Const(constant) => {
                    let key = format!("{queue}.{}", constant.ident);
                    self.constants.entry(key).or_insert((queue.clone(), constant.clone()));
                }
                // Hosts have loops of their own.
                Item::Type(alias) if alias.ident == "Run" => {}
                Item::Type(alias)
                    if is_public(&alias.vis, &alias.attrs)
                        && alias.generics.params.iter().any(is_mode) =>
                {
                    self.types.insert(format!("{queue}.{}", alias.ident));
                    self.shared.push((queue.clone(), alias.clone()));
                }
                Item::Type(alias) => {
                    self.aliases.insert(format!("{queue}.{}", alias.ident), (*alias.ty).clone());
                }
                Item::Impl(of) if !is_test(&of.attrs) => {
                    let name = path_end(&of.self_ty);
                    let of_trait = of.trait_.as_ref().map(|(_, path, _)| path.segments.last());
                    let of_trait = of_trait.flatten().map(|last| last.ident.to_string());
                    match of_trait.as_deref() {
                        Some("Operation") => _ = self.operations.insert(format!("{queue}.{name}")),
                        Some("FromStr") => _ = self.texts.insert(format!("{queue}.{name}")),
                        _ => {}
                    }
                    Defaults { source: self, queue: &queue, name: &name }.visit_item_impl(of);
                    self.items.push((queue.clone(), item));
                }
                // A list with methods of its own is a list.
                Item::Struct(syn::ItemStruct {
                    ident, fields: syn::Fields::Unnamed(of), ..
                }) if of.unnamed.len() == 1 && path_end(&of.unnamed[0].ty) == "Vec" => {
                    self.aliases.insert(format!("{queue}.{ident}"), of.unnamed[0].ty.clone());
                }
                // Each queue has it under a name of its own.
                Item::Struct(of) if is_of_any_queue(&of.generics) => {}
                Item::Struct(syn::ItemStruct { ident, .. })
                | Item::Enum(syn::ItemEnum { ident, .. }) => {
                    self.types.insert(format!("{queue}.{ident}"));
                    self.items.push((queue.clone(), item));
                }
                _ => self.items.push((queue.clone(), item)),
            }
        }
    }

    fn model(mut self) -> Model {
        let (queues, texts) = (self.queues.clone(), self.texts.clone());
        let mut model = Model { queues, texts, ..Model::default() };
        let items = std::mem::take(&mut self.items);
        for (queue, item) in &items {
            match item {
                Item::Struct(of) if is_public(&of.vis, &of.attrs) => {
                    self.structure(&mut model, queue, of)
                }
                Item::Enum(of) if is_public(&of.vis, &of.attrs) => {
                    let name = of.ident.to_string();
                    let variants = of.variants.iter();
                    let variants =
                        variants.map(|variant| (variant.ident.to_string(), docs(&variant.attrs)));
                    let (docs, variants) = (docs(&of.attrs), variants.collect());
                    let key = format!("{queue}.{name}");
                    model.enums.insert(key, Enum { docs, variants });
                }
                Item::Macro(of) if of.mac.path.is_ident("kinds") => {
                    if let Ok(kinds) = syn::parse2::<Kinds>(of.mac.tokens.clone()) {
                        model.errors.extend(kinds.0);
                    }
                }
                _ => {}
            }
        }
        for (queue, of) in &self.shared {
            let name = of.ident.to_string();
            let handle = Struct::new(Kind::Handle, name, docs(&of.attrs));
            model.types.insert(format!("{queue}.{}", of.ident), handle);
        }
        for (key, (queue, constant)) in &self.constants {
            let is_visible = is_public(&constant.vis, &constant.attrs);
            if let (true, Some(value)) = (is_visible, self.value(queue, &constant.expr)) {
                model
                    .constants
                    .insert(key.clone(), Constant { value, docs: docs(&constant.attrs) });
            }
        }
        for (queue, item) in &items {
            match item {
                Item::Impl(of) if of.trait_.is_none() && is_of_any_queue(&of.generics) => {
                    let name = path_end(&of.self_ty);
                    for (queue, _) in self.shared.iter().filter(|(_, shared)| shared.ident == name)
                    {
                        self.implementation(&mut model, queue, of);
                    }
                }
                Item::Impl(of) if of.trait_.is_none() => self.implementation(&mut model, queue, of),
                Item::Macro(of) if of.mac.path.is_ident("iterate") => {
                    if let Ok(Loop(name, ty)) = syn::parse2(of.mac.tokens.clone()) {
                        let names = Names { source: &self, queue, owner: &name, generics: &[] };
                        let item = names.ty(&ty);
                        let of = model.types.get_mut(&format!("{queue}.{name}"));
                        of.expect("a loop is a struct").item = Some(item);
                    }
                }
                Item::Macro(of) if of.mac.path.is_ident("setters") => {
                    if let Ok(setters) = syn::parse2::<Setters>(of.mac.tokens.clone()) {
                        self.option_setters(&mut model, queue, setters);
                    }
                }
                _ => {}
            }
        }
        for of in model.types.values_mut() {
            // Hosts give all at once.
            let names: Vec<_> = of.settings.iter().map(|of| of.name.clone()).collect();
            of.settings
                .retain(|of| of.params.len() < 2 || !names.contains(&format!("{}s", of.name)));
        }
        model.types.retain(|_, of| {
            of.kind != Kind::Options || !of.settings.is_empty() || !of.required.is_empty()
        });
        model
    }

    fn structure(&self, model: &mut Model, queue: &str, of: &syn::ItemStruct) {
        let name = of.ident.to_string();
        let key = format!("{queue}.{name}");
        if self.operations.contains(&key) || BELOW.contains(&queue) {
            return;
        }
        let is_handle = of.generics.params.iter().any(is_mode);
        let names = Names { source: self, queue, owner: &name, generics: &[] };
        let fields = of.fields.iter().filter_map(|field| {
            let name = field.ident.as_ref().filter(|_| is_public(&field.vis, &field.attrs))?;
            let docs = docs(&field.attrs);
            Some(Field { name: name.to_string(), ty: names.ty(&field.ty), docs })
        });
        let fields: Vec<_> = fields.filter(|_| !is_handle).collect();
        let kind = match (is_handle, fields.is_empty()) {
            (true, _) => Kind::Handle,
            (_, true) => Kind::Options,
            _ => Kind::Record,
        };
        let made = Struct { fields, ..Struct::new(kind, name, docs(&of.attrs)) };
        model.types.insert(key, made);
    }

    fn implementation(&self, model: &mut Model, queue: &str, of: &syn::ItemImpl) {
        let name = path_end(&of.self_ty);
        for inner in &of.items {
            let syn::ImplItem::Fn(function) = inner else { continue };
            if !is_public(&function.vis, &function.attrs) {
                continue;
            }
            let method = self.method(queue, &name, &of.generics, function);
            // The doors of a client stand in the folders of their queues.
            let Some(key) = model.resolve(queue, &name) else { continue };
            let is_setter = method.has_self
                && method.returns == Type::Named(key.clone())
                && matches!(function.sig.inputs.first(), Some(FnArg::Receiver(this)) if this.reference.is_none());
            let setting = |method: Method| {
                let default = self.defaults.get(&format!("{key}.{}", method.name));
                let default = default.and_then(|(queue, value)| self.value(queue, value));
                let default = default.unwrap_or(Value::None);
                Setting { name: method.name, params: method.params, default, docs: method.docs }
            };
            let Some(of) = model.types.get_mut(&key) else { continue };
            match (is_setter && of.kind != Kind::Record, method.name.as_str()) {
                (true, _) => of.settings.push(setting(method)),
                (_, "new") if of.kind == Kind::Options => of.required = method.params,
                _ => of.methods.push(method),
            }
        }
    }

    fn option_setters(&self, model: &mut Model, queue: &str, setters: Setters) {
        let Some(options) = model.types.get_mut(&format!("{queue}.Options")) else { return };
        for (docs, name, ty) in setters.0 {
            let ty = Names { source: self, queue, owner: "Options", generics: &[] }.ty(&ty);
            let default = self.defaults.get(&format!("{queue}.Options.{name}"));
            let default =
                default.and_then(|(queue, value)| self.value(queue, value)).unwrap_or(Value::None);
            let params = vec![Param::new(name.clone(), ty)];
            options.settings.push(Setting { name, params, default, docs });
        }
    }

    fn method(
        &self,
        queue: &str,
        owner: &str,
        outer: &Generics,
        function: &syn::ImplItemFn,
    ) -> Method {
        let names =
            Names { source: self, queue, owner, generics: &[outer, &function.sig.generics] };
        let params = function.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(param) => {
                let Pat::Ident(name) = &*param.pat else { return None };
                Some(Param::new(name.ident.to_string(), names.ty(&param.ty)))
            }
            FnArg::Receiver(_) => None,
        });
        let (mut is_call, mut can_fail, mut returns) =
            (function.sig.asyncness.is_some(), false, Type::Unit);
        let mut can_fail_as_given = false;
        if let ReturnType::Type(_, ty) = &function.sig.output {
            let last = path_end(ty);
            can_fail_as_given = last == "Result" && second_argument(ty) == "AnyError";
            is_call |= last == "Reply";
            can_fail = last == "Result";
            returns = names.ty(ty);
        }
        Method {
            name: function.sig.ident.to_string(),
            docs: docs(&function.attrs),
            has_self: function.sig.receiver().is_some(),
            params: params.collect(),
            returns,
            is_call,
            can_fail,
            can_fail_as_given,
            alias: function.attrs.iter().find_map(alias),
            forms: Vec::new(),
            must_use: function.attrs.iter().any(|of| of.path().is_ident("must_use")),
        }
    }

    /// The value of an expression of constants.
    fn value(&self, queue: &str, of: &Expr) -> Option<Value> {
        match of {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.base10_parse().ok().map(Value::Number),
                Lit::Float(number) => number.base10_parse().ok().map(Value::Float),
                Lit::Str(text) => Some(Value::Text(text.value())),
                Lit::Bool(flag) => Some(Value::Bool(flag.value)),
                _ => None,
            },
            Expr::Binary(both) => {
                let (left, right) =
                    (self.value(queue, &both.left)?, self.value(queue, &both.right)?);
                let (Value::Number(left), Value::Number(right)) = (left, right) else {
                    return None;
                };
                Some(Value::Number(match both.op {
                    syn::BinOp::Add(_) => left + right,
                    syn::BinOp::Sub(_) => left - right,
                    syn::BinOp::Mul(_) => left * right,
                    syn::BinOp::Shl(_) => left << right,
                    _ => return None,
                }))
            }
            Expr::Path(path) => {
                let name = path.path.segments.last()?.ident.to_string();
                let queues = [queue, "client", "step"];
                let found =
                    queues.iter().find_map(|queue| self.constants.get(&format!("{queue}.{name}")));
                found.and_then(|(queue, constant)| self.value(queue, &constant.expr))
            }
            Expr::Call(call) => {
                let Value::Number(number) = self.value(queue, call.args.first()?)? else {
                    return None;
                };
                match path_end_of(&call.func).as_str() {
                    "from_secs" => Some(Value::Duration(number * 1_000)),
                    "from_millis" => Some(Value::Duration(number)),
                    _ => None,
                }
            }
            // "".into()
            Expr::MethodCall(call) => self.value(queue, &call.receiver),
            Expr::Cast(cast) => self.value(queue, &cast.expr),
            Expr::Paren(inner) => self.value(queue, &inner.expr),
            _ => None,
        }
    }
}

/// Whether a parameter says if calls block.
fn is_mode(param: &GenericParam) -> bool {
    matches!(param, GenericParam::Type(of) if of.ident == "M")
}

/// Whether something is written once for the workers of all queues.
fn is_of_any_queue(of: &Generics) -> bool {
    let is_queue = |bound: &syn::TypeParamBound| {
        let syn::TypeParamBound::Trait(of) = bound else { return false };
        of.path.segments.last().is_some_and(|last| last.ident == "Queue")
    };
    let is_bound = |param: &GenericParam| matches!(param, GenericParam::Type(of) if of.bounds.iter().any(is_queue));
    of.params.iter().any(is_bound)
}

/// Collects the fields of `Self { … }` and `Name { … }` that are not copied from another value.
struct Defaults<'a> {
    source: &'a mut Source,
    queue: &'a str,
    name: &'a str,
}

impl<'ast> Visit<'ast> for Defaults<'_> {
    fn visit_expr_struct(&mut self, of: &'ast syn::ExprStruct) {
        let name = of.path.segments.last().map_or(String::new(), |last| last.ident.to_string());
        let name = if name == "Self" { self.name } else { &name };
        if of.rest.is_none() {
            for field in &of.fields {
                let key = format!("{}.{name}.{}", self.queue, field.member.to_token_stream());
                let value = (self.queue.to_owned(), field.expr.clone());
                if self.source.value(self.queue, &field.expr).is_some() {
                    self.source.defaults.entry(key).or_insert(value);
                }
            }
        }
        syn::visit::visit_expr_struct(self, of);
    }
}

/// Where a type is mentioned.
struct Names<'a> {
    source: &'a Source,
    queue: &'a str,
    owner: &'a str,
    generics: &'a [&'a Generics],
}

impl Names<'_> {
    fn ty(&self, of: &syn::Type) -> Type {
        match of {
            syn::Type::Reference(inner) => self.ty(&inner.elem),
            syn::Type::Paren(inner) => self.ty(&inner.elem),
            syn::Type::Slice(inner) => match self.ty(&inner.elem) {
                Type::Number(8) => Type::Bytes,
                of => Type::List(Box::new(of)),
            },
            syn::Type::Array(inner) if self.ty(&inner.elem) == Type::Number(8) => Type::Bytes,
            syn::Type::Tuple(parts) if parts.elems.is_empty() => Type::Unit,
            syn::Type::Tuple(parts) => {
                Type::Tuple(parts.elems.iter().map(|part| self.ty(part)).collect())
            }
            syn::Type::ImplTrait(of) => self.bounds(&of.bounds),
            syn::Type::Path(path) => self.path(&path.path),
            other => Type::Other(other.to_token_stream().to_string()),
        }
    }

    fn path(&self, path: &syn::Path) -> Type {
        let Some(last) = path.segments.last() else { return Type::Other(String::new()) };
        let inner = match &last.arguments {
            syn::PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().find_map(|argument| match argument {
                    syn::GenericArgument::Type(ty) => Some(self.ty(ty)),
                    _ => None,
                })
            }
            _ => None,
        };
        let name = last.ident.to_string();
        match (name.as_str(), inner) {
            ("Option", Some(inner)) => Type::Option(Box::new(inner)),
            ("Vec", Some(Type::Number(8))) => Type::Bytes,
            ("Vec", Some(inner)) => Type::List(Box::new(inner)),
            ("Arc" | "Box" | "Result" | "Reply", Some(inner)) => inner,
            ("str" | "String", _) => Type::Text,
            ("bool", _) => Type::Bool,
            ("u8", _) => Type::Number(8),
            ("u16", _) => Type::Number(16),
            ("u32", _) => Type::Number(32),
            // Microseconds since 1970.
            ("u64" | "Timestamp", _) => Type::Number(64),
            ("usize", _) => Type::Size,
            ("i64", _) => Type::Signed,
            ("f64", _) => Type::Float,
            ("Duration", _) => Type::Duration,
            ("Headers", _) => Type::Headers,
            ("Self", _) => Type::Named(format!("{}.{}", self.queue, self.owner)),
            _ => self.named(&name),
        }
    }

    fn named(&self, name: &str) -> Type {
        for generics in self.generics {
            for param in &generics.params {
                let GenericParam::Type(param) = param else { continue };
                if param.ident == name {
                    return self.bounds(&param.bounds);
                }
            }
        }
        if let Some(alias) = self.source.aliases.get(&format!("{}.{name}", self.queue)) {
            return self.ty(alias);
        }
        // An id of a stream's entry goes under another name there.
        let name = if name == "MessageId" { "StreamId" } else { name };
        let types = &self.source.types;
        let key = nearest(self.queue, name, &self.source.queues, |key| types.contains(key));
        key.map_or_else(|| Type::Other(name.to_owned()), Type::Named)
    }

    /// `impl AsRef<str>`, `impl IntoIterator<Item = T>`, `impl Into<T>`.
    fn bounds(
        &self,
        bounds: &syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>,
    ) -> Type {
        for bound in bounds {
            let syn::TypeParamBound::Trait(bound) = bound else { continue };
            let Some(last) = bound.path.segments.last() else { continue };
            let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { continue };
            let argument = arguments.args.iter().find_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => Some(self.ty(ty)),
                syn::GenericArgument::AssocType(item) => Some(self.ty(&item.ty)),
                _ => None,
            });
            match (last.ident.to_string().as_str(), argument) {
                ("AsRef" | "Borrow" | "Into", Some(of)) => return of,
                ("IntoIterator", Some(of)) => return Type::List(Box::new(of)),
                _ => {}
            }
        }
        Type::Other(bounds.to_token_stream().to_string())
    }
}

/// The table of kinds of errors, as `kinds!` takes it.
struct Kinds(Vec<ErrorKind>);

impl syn::parse::Parse for Kinds {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let mut kinds = Vec::new();
        while !input.is_empty() {
            let attributes = input.call(Attribute::parse_outer)?;
            let ident: syn::Ident = input.parse()?;
            input.parse::<syn::Token![=]>()?;
            let code: syn::LitInt = input.parse()?;
            input.parse::<syn::Token![,]>()?;
            let name: syn::LitStr = input.parse()?;
            input.parse::<syn::Token![,]>()?;
            let retry: syn::Ident = input.parse()?;
            input.parse::<syn::Token![;]>()?;
            kinds.push(ErrorKind {
                ident: ident.to_string(),
                code: code.base10_parse()?,
                name: name.value(),
                retry: retry.to_string(),
                docs: docs(&attributes),
            });
        }
        Ok(Self(kinds))
    }
}

/// A loop and what it yields to those who block, as `iterate!` takes them.
struct Loop(String, syn::Type);

impl syn::parse::Parse for Loop {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        input.call(Attribute::parse_outer)?;
        let name: syn::Ident = input.parse()?;
        input.parse::<syn::Ident>()?;
        let item = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        input.parse::<syn::Type>()?;
        Ok(Self(name.to_string(), item))
    }
}

/// The setters of the options of a client, as `setters!` takes them.
struct Setters(Vec<(Docs, String, syn::Type)>);

impl syn::parse::Parse for Setters {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let mut setters = Vec::new();
        while !input.is_empty() {
            let attributes = input.call(Attribute::parse_outer)?;
            let name: syn::Ident = input.parse()?;
            input.parse::<syn::Token![:]>()?;
            let ty: syn::Type = input.parse()?;
            input.parse::<syn::Token![=>]>()?;
            input.parse::<Expr>()?;
            input.parse::<syn::Token![;]>()?;
            setters.push((docs(&attributes), name.to_string(), ty));
        }
        Ok(Self(setters))
    }
}

fn docs(attributes: &[Attribute]) -> Docs {
    Docs::parse(&text(attributes))
}

/// The comment that attributes are, with its lines.
pub(crate) fn text(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(of) if of.path.is_ident("doc") => match &of.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(line) => Some(line.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<_> =
        lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect();
    lines.join("\n")
}

/// The other name that an attribute says.
fn alias(attribute: &Attribute) -> Option<String> {
    let mut alias = None;
    if attribute.path().is_ident("doc") && matches!(attribute.meta, Meta::List(_)) {
        // What else there is says nothing of a name.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("alias") {
                alias = Some(meta.value()?.parse::<syn::LitStr>()?.value());
            }
            Ok(())
        });
    }
    alias
}

/// Whether there is an attribute of this name that holds this word.
pub(crate) fn has(attributes: &[Attribute], name: &str, word: &str) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident(name)
            && attribute.meta.to_token_stream().to_string().contains(word)
    })
}

fn is_public(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !has(attributes, "doc", "hidden")
}

fn is_test(attributes: &[Attribute]) -> bool {
    has(attributes, "cfg", "test")
}

fn path_end(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => {
            path.path.segments.last().map_or(String::new(), |last| last.ident.to_string())
        }
        _ => String::new(),
    }
}

/// The name of the second type that a type has as an argument; empty if it has none.
fn second_argument(of: &syn::Type) -> String {
    let syn::Type::Path(path) = of else { return String::new() };
    match path.path.segments.last().map(|last| &last.arguments) {
        Some(syn::PathArguments::AngleBracketed(arguments)) => match arguments.args.iter().nth(1) {
            Some(syn::GenericArgument::Type(ty)) => path_end(ty),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn path_end_of(of: &Expr) -> String {
    match of {
        Expr::Path(path) => {
            path.path.segments.last().map_or(String::new(), |last| last.ident.to_string())
        }
        _ => String::new(),
    }
}
