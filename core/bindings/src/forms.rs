//! Methods that hosts have as one with an option: `retry` and `retry_after` are `retry` with a `delay`, `reserve` and
//! `reserve_backwash` are `reserve` with a flag.

use crate::model::{Method, Model, Param, Type};
use crate::surface::Surface;

/// Another form of a method, for the case that an option is given.
pub(crate) struct Form<'a> {
    pub(crate) method: &'a Method,
    /// What it takes more; a flag is a part of its name.
    pub(crate) option: Param,
    pub(crate) is_flag: bool,
}

/// The forms of a method: those that are called as it is and more, or say so by an alias, and take what it takes and
/// an option that need not be given.
pub(crate) fn forms<'a>(
    model: &'a Model,
    surface: &Surface,
    owner: &str,
    base: &Method,
) -> impl Iterator<Item = Form<'a>> {
    let all = model.types.get(owner).map_or(&[][..], |of| &of.methods);
    all.iter().filter_map(move |method| {
        let is_alias = method.alias.as_ref() == Some(&base.name);
        let suffix = method.name.strip_prefix(&base.name).and_then(|rest| rest.strip_prefix('_'));
        let suffix = suffix.or(is_alias.then_some(&method.name))?;
        let is_same = method.returns == base.returns
            && method.params.len() >= base.params.len()
            && base.params.iter().zip(&method.params).all(|(one, other)| one.name == other.name);
        let option = match &method.params.get(base.params.len()..).filter(|_| is_same)? {
            [] => Param { name: suffix.to_owned(), ty: Type::Bool },
            [option] => option.clone(),
            _ => return None,
        };
        surface.of(owner, &base.name, &option.name)?.default.as_ref()?;
        Some(Form { method, option, is_flag: method.params.len() == base.params.len() })
    })
}

/// The method of which this one is a form, and the form.
pub(crate) fn form_of<'a>(
    model: &'a Model,
    surface: &Surface,
    owner: &str,
    method: &Method,
) -> Option<(&'a Method, Form<'a>)> {
    let all = &model.types.get(owner)?.methods;
    all.iter().find_map(|base| {
        let form =
            forms(model, surface, owner, base).find(|form| form.method.name == method.name)?;
        Some((base, form))
    })
}
