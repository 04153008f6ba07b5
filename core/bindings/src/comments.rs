//! What is said of an item in one host: the core's comment in the host's words, what the host's page adds, words on
//! the parameters that the host has, and what can go wrong. Every comment of a binding that the core knows
//! comes from here: those in generated files, and those above the public items of files by hand.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::docs::{Block, Docs, Renderer, Words, grouped, time};
use crate::model::{ErrorKind, Method, Model, Param, Setting, Type, Value};
use crate::overlay::Overlay;

/// A comment, in parts: each host arranges them as its readers expect.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Comment {
    /// Paragraphs, each without line breaks unless it is a table; items of lists begin with `- `.
    pub(crate) text: Vec<String>,
    /// In the order of the host's signature.
    pub(crate) params: Vec<ParamDocs>,
    pub(crate) errors: Vec<Failure>,
    /// Code, with its lines.
    pub(crate) examples: Vec<String>,
}

#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct ParamDocs {
    /// As the host has it.
    pub(crate) name: String,
    /// A part of a sentence, without a full stop.
    pub(crate) text: String,
    /// Whether it is a span of time, whose unit differs by host.
    pub(crate) is_time: bool,
    /// Whether a wait is never longer than its words say.
    pub(crate) has_end: bool,
    /// What it is if it is not given, for people; empty if it has to be given or its text says it.
    pub(crate) default: String,
    /// The core's type, unless only hosts have it.
    #[serde(skip)]
    pub(crate) ty: Option<Type>,
}

/// Errors, and when they come.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// In the host's words; none if the text names what else to read, or for an error of a function that was given.
    pub(crate) classes: Vec<String>,
    pub(crate) is_given: bool,
    pub(crate) when: String,
}

/// The comments of a host.
pub(crate) struct Comments<'a> {
    pub(crate) model: &'a Model,
    pub(crate) overlay: Overlay,
    words: &'a dyn Words,
}

impl<'a> Comments<'a> {
    /// With what the host's page says.
    pub(crate) fn new(root: &Path, model: &'a Model, page: &str, words: &'a dyn Words) -> Self {
        Self { model, overlay: Overlay::read(root, page), words }
    }

    /// The comment of an item by its key: `tasks.Task`, `tasks.Task.attempt`, `tasks.TaskStore.claim` or
    /// `client.LeaseLost`. `params` are the host's parameters, by the core's names and by its own.
    /// Nothing if the core does not know the item and the page has nothing on it.
    pub(crate) fn of(&self, key: &str, params: &[(&str, &str)]) -> Option<Comment> {
        let note = self.overlay.of(key);
        let of_type = key.rsplit_once('.').filter(|(owner, _)| owner.contains('.'));
        let (owner, name) = of_type.unwrap_or((key, ""));
        let docs = match self.item(key) {
            Some(docs) => docs,
            None if note.paragraphs.is_empty() && note.examples.is_empty() => return None,
            None => Docs::default(),
        };
        let renderer = self.renderer(owner);
        let mut text = if note.replaces { Vec::new() } else { renderer.text(&docs) };
        let own = note.paragraphs.into_iter().map(Block::Paragraph).collect::<Vec<_>>();
        text.extend(renderer.blocks(&own));
        let of = |(core, host): &(&str, &str)| self.param(owner, name, core, host);
        Some(Comment {
            text,
            params: params.iter().filter_map(of).collect(),
            errors: self.errors(&renderer, self.method(owner, name), docs.section("Errors")),
            examples: note.examples,
        })
    }

    /// Whether the core or the host's page has something on an item.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.of(key, &[]).is_some()
    }

    /// A text of the core's in the host's words.
    pub(crate) fn inline(&self, owner: &str, text: &str) -> String {
        self.renderer(owner).inline(text)
    }

    /// The method of the core that `owner` has by this name.
    pub(crate) fn method(&self, owner: &str, name: &str) -> Option<&'a Method> {
        self.model.types.get(owner)?.methods.iter().find(|method| method.name == name)
    }

    pub(crate) fn renderer<'b>(&'b self, owner: &'b str) -> Renderer<'b> {
        Renderer { model: self.model, words: self.words, owner }
    }

    /// The comment that the core has on an item.
    fn item(&self, key: &str) -> Option<Docs> {
        let model = self.model;
        let of_type = model.types.get(key).map(|of| &of.docs);
        let of_type = of_type.or_else(|| model.enums.get(key).map(|of| &of.docs));
        let of_type = of_type.or_else(|| {
            let ident = key.strip_prefix("client.")?;
            model.errors.iter().find(|error| error.ident == ident).map(|error| &error.docs)
        });
        let of_member = || {
            let (owner, name) = key.rsplit_once('.')?;
            let of = model.types.get(owner)?;
            let setting = of.settings.iter().find(|of| of.name == name).map(|of| &of.docs);
            let field = of.fields.iter().find(|of| of.name == name).map(|of| &of.docs);
            self.method(owner, name).map(|of| &of.docs).or(setting).or(field)
        };
        of_type.or_else(of_member).cloned()
    }

    /// What a method or a setting takes, and the options and handles that it takes or returns: hosts have the
    /// settings of those as parameters of its own.
    fn callee(&self, owner: &str, name: &str) -> (&'a [Param], Vec<&'a str>) {
        let setting = || {
            Some(&self.model.types.get(owner)?.settings.iter().find(|of| of.name == name)?.params)
        };
        let (params, returns) = match self.method(owner, name) {
            Some(method) => (&method.params, Some(&method.returns)),
            None => (setting().unwrap_or(const { &Vec::new() }), None),
        };
        let types = params.iter().map(|param| &param.ty).chain(returns);
        (params, types.filter_map(Type::named).collect())
    }

    /// What is said of a parameter: on the host's page (`# tasks.TaskStore.claim.lease`), or else in `surface.md`
    /// or where it is a setting.
    fn param(&self, owner: &str, method: &str, core: &str, host: &str) -> Option<ParamDocs> {
        let own = self.overlay.of(&format!("{owner}.{method}.{core}"));
        let (params, related) = self.callee(owner, method);
        let declared = params.iter().find(|param| param.name == core);
        let related: Vec<_> =
            related.iter().filter_map(|key| Some((*key, self.model.types.get(*key)?))).collect();
        let related = || related.iter().filter(|_| declared.is_none());
        let words = related().find_map(|(key, _)| self.model.surface.own(key, core));
        // One that speaks of its own parameter is of no use elsewhere.
        let is = |of: &&Setting| {
            let names_its_own =
                |param: &Param| of.docs.first().contains(&format!("`{}`", param.name));
            let is_named = of.name == core || of.params.iter().any(|param| param.name == core);
            is_named && !of.params.iter().any(names_its_own)
        };
        let setting = related().find_map(|(key, of)| Some((*key, of.settings.iter().find(is)?)));
        let required =
            || related().find_map(|(_, of)| of.required.iter().find(|of| of.name == core));
        let general = || self.model.surface.of(owner, method, core);
        let words = words.or_else(|| general().filter(|_| setting.is_none()));
        let text = match (own.paragraphs.first(), words, setting) {
            (Some(text), ..) => self.inline(owner, text),
            (_, Some(words), _) => self.inline(owner, &words.docs),
            (_, _, Some((key, setting))) => {
                let text = self.renderer(key).text(&setting.docs).join(" ");
                text[..1].to_lowercase() + &text[1..]
            }
            _ => return None,
        };
        let taken = declared.or_else(|| setting?.1.params.first()).or_else(required);
        let ty = taken.map(|param| param.ty.clone());
        let default = words.and_then(|words| words.default.as_ref());
        let default = match default.or_else(|| Some(&setting?.1.default)) {
            Some(Value::Number(number)) => grouped(*number),
            Some(Value::Duration(ms)) => time(*ms),
            _ => String::new(),
        };
        let is_time = match &ty {
            Some(ty) => ty.is_time(),
            None => words.is_some_and(|words| words.is_time),
        };
        let text = text.trim_end_matches('.').to_owned();
        let has_end = words.is_some_and(|words| words.max.is_some());
        Some(ParamDocs { name: host.to_owned(), text, is_time, has_end, default, ty })
    }

    /// A section of errors, taken apart: ``[`CLOSED`] if …; [`TIMEOUT`] and [`CANCELLED`] …``.
    fn errors(
        &self,
        renderer: &Renderer<'_>,
        method: Option<&Method>,
        blocks: &[Block],
    ) -> Vec<Failure> {
        let mut all: Vec<Failure> = Vec::new();
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Paragraph(text) => Some(text.trim_end_matches('.')),
            _ => None,
        });
        for clause in texts.flat_map(|text| text.split("; ")) {
            let clause = clause.trim_start_matches("also ");
            let (mut classes, mut rest) = (Vec::new(), clause);
            while let Some((error, after)) = self.error_at(rest) {
                classes.push(self.words.error(error));
                let next = after.trim_start_matches(',').trim_start();
                rest = next.strip_prefix("and ").unwrap_or(next);
            }
            let when = renderer.inline(rest);
            match all.last_mut().filter(|_| classes.is_empty()) {
                Some(last) => last.when += &format!("; {when}"),
                None => {
                    let can_be_given = method.is_some_and(|of| of.can_fail_as_given);
                    let is_given = classes.is_empty() && can_be_given;
                    all.push(Failure { classes, is_given, when });
                }
            }
        }
        all
    }

    /// The error that a text begins with, and what follows it.
    fn error_at<'b>(&self, text: &'b str) -> Option<(&'a ErrorKind, &'b str)> {
        let (name, rest) = text.trim_start_matches('[').strip_prefix('`')?.split_once('`')?;
        let name = name.rsplit("::").next()?;
        let named = |error: &&ErrorKind| error.name == name || error.ident == name;
        let error = self.model.errors.iter().find(named)?;
        Some((error, rest.trim_start_matches(']')))
    }
}
