//! The comments of Ruby, as YARD has them, above the public items of files by hand; and the files whose methods have no
//! body where it is one call of the library: `def receive(max = 1) = core` in `modules`.

use crate::c::abi::CAbi;
use crate::comments::{Comment, Failure, ParamDocs};
use crate::model::Type;
use crate::output::Output;
use crate::ruby::calls::{body, laid_out};
use crate::ruby::names::{LISTED, TAKEN};
use crate::ruby::{Ruby, WIDTH, comment, example, name};

const LIBRARY: &str = "ffi/ruby/lib/millpond";
const MODULES: &str = "ffi/ruby/modules";

/// What a loop returns, and what ends one that waits.
const LOOP: &str = "[self] or, without a block, an Enumerator";
const INTERRUPT: &str =
    "@raise [CancelledError] for an interrupt that `Thread.handle_interrupt` holds back";

impl Ruby<'_> {
    /// Writes the library's files of `modules`.
    pub(crate) fn modules(&self, abi: &CAbi, output: &mut Output) {
        for (path, text) in output.folder(MODULES, &[".rb"]) {
            let (mut out, mut owner, mut lines) = (String::new(), None, text.lines());
            while let Some(line) = lines.next() {
                let code = line.trim_start();
                if let Some(name) = code.strip_prefix("class ") {
                    owner = self.key(name.split([' ', '<']).next().unwrap_or(name));
                }
                let mut signature = line.to_owned();
                while code.starts_with("def ")
                    && signature.matches('(').count() > signature.matches(')').count()
                {
                    signature += &format!("\n{}", lines.next().expect("a signature ends"));
                }
                let Some(signature) = signature.strip_suffix(" = core") else {
                    out += &format!("{signature}\n");
                    continue;
                };
                let indent = line.len() - code.len();
                let body = self.body(abi, owner.as_deref().unwrap_or_default(), signature);
                let body =
                    body.unwrap_or_else(|error| panic!("{path}: {}: {error}", signature.trim()));
                out += &format!("{signature}\n");
                for line in laid_out(&body, indent + 2, WIDTH) {
                    out += &format!("{line}\n");
                }
                out += &format!("{:indent$}end\n", "");
            }
            output.add(&path.replace(MODULES, LIBRARY), out);
        }
    }

    fn body(&self, abi: &CAbi, owner: &str, signature: &str) -> Result<Vec<String>, String> {
        let declared = signature.trim_start().trim_start_matches("def ");
        let (name, params) =
            declared.trim_end_matches(')').split_once('(').unwrap_or((declared, ""));
        let params: Vec<_> =
            params.split(", ").filter_map(|param| param.split([':', ' ']).next()).collect();
        let plain = name.trim_end_matches('?');
        let names = [
            plain.to_owned(),
            self.renamed(owner, plain),
            self.renamed(owner, name),
            format!("is_{plain}"),
        ];
        let methods = self.model.types.get(owner).map_or(&[][..], |of| &of.methods);
        let found = names.iter().find_map(|name| methods.iter().find(|of| of.name == *name));
        let method = found.ok_or(format!("{owner} has no such method"))?;
        body(self.model, abi, owner, method, &params)
    }

    /// Writes the core's comments above what it knows.
    pub(crate) fn revise(&self, output: &mut Output) {
        let is_own = |path: &String| {
            let below = path.strip_prefix(LIBRARY).unwrap_or_default().trim_start_matches('/');
            !below.contains('/')
        };
        let files = output.folder(LIBRARY, &[".rb"]).into_keys().filter(is_own);
        for path in files.collect::<Vec<_>>() {
            let (mut owner, mut is_hidden) = (None, true);
            let marks: (&[_], &[_], &[_]) = (&["#"], &[], &["# @example"]);
            output.revise(&path, marks, |above, lines| {
                let (line, is_documented) = (lines[0].trim(), !above.is_empty());
                let is_api = !above.iter().any(|text| text.contains("@api private"));
                if let Some(name) = line.strip_prefix("class ") {
                    is_hidden = !is_api && is_documented;
                    owner = self.key(name.split([' ', '<']).next().unwrap_or(name));
                    let key = owner
                        .as_ref()
                        .filter(|key| is_api && is_documented && !self.generates(key))?;
                    return Some(self.yard_of(key, self.comments.of(key, &[])?, "", &[]));
                }
                is_hidden |= line == "private";
                let declared = line.strip_prefix("def ").filter(|_| is_api && !is_hidden)?;
                self.method(owner.as_ref()?, declared, lines)
            });
        }
    }

    /// The comment of a method whose declaration begins so.
    fn method(&self, owner: &str, declared: &str, lines: &[&str]) -> Option<Vec<String>> {
        let name = declared.split(['(', ' ']).next()?;
        let params = match declared[name.len()..].starts_with('(') {
            true => lines.join(" ").split_once('(')?.1.split_once(')')?.0.to_owned(),
            false => String::new(),
        };
        let params: Vec<_> = params
            .split(',')
            .map(|param| param.trim().split_once([':', ' ']).unwrap_or((param.trim(), "")))
            .map(|(name, default)| {
                (name.trim_start_matches('*'), default.trim_start_matches([' ', '=']))
            })
            .filter(|(name, _)| !name.is_empty() && !name.starts_with('&'))
            .collect();
        let names: Vec<_> = params.iter().map(|(name, _)| (*name, *name)).collect();
        let plain = name.trim_end_matches(['?', '=']);
        let renamed = self.renamed(owner, plain);
        let of = [plain, &renamed, &format!("is_{plain}")].map(|name| format!("{owner}.{name}"));
        let is_field = |name: &str| self.model.types[owner].fields.iter().any(|of| of.name == name);
        let key = of.iter().find(|key| self.comments.knows(key)).filter(|_| !is_field(plain))?;
        let comment = self.comments.of(key, &names)?;
        let (_, core) = key.rsplit_once('.')?;
        let method = self.comments.method(owner, core);
        let returns = match method.map(|of| self.yard(&of.returns)) {
            None => "[self]".to_owned(),
            Some(ty) if ty.contains('#') => LOOP.to_owned(),
            // A modification of the library's own making.
            Some(ty)
                if ty == "Modified" && !params.iter().any(|(name, _)| *name == "modification") =>
            {
                "[nil]".to_owned()
            }
            Some(ty) => format!("[{ty}]"),
        };
        for (name, _) in &params {
            let said = |text: &String| text.starts_with(&format!("@param {name} "));
            if !comment.params.iter().any(|of| of.name == *name) && !comment.text.iter().any(said) {
                panic!("ffi/ruby/docs.md has nothing on {key}.{name}");
            }
        }
        Some(self.yard_of(owner, comment, &returns, &params))
    }

    /// Paragraphs of text, and behind them tags; `params` with their defaults in Ruby.
    fn yard_of(
        &self,
        owner: &str,
        found: Comment,
        returns: &str,
        params: &[(&str, &str)],
    ) -> Vec<String> {
        let (own, mut text): (Vec<_>, Vec<_>) =
            found.text.into_iter().partition(|text| text.starts_with('@'));
        let own_tag = |start: &str| {
            own.iter().filter(|tag| tag.starts_with(start)).cloned().collect::<Vec<_>>()
        };
        for (name, default) in params {
            let tag = own_tag(&format!("@param {name} "));
            let of = found.params.iter().find(|of| of.name == *name);
            text.extend(of.filter(|_| tag.is_empty()).map(|of| self.param(of, default)));
            text.extend(tag);
        }
        text.extend(own_tag("@yield"));
        let result = own_tag("@return");
        if result.is_empty() && !returns.is_empty() {
            text.push(format!("@return {returns}"));
        }
        text.extend(result);
        text.extend(own_tag("@raise"));
        text.extend(found.errors.iter().filter_map(raise));
        if !params.is_empty() && !text.iter().any(|tag| tag.starts_with("@raise (see")) {
            text.push("@raise [TypeError] for arguments of other types".to_owned());
        }
        if returns == LOOP {
            text.push(INTERRUPT.to_owned());
        }
        // Links to the class that this is in.
        let (class, mut out) = (name(owner), String::new());
        let near = |text: &String| {
            ["{", "(see "].iter().fold(text.clone(), |text, start| {
                text.replace(&format!("{start}{class}#"), &format!("{start}#"))
            })
        };
        comment(&mut out, 0, &text.iter().map(near).collect::<Vec<_>>());
        out.lines().map(str::to_owned).chain(example(&found.examples)).collect()
    }

    fn param(&self, of: &ParamDocs, default: &str) -> String {
        let (ty, text) = match of.text.strip_prefix('[').and_then(|text| text.split_once("] ")) {
            Some((ty, text)) => (ty.to_owned(), text),
            None => (self.taken(of, default), of.text.as_str()),
        };
        let text = if of.is_time { in_seconds(text) } else { text.to_owned() };
        let endless = if of.name == "wait" && !of.has_end {
            "; `Float::INFINITY` waits without limit"
        } else {
            ""
        };
        let more = match default == "nil"
            && !["", "0"].contains(&of.default.as_str())
            && !text.contains("by default")
        {
            true => format!("; {} by default", of.default),
            false => String::new(),
        };
        format!("@param {} [{ty}] {text}{endless}{more}", of.name)
    }

    /// The type of a parameter, by its default or else by that of the core.
    fn taken(&self, of: &ParamDocs, default: &str) -> String {
        let ty = match (default, &of.ty) {
            ("JsonText::NONE", _) if of.name == "json" => "String, nil".to_owned(),
            ("JsonText::NONE", _) => "Object".to_owned(),
            ("true" | "false", _) => "Boolean".to_owned(),
            ("nil", _) if of.name == "at_ms" => "Integer, Time, nil".to_owned(),
            ("[]", Some(Type::Text) | None) => "String, Enumerable<String>".to_owned(),
            (_, Some(ty)) => self.yard_in(ty),
            ("\"\"", None) => "String".to_owned(),
            (_, None) if of.is_time => "Numeric".to_owned(),
            (_, None) if default.parse::<u64>().is_ok() => "Integer".to_owned(),
            _ => panic!("ffi/ruby/docs.md has no type of {} = {default}", of.name),
        };
        if default == "nil" && !ty.ends_with("nil") { format!("{ty}, nil") } else { ty }
    }

    fn yard_in(&self, ty: &Type) -> String {
        match ty {
            Type::Duration | Type::Float => "Numeric".to_owned(),
            Type::Option(of) => format!("{}, nil", self.yard_in(of)),
            Type::List(of) => match &**of {
                Type::Text => "String, Enumerable<String>".to_owned(),
                Type::Named(key) if LISTED.contains(&key.as_str()) => {
                    format!("Enumerable<{}>", self.yard_in(of))
                }
                Type::Named(_) => {
                    let one = self.yard_in(of);
                    format!("{one}, Enumerable<{one}>")
                }
                Type::Tuple(parts) if parts[..] == [Type::Bytes, Type::Bytes] => {
                    "Hash, Enumerable<Array(String, String)>".to_owned()
                }
                Type::Tuple(parts) if parts[0] == Type::Bytes => {
                    "Enumerable<Array(String, Object)>".to_owned()
                }
                Type::Tuple(_) => {
                    "Enumerable<Array(Numeric, String), Array(nil, String), String>".to_owned()
                }
                of => format!("Enumerable<{}>", self.yard_in(of)),
            },
            Type::Named(key) => {
                let found = TAKEN.split(';').find_map(|pair| pair.strip_prefix(&format!("{key}=")));
                found.map_or_else(|| self.yard(ty), str::to_owned)
            }
            ty => self.yard(ty),
        }
    }
}

/// What is said of a time, with its unit behind the first part of the sentence.
pub(crate) fn in_seconds(text: &str) -> String {
    let is_code = |at: usize| text[..at].matches('`').count() % 2 == 1;
    let mut ends = text.match_indices(['.', ';', ':', '(']).map(|(at, _)| at);
    let (first, rest) = text.split_at(ends.find(|at| !is_code(*at)).unwrap_or(text.len()));
    format!("{first}, in seconds{rest}")
}

/// What an error is raised for; or `(see …)` for what is as elsewhere.
fn raise(of: &Failure) -> Option<String> {
    let when = of.when.trim();
    if of.classes.is_empty() {
        let see = when.strip_prefix("As {").and_then(|rest| rest.split_once('}'));
        return see.map(|(other, _)| format!("@raise (see {other})"));
    }
    let classes: Vec<_> = of.classes.iter().map(|class| class.trim_matches(['{', '}'])).collect();
    Some(format!("@raise [{}] {when}", classes.join(", ")))
}
