//! The text of generated files: templates of a host, as Jinja has them, in a folder beside the host's sources.

use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::docs::{camel, pascal, snake};

/// The templates of a host. What it has of its own is added with `add_filter` and `add_function`.
pub(crate) struct Templates(pub(crate) Environment<'static>);

impl Templates {
    /// All in this folder.
    pub(crate) fn read(root: &Path, folder: &str) -> Self {
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build();
        env.set_syntax(syntax.expect("these are settings of Jinja"));
        env.add_filter("camel", |text: &str| camel(text));
        env.add_filter("pascal", |text: &str| pascal(text));
        env.add_filter("snake", |text: &str| snake(text));
        let folder = root.join(folder);
        let entries =
            folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
            if let Err(error) = env.add_template_owned(name, text) {
                panic!("{}: {error}", path.display());
            }
        }
        Self(env)
    }

    /// One of them with these values.
    pub(crate) fn render(&self, name: &str, values: impl Serialize) -> String {
        let made = self.0.get_template(name).and_then(|template| template.render(Serde(values)));
        made.unwrap_or_else(|error| panic!("{name}: {error:#}"))
    }
}
