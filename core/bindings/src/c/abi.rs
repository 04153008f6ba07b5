//! Reads what the C library exports from its source: structures with their fields in order, and functions. For
//! the hosts that load the library, which need offsets and argument types as numbers.

use quote::ToTokens;
use syn::visit::Visit;
use syn::{FnArg, Item, Pat, ReturnType};

use crate::output::Output;
use crate::source;

/// Names have no `millpond_` here.
#[derive(Default)]
pub(crate) struct CAbi {
    pub(crate) structs: Vec<CStruct>,
    pub(crate) functions: Vec<CFunction>,
}

pub(crate) struct CStruct {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, CType)>,
}

pub(crate) struct CFunction {
    pub(crate) name: String,
    pub(crate) params: Vec<(String, CType)>,
    pub(crate) returns: CType,
    /// Whether it may wait for a server, a disk, another thread or work: what it does is run by `Caller::run`, not by
    /// `Caller::local`.
    pub(crate) waits: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CType {
    Unit,
    /// A number as Rust names it, `bool`, or `c_char` behind a pointer.
    Plain(String),
    Pointer(Box<CType>),
    /// A structure or a handle.
    Named(String),
}

impl CAbi {
    /// What is generated now stands for what is on disk.
    pub(crate) fn read(output: &Output) -> Self {
        let mut abi = Self::default();
        for (path, text) in output.folder("ffi/src", &[".rs"]) {
            // Only a library for tests has that function.
            if !path.ends_with("/test_panic.rs") {
                abi.file(&text);
            }
        }
        // As their declarations have to be in C: a structure comes after those that it holds.
        for index in 0..abi.structs.len() {
            while let Some(later) = abi.held_later(index) {
                let held = abi.structs.remove(later);
                abi.structs.insert(index, held);
            }
        }
        abi
    }

    pub(crate) fn structure(&self, name: &str) -> &CStruct {
        let found = self.structs.iter().find(|of| of.name == name);
        found.unwrap_or_else(|| panic!("the C library has no structure millpond_{name}"))
    }

    fn held_later(&self, index: usize) -> Option<usize> {
        let holds = |name: &str| {
            self.structs[index].fields.iter().any(|(_, ty)| *ty == CType::Named(name.to_owned()))
        };
        (index + 1..self.structs.len()).find(|later| holds(&self.structs[*later].name))
    }

    fn file(&mut self, text: &str) {
        let file = syn::parse_file(text).expect("ffi/src compiles");
        for item in file.items {
            match item {
                Item::Struct(of) if source::has(&of.attrs, "repr", "C") => {
                    let field = |field: &syn::Field| {
                        let name = field.ident.as_ref().map(ToString::to_string);
                        Some((name?, c_type(&field.ty)))
                    };
                    let fields: Vec<_> = of.fields.iter().filter_map(field).collect();
                    if let (false, Some(name)) = (fields.is_empty(), c_name(&of.ident)) {
                        self.structs.push(CStruct { name, fields });
                    }
                }
                Item::Fn(of) if of.sig.abi.is_some() => self.function(&of),
                _ => {}
            }
        }
    }

    fn function(&mut self, of: &syn::ItemFn) {
        let Some(name) = c_name(&of.sig.ident) else { return };
        let params = of.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(param) => match &*param.pat {
                Pat::Ident(name) => Some((name.ident.to_string(), c_type(&param.ty))),
                _ => None,
            },
            FnArg::Receiver(_) => None,
        });
        let params: Vec<_> = params.collect();
        let returns = match &of.sig.output {
            ReturnType::Default => CType::Unit,
            ReturnType::Type(_, ty) => c_type(ty),
        };
        let mut body = Body::default();
        body.visit_block(&of.block);
        let waits = body.runs;
        self.functions.push(CFunction { name, params, returns, waits });
    }
}

/// Whether a function calls `caller.run(…)`.
#[derive(Default)]
struct Body {
    runs: bool,
}

impl<'ast> Visit<'ast> for Body {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_caller =
            matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("caller"));
        self.runs |= is_caller && call.method == "run";
        syn::visit::visit_expr_method_call(self, call);
    }
}

fn c_name(of: &syn::Ident) -> Option<String> {
    of.to_string().strip_prefix("millpond_").map(str::to_owned)
}

fn c_type(of: &syn::Type) -> CType {
    match of {
        syn::Type::Ptr(inner) => CType::Pointer(Box::new(c_type(&inner.elem))),
        syn::Type::Path(path) => {
            let name =
                path.path.segments.last().map_or(String::new(), |last| last.ident.to_string());
            match (name.strip_prefix("millpond_"), name.as_str()) {
                (Some(named), _) => CType::Named(named.to_owned()),
                (None, "c_bool") => CType::Plain("bool".to_owned()),
                // An option of a function is a pointer to it.
                (None, "Option") => CType::Pointer(Box::new(CType::Unit)),
                _ => CType::Plain(name),
            }
        }
        other => CType::Plain(other.to_token_stream().to_string()),
    }
}
