//! What is said of an item in one host: the core's comment in the host's words, what the host's page adds, words on
//! the parameters that the host has, and what can go wrong. Every comment of a binding that the core knows
//! comes from here: those in generated files, and those above the public items of files by hand.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::docs::{Block, Docs, Renderer, Words, grouped, time};
use crate::model::{ErrorKind, Method, Model, Type, Value};
use crate::overlay::Overlay;
use crate::surface::Surface;

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
    /// What it is if it is not given, for people; empty if it has to be given or its text says it.
    pub(crate) default: String,
}

/// Errors, and when they come.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Failure {
    /// In the host's words; none if the text names what else to read.
    pub(crate) classes: Vec<String>,
    pub(crate) when: String,
}

/// The comments of a host.
pub(crate) struct Comments<'a> {
    pub(crate) model: &'a Model,
    pub(crate) surface: &'a Surface,
    pub(crate) overlay: Overlay,
    words: &'a dyn Words,
}

impl<'a> Comments<'a> {
    /// With what the host's page says.
    pub(crate) fn new(
        root: &Path,
        model: &'a Model,
        surface: &'a Surface,
        page: &str,
        words: &'a dyn Words,
    ) -> Self {
        Self { model, surface, overlay: Overlay::read(root, page), words }
    }

    /// The comment of an item by its key: `tasks.Task`, `tasks.Task.attempt`, `tasks.TaskStore.claim` or
    /// `client.LeaseLost`. `params` are the host's parameters, by the core's names and by its own.
    /// Nothing if the core does not know the item and the page has nothing on it.
    pub(crate) fn of(&self, key: &str, params: &[(&str, &str)]) -> Option<Comment> {
        let note = self.overlay.of(key);
        let (owner, docs, method) = match self.item(key) {
            Some(found) => found,
            None if note.paragraphs.is_empty() && note.examples.is_empty() => return None,
            None => (key, Docs::default(), None),
        };
        let renderer = self.renderer(owner);
        let mut text = if note.replaces { Vec::new() } else { renderer.text(&docs) };
        let own = note.paragraphs.into_iter().map(Block::Paragraph).collect::<Vec<_>>();
        text.extend(renderer.blocks(&own));
        let name = key.rsplit('.').next().unwrap_or(key);
        let of = |(core, host): &(&str, &str)| {
            let declared = method.map_or(&[][..], |method| &method.params);
            let ty = declared.iter().find(|param| param.name == *core).map(|param| &param.ty);
            self.param(owner, name, core, host, ty)
        };
        Some(Comment {
            text,
            params: params.iter().filter_map(of).collect(),
            errors: self.errors(&renderer, docs.section("Errors")),
            examples: note.examples,
        })
    }

    /// A text of the core's in the host's words.
    pub(crate) fn inline(&self, owner: &str, text: &str) -> String {
        self.renderer(owner).inline(text)
    }

    /// The method of the core that `owner` has by this name.
    pub(crate) fn method(&self, owner: &str, name: &str) -> Option<&'a Method> {
        self.model.types.get(owner)?.methods.iter().find(|method| method.name == name)
    }

    fn renderer<'b>(&'b self, owner: &'b str) -> Renderer<'b> {
        Renderer { model: self.model, words: self.words, owner }
    }

    /// The type that an item belongs to, its comment, and the method that it is.
    fn item<'b>(&self, key: &'b str) -> Option<(&'b str, Docs, Option<&'a Method>)> {
        let model = self.model;
        let of_type = model.types.get(key).map(|of| &of.docs);
        let of_type = of_type.or_else(|| model.enums.get(key).map(|of| &of.docs));
        let of_type = of_type.or_else(|| {
            let ident = key.strip_prefix("client.")?;
            model.errors.iter().find(|error| error.ident == ident).map(|error| &error.docs)
        });
        if let Some(docs) = of_type {
            return Some((key, docs.clone(), None));
        }
        let (owner, name) = key.rsplit_once('.')?;
        if let Some(method) = self.method(owner, name) {
            return Some((owner, method.docs.clone(), Some(method)));
        }
        let of = model.types.get(owner)?;
        let setting = of.settings.iter().find(|of| of.name == name).map(|of| &of.docs);
        let field = of.fields.iter().find(|of| of.name == name).map(|of| &of.docs);
        Some((owner, setting.or(field)?.clone(), None))
    }

    /// What is said of a parameter: on the host's page (`# tasks.TaskStore.claim.lease`), or else in `surface.md`.
    fn param(
        &self,
        owner: &str,
        method: &str,
        core: &str,
        host: &str,
        ty: Option<&Type>,
    ) -> Option<ParamDocs> {
        let own = self.overlay.of(&format!("{owner}.{method}.{core}"));
        let words = self.surface.of(owner, method, core);
        let docs = match own.paragraphs.first() {
            Some(text) => text.clone(),
            None => words?.docs.clone(),
        };
        let default = match words.and_then(|words| words.default.as_ref()) {
            Some(Value::Number(number)) => grouped(*number),
            Some(Value::Duration(ms)) => time(*ms),
            _ => String::new(),
        };
        let is_time = match ty {
            Some(ty) => *ty == Type::Duration || *ty == Type::Option(Box::new(Type::Duration)),
            None => docs.starts_with("how long"),
        };
        let text = self.inline(owner, docs.trim_end_matches('.'));
        Some(ParamDocs { name: host.to_owned(), text, is_time, default })
    }

    /// A section of errors, taken apart: ``[`CLOSED`] if …; [`TIMEOUT`] and [`CANCELLED`] …``.
    fn errors(&self, renderer: &Renderer<'_>, blocks: &[Block]) -> Vec<Failure> {
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
                None => all.push(Failure { classes, when }),
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
