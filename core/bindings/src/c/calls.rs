//! What a method is in the C library, for the hosts that call it there: its function, and that function's parameters,
//! each with its kind in one word.

use crate::c::abi::{CAbi, CFunction, CType};
use crate::c::names::NAMES;
use crate::model::Method;

/// A parameter of a function, or a field of its options.
#[derive(Clone, Debug)]
pub(crate) struct CArgument {
    /// As the core calls it: without its unit.
    pub(crate) core: String,
    /// The type with a `*` for each pointer, a `+` if the next parameter is the length or the count of it, and the
    /// unit of its name: `*c_char+`, `i64_ms`.
    pub(crate) kind: String,
    /// The type alone.
    pub(crate) ty: String,
}

/// The function for a method of a type whose handle is called so.
pub(crate) fn function<'a>(
    abi: &'a CAbi,
    key: &str,
    handle: &str,
    method: &Method,
) -> Option<&'a CFunction> {
    let queue = key.split('.').next()?;
    let full = format!("{key}.{}", method.name);
    let own = NAMES.iter().find(|(of, _)| *of == full).map_or(&*method.name, |(_, name)| name);
    let is_it = |name: &str| {
        [handle, queue].iter().any(|of| {
            name.strip_prefix(&format!("{of}_{own}"))
                .is_some_and(|rest| ["", "_read", "_ms"].contains(&rest))
        })
    };
    let takes = |of: &CFunction| {
        of.params.first().is_some_and(|(_, ty)| spelled(ty) == format!("*{handle}"))
    };
    abi.functions.iter().find(|of| is_it(&of.name) && takes(of))
}

/// What these parameters are.
pub(crate) fn arguments(method: &Method, params: &[(String, CType)]) -> Vec<CArgument> {
    let (mut params, mut all) = (params.iter().peekable(), Vec::new());
    while let Some((name, ty)) = params.next() {
        let ty = spelled(ty);
        let mut kind = ty.clone();
        let ends = ["count", "_count", "_length"];
        if params.next_if(|(name, _)| ends.iter().any(|end| name.ends_with(end))).is_some() {
            kind.push('+');
        }
        let mut core = name.strip_suffix("_name").unwrap_or(name);
        for unit in ["_ms", "_s"] {
            if let Some(name) = core.strip_suffix(unit).filter(|name| *name != "at") {
                (core, kind) = (name, kind + unit);
            }
        }
        if core == "delay" && method.params.iter().any(|of| of.name == "after") {
            core = "after";
        }
        all.push(CArgument { core: core.to_owned(), kind, ty });
    }
    all
}

/// A C type in one word, a `*` for each pointer.
pub(crate) fn spelled(ty: &CType) -> String {
    match ty {
        CType::Unit => "void".to_owned(),
        CType::Plain(name) | CType::Named(name) => name.clone(),
        CType::Pointer(inner) => format!("*{}", spelled(inner)),
    }
}
