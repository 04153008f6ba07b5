//! What a method is for the hosts, beside its signature: the words on its parameters, and its forms. Several methods are
//! one with an option there: `retry` and `retry_after` are `retry` with a `delay`, `reserve` and `reserve_backwash` are
//! `reserve` with a flag.

use crate::model::{Method, Model, Param, Type};
use crate::surface::Surface;

/// Another form of a method, for the case that an option is given.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The name of the core's method.
    pub(crate) method: String,
    /// What it takes more; a flag is a part of its name.
    pub(crate) option: Param,
    pub(crate) is_flag: bool,
    /// Whether its name says nothing of the other's.
    pub(crate) is_alias: bool,
}

/// Adds both to all methods.
pub(crate) fn complete(model: &mut Model) {
    let Model { types, surface, .. } = model;
    for (owner, of) in types {
        for method in &mut of.methods {
            for param in &mut method.params {
                param.words = surface.of(owner, &method.name, &param.name).cloned();
            }
        }
        let forms: Vec<_> =
            of.methods.iter().map(|base| forms(surface, owner, &of.methods, base)).collect();
        for (method, forms) in of.methods.iter_mut().zip(forms) {
            method.forms = forms;
        }
    }
}

/// The forms of a method: those that are called as it is and more, or say so by an alias, and take what it takes and
/// an option that need not be given.
fn forms(surface: &Surface, owner: &str, all: &[Method], base: &Method) -> Vec<Form> {
    let form = |method: &Method| {
        let is_alias = method.alias.as_ref() == Some(&base.name);
        let suffix = method.name.strip_prefix(&base.name).and_then(|rest| rest.strip_prefix('_'));
        let suffix = suffix.or(is_alias.then_some(&method.name))?;
        let is_same = method.returns == base.returns
            && method.params.len() >= base.params.len()
            && base.params.iter().zip(&method.params).all(|(one, other)| one.name == other.name);
        let mut option = match &method.params.get(base.params.len()..).filter(|_| is_same)? {
            [] => Param::new(suffix, Type::Bool),
            [option] => option.clone(),
            _ => return None,
        };
        option.words = surface.of(owner, &base.name, &option.name).cloned();
        option.default()?;
        let is_flag = method.params.len() == base.params.len();
        Some(Form { method: method.name.clone(), option, is_flag, is_alias })
    };
    all.iter().filter_map(form).collect()
}
