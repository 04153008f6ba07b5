//! C: the handles, and the functions that convert arguments, call the core and convert the result, with their
//! comments, in `ffi/src/*/generated_calls.rs`: one for each method of which `ffi/src` has none by hand and
//! whose types C has.

use std::path::Path;

use minijinja::{Value as View, context};

use crate::c::names::{LEASES, MAIN, NAMES, NOT_IN_C, PAIRS, QUEUES, TRUTHS};
use crate::c::{C, c_name, c_struct, has_struct, is_fixed, is_worker, member};
use crate::docs::{Block, Docs, grouped, snake};
use crate::forms::Form;
use crate::model::{Kind, Method, Model, Param, Setting, Struct, Type, Value};
use crate::output::Output;
use crate::templates::Templates;

/// What a function does with a result: how it is declared, what comes before the call and after it, and the
/// words on it.
#[derive(Default)]
struct Out {
    declared: String,
    before: String,
    after: String,
    words: String,
}

impl C<'_> {
    /// The files of functions.
    pub(crate) fn functions(&self, root: &Path, templates: &Templates, output: &mut Output) {
        let by_hand = by_hand(&root.join("ffi/src"));
        for (queue, words) in QUEUES {
            let all = self.handles().map(|(key, _)| key);
            let mut keys: Vec<_> = all.filter(|key| key.starts_with(queue)).collect();
            keys.sort_by_key(|key| !MAIN.contains(key));
            let handles: Vec<_> = keys.iter().map(|key| self.handle(key, &by_hand)).collect();
            let text = templates.render("calls.rs", context! { words => *words, handles });
            output.add_rust(&format!("ffi/src/{queue}/generated_calls.rs"), text);
        }
    }

    /// The types that C has handles of, and an Ick, which C names.
    fn handles(&self) -> impl Iterator<Item = (&str, &Struct)> {
        let all = self.model.types.iter().filter(|(_, of)| of.kind == Kind::Handle);
        all.map(|(key, of)| (key.as_str(), of)).filter(|(key, _)| !is_worker(key))
    }

    pub(crate) fn handle_of(&self, key: &str) -> Option<&Struct> {
        handle_of(self.model, key)
    }

    fn handle(&self, key: &str, by_hand: &str) -> View {
        let handle = &self.model.types[key];
        let name = c_handle(key);
        let item = &handle.item;
        let makers = self.handles().flat_map(|(owner, of)| {
            let makes =
                |method: &&Method| method.returns == Type::Named(key.to_owned()) && !method.is_call;
            of.methods.iter().filter(makes).map(move |method| (owner, method))
        });
        let next = item.as_ref().map(|item| Method {
            name: "next".to_owned(),
            docs: Docs::default(),
            has_self: true,
            params: Vec::new(),
            returns: Type::Option(Box::new(item.clone())),
            is_call: true,
            can_fail: true,
            can_fail_as_given: false,
            must_use: false,
            alias: None,
            forms: Vec::new(),
        });
        let own = handle.methods.iter().filter(|method| {
            let makes = matches!(&method.returns, Type::Named(of) if self.handle_of(of).is_some());
            method.has_self && (method.is_call || !makes)
        });
        let all = makers.chain(own.chain(&next).map(|method| (key, method)));
        let functions: Vec<_> = all
            .filter(|(owner, method)| {
                !NOT_IN_C
                    .iter()
                    .any(|of| *of == method.name || *of == format!("{owner}.{}", method.name))
            })
            .filter(|(owner, method)| {
                let form = self.model.form_of(owner, method);
                !form.is_some_and(|(_, form)| is_argument(form))
            })
            .filter_map(|(owner, method)| self.function(owner, method, by_hand))
            .collect();
        let own = own_name(&name);
        let is_plural = own.ends_with('s');
        let threads = match () {
            _ if self.is_run(key) => {
                let alone = "One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at once.";
                let together = match item {
                    Some(_) => " Threads that work together have loops of their own.",
                    None => "",
                };
                alone.to_owned() + together
            }
            _ if is_plural => "Any number of threads may use it at a time.".to_owned(),
            _ => format!("Any number of threads may use one {own} at a time."),
        };
        let last = format!("Freed with `millpond_{name}_free`.");
        let comment = self.comment(key, key, &handle.docs, "NULL", &last)
            + &if self.overlay.of(key).replaces {
                String::new()
            } else {
                format!("///\n{}", self.words(&threads))
            };
        let a = match item {
            Some(_) => "the loop",
            None if is_plural => "it",
            None => &format!("a {own}"),
        };
        let free = Docs::parse(&format!("Frees {a}. NULL and what was freed before are fine."));
        let free = self.comment(&format!("{key}.free"), key, &free, "NULL", "");
        let is_by_name = key == "ick.Ick";
        context! { name => (!is_by_name).then_some(&name), own, comment, functions,
        free => free + "///\n/// Threads: any.\n" }
    }

    fn function(&self, owner: &str, method: &Method, by_hand: &str) -> Option<View> {
        let key = format!("{owner}.{}", method.name);
        let name = function_name(self.model, owner, &method.name)?;
        if by_hand.contains(&format!("fn {name}(")) {
            return None;
        }
        let made = match &method.returns {
            Type::Named(of) if !method.is_call => self.handle_of(of).map(|handle| (of, handle)),
            _ => None,
        };
        let of_main = if owner == "client.Client" { "client".to_owned() } else { c_handle(owner) };
        let held = own_name(&of_main).to_owned();
        let (mut params, mut body, mut last) = (String::new(), String::new(), Vec::new());
        let mutable = if method.is_call || made.is_some() { "mut" } else { "const" };
        match owner {
            "ick.Ick" => {
                params += "client: *mut millpond_client, name: *const c_char, name_length: usize,";
                body += "let ick = caller.ick(client, name, name_length)?;\n";
            }
            _ => {
                params += &format!("{held}: *{mutable} millpond_{of_main},");
                body += &format!("let {held} = caller.held(\"{held}\", {held})?;\n");
            }
        }
        let mut arguments = Vec::new();
        for param in &method.params {
            let own = c_name(&param.name, &param.ty);
            let (declared, read) = self.argument(owner, &own, &param.ty)?;
            params += &declared.replace('$', &own);
            body += &read.replace('$', &own);
            last.extend(self.words_on(owner, param, &own));
            arguments.push(own);
        }
        // A lease that is released has an answer too.
        let is_run =
            self.is_run(owner) && (method.is_call || made.is_some()) && method.name != "release";
        let may_fail = method.is_call || method.can_fail;
        let call = |name: &str, more: &[&str]| {
            let arguments: Vec<_> =
                arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let call = format!("{held}.{name}({})", arguments.join(", "));
            match (is_run, may_fail) {
                _ if name == "next" => format!("{held}.run(|{held}| {call}.transpose())?"),
                (true, true) => format!("{held}.run(|{held}| {call})?"),
                (true, false) => format!("{held}.run(|{held}| Ok({call}))?"),
                (false, true) => format!("{call}?"),
                (false, false) => call,
            }
        };
        let call = match method.forms.iter().find(|form| is_argument(form)) {
            Some(Form { method: form, option, is_flag: true, .. }) => {
                let flag = &option.name;
                params += &format!("{flag}: bool,");
                let words = option.words.as_ref();
                last.extend(words.map(|words| format!("`{flag}`: {}.", words.docs)));
                format!(
                    "if {flag} {{ {} }} else {{ {} }}",
                    call(form, &[]),
                    call(&method.name, &[])
                )
            }
            Some(Form { method: form, option: param, .. }) => {
                let own = &c_name(&param.name, &param.ty);
                params += &format!("{own}: i64,");
                let given = match own.as_str() {
                    "wait_ms" => "wait_time(wait_ms)?".to_owned(),
                    _ => format!("given(\"{own}\", {own})?.map(Duration::from_millis)"),
                };
                last.extend(self.words_on(owner, param, own));
                format!(
                    "match {given} {{ Some(given) => {}, None => {} }}",
                    call(form, &["given"]),
                    call(&method.name, &[])
                )
            }
            None => call(&method.name, &[]),
        };
        let mut make = String::new();
        if let Some((key, handle)) = made {
            let (declared, made, words) = self.settings(key, &handle.settings)?;
            params += &declared;
            make = made;
            last.extend(words);
        }
        let out = self.out(owner, method, &params)?;
        let is_changed = if make.is_empty() { "" } else { "mut " };
        let call = match out.after.as_str() {
            "" => format!("{call};"),
            after => format!("let {is_changed}it = {call};\n{make}{after}"),
        };
        last.insert(0, out.words);
        Some(context! {
            comment => self.function_comment(&key, owner, method, &out.declared, made.is_some(), last),
            name, params => params + &out.declared, body => out.before + &body + &call, waits => method.is_call,
        })
    }

    /// How a parameter is declared, and how it is read.
    fn argument(&self, owner: &str, name: &str, ty: &Type) -> Option<(String, String)> {
        let one = &singular(name);
        let list = |ty: &str, read: &str| {
            let declared = format!("$: *const {ty}, {one}_count: usize,");
            (declared, format!("let $ = caller.{read}(\"$\", $, {one}_count)?;\n"))
        };
        let plain = |declared: &str, read: &str| (declared.to_owned(), read.to_owned());
        Some(match ty {
            Type::Text => plain(
                "$: *const c_char, $_length: usize,",
                "let $ = caller.text(|| \"$\".to_owned(), millpond_bytes { data: $, length: $_length })?;\n",
            ),
            Type::Bytes => plain(
                "$: *const c_char, $_length: usize,",
                "let $ = caller.bytes(|| \"$\".to_owned(), $, $_length)?;\n",
            ),
            Type::Duration if name == "lease_ms" => plain("$: i64,", "let $ = lease($)?;\n"),
            Type::Duration => plain("$: u64,", "let $ = Duration::from_millis($);\n"),
            Type::Option(of) if **of == Type::Duration => {
                plain("$: i64,", "let $ = given(\"$\", $)?.map(Duration::from_millis);\n")
            }
            Type::Option(of) if **of == Type::Signed => plain("$: i64,", ""),
            Type::Bool => plain("$: bool,", ""),
            Type::Float => plain("$: f64,", ""),
            Type::Number(32) => plain("$: u32,", ""),
            Type::Number(64) => plain("$: u64,", ""),
            Type::Number(_) | Type::Size => plain("$: usize,", ""),
            Type::List(of) => match &**of {
                Type::Text => list("millpond_bytes", "texts"),
                Type::Bytes => list("millpond_bytes", "list"),
                Type::Number(32) => list("u32", "list"),
                Type::Named(key) if self.is_text(key) => list("millpond_bytes", "event_ids"),
                Type::Named(key) if self.model.is(key, Kind::Options) && has_struct(key) => {
                    let (declared, _) = list(&c_struct(key), "");
                    let read = format!(
                        "let $ = caller.structures(\"$\", $, {one}_count)?.enumerate();\n\
                         let $ = $.map(|(index, it)| it?.read(&caller, |field| format!(\"$[{{index}}].{{field}}\")));\n\
                         let $ = $.collect::<millpond::Result<Vec<_>>>()?;\n"
                    );
                    (declared, read)
                }
                Type::Named(key) if is_fixed(key) => list(&c_struct(key), "list"),
                Type::Tuple(of) => match of.as_slice() {
                    [Type::Option(_), Type::Bytes] => list("millpond_ick_pair", "list"),
                    [Type::Bytes, Type::Bytes] => list(of_queue(PAIRS, owner)?, "list"),
                    [Type::Bytes, Type::List(_)] => {
                        list("millpond_shuffle_new_message", "messages")
                    }
                    _ => return None,
                },
                _ => return None,
            },
            Type::Named(key) if is_fixed(key) => {
                let read = "let $ = caller.list(\"$\", $, 1)?.next().expect(\"a list of one\");\n";
                (format!("$: *const {},", c_struct(key)), read.to_owned())
            }
            Type::Named(key) if self.model.enums.contains_key(key) => {
                plain("$: u32,", &format!("let $ = super::{}($)?;\n", own_name(&c_handle(key))))
            }
            Type::Named(key) if has_struct(key) && !self.model.types[key].settings.is_empty() => {
                let read = if self.is_given(key) { "structure" } else { "options" };
                let of = match self.model.types[key].required.is_empty() {
                    true => "str::to_owned",
                    false => "|field| format!(\"$.{field}\")",
                };
                (
                    format!("$: *const {},", c_struct(key)),
                    format!("let $ = caller.{read}(\"$\", $)?.read(&caller, {of})?;\n"),
                )
            }
            _ => return None,
        })
    }

    /// Whether a structure has to be given: it says what is to happen. Without one that says which, it is all.
    fn is_given(&self, key: &str) -> bool {
        let options = &self.model.types[key];
        !options.required.is_empty()
            || options.settings.iter().any(|setting| setting.name == "insert")
    }

    /// The settings of what a function makes: how they are declared and set, and the words on them.
    fn settings(&self, key: &str, settings: &[Setting]) -> Option<(String, String, Vec<String>)> {
        if crate::c::has_struct(key) {
            let declared = format!("options: *const {},", c_struct(key));
            let make =
                "it = caller.options(\"options\", options)?.read(&caller, it)?;\n".to_owned();
            return Some((declared, make, vec!["`options` may be NULL.".to_owned()]));
        }
        let (mut params, mut make, mut all) = (String::new(), String::new(), Vec::new());
        for setting in settings {
            let set = &setting.name;
            let Some(param) = setting.params.first() else {
                params += &format!("{set}: bool,");
                make += &format!("if {set} {{ it = it.{set}(); }}\n");
                all.push(format!("`{set}`: {}", lower(&self.setting(key, setting, set, ""))));
                continue;
            };
            let own = &c_name(set, &param.ty);
            let (declared, made, none) = match &param.ty {
                Type::Duration if set == "wait" => (
                    "$: i64,",
                    "if let Some(given) = wait_time($)? { it = it.%(given); }\n",
                    "0 does not wait, -1 waits without limit. `millpond_close` on the client ends the wait.",
                ),
                Type::Number(32) => ("$: u32,", "it = it.%($);\n", "0: none."),
                Type::Number(_) | Type::Size => ("$: usize,", "it = it.%($);\n", ""),
                Type::Text => (
                    "$: *const c_char, $_length: usize,",
                    "if let Some(given) = caller.optional_text(|| \"$\".to_owned(), \
                     millpond_bytes { data: $, length: $_length })? { it = it.%(given); }\n",
                    "NULL: the default.",
                ),
                _ => {
                    let (_, read) = member(self.model, &format!("{key}.{set}"), setting);
                    let read =
                        read.replace(&format!("&of(\"{own}\")"), "\"$\"").replace("self.", "");
                    params += &format!("{own}: i64,");
                    make += &read.replace('$', own);
                    let words = self.setting(key, setting, own, "`MILLPOND_NOT_SET`: the default.");
                    all.push(format!("`{own}`: {}", lower(&words)));
                    continue;
                }
            };
            params += &declared.replace('$', own);
            make += &made.replace('$', own).replace('%', set);
            all.push(format!("`{own}`: {}", lower(&self.setting(key, setting, own, none))));
        }
        Some((params, make, all))
    }

    /// Words on a parameter whose unit or default the core's comment does not say.
    fn words_on(&self, owner: &str, param: &Param, own: &str) -> Option<String> {
        match &param.ty {
            Type::Duration => {
                let words = param.words.as_ref()?;
                let text = self.paragraph(owner, &[Block::Paragraph(words.docs.clone())]);
                Some(match &words.default {
                    _ if own == "wait_ms" && words.max.is_some() => format!(
                        "`{own}`: {text}; 0 does not wait, -1 is the longest. `millpond_close` on the client ends the wait."
                    ),
                    _ if own == "wait_ms" => format!(
                        "`{own}`: {text}; 0 does not wait, -1 waits without limit. `millpond_close` on the client ends the wait."
                    ),
                    Some(Value::Duration(ms)) if own == "lease_ms" => {
                        format!("`{own}`: {text}; `MILLPOND_NOT_SET` is {}.", grouped(*ms))
                    }
                    Some(Value::Duration(ms)) => {
                        format!("`{own}`: {text}; usually {}.", grouped(*ms))
                    }
                    Some(_) => format!("`{own}`: {text}; `MILLPOND_NOT_SET`: as said above."),
                    None => format!("`{own}`: {text}."),
                })
            }
            Type::Named(key) if self.model.is(key, Kind::Options) && !self.is_given(key) => {
                Some(format!("`{own}` may be NULL."))
            }
            _ => None,
        }
    }

    /// The result of a method; nothing if C has no such type.
    fn out(&self, owner: &str, method: &Method, params: &str) -> Option<Out> {
        let queue = owner.split('.').next().unwrap_or("");
        // What takes something and returns a truth does something.
        let acts = method.returns == Type::Bool && !method.params.is_empty();
        let is_query = (!method.is_call && !acts) || method.must_use;
        let name = method.name.trim_start_matches("is_").trim_start_matches("are_");
        let name = name.trim_end_matches("_of").trim_end_matches("_count");
        let plain = |name: &str, ty: &str, nothing: &str| {
            let before = match is_query {
                true => format!("let {name} = caller.out(\"{name}\", {name}, {nothing})?;\n"),
                false => format!("let {name} = caller.optional_out({name}, {nothing});\n"),
            };
            let words = if is_query { String::new() } else { format!("`{name}` may be NULL.") };
            Out {
                declared: format!("{name}: *mut {ty},"),
                before,
                after: format!("{name}.set(it.into());"),
                words,
            }
        };
        let number = if is_query { name } else { "number" };
        let is_optional = matches!(&method.returns, Type::Option(_));
        let returns = match &method.returns {
            Type::Option(of) => of,
            of => of,
        };
        let handle = match returns {
            Type::Unit => return Some(Out::default()),
            Type::Bool if !is_query => {
                return Some(plain(of_queue(TRUTHS, owner).unwrap_or("found"), "bool", "false"));
            }
            Type::Bool => {
                return Some(plain(
                    name,
                    "bool",
                    if ["lost", "over"].contains(&name) { "true" } else { "false" },
                ));
            }
            Type::Duration if is_optional => {
                let mut out = plain(&format!("{name}_ms"), "i64", "-1");
                // 0 says that nothing is left: a job's timeout is over then, and its lease lost.
                let value = "it.map_or(-1, |it| whole_ms(it) as i64)";
                out.after = out.after.replace("it.into()", value);
                return Some(out);
            }
            Type::Duration if !method.is_call => {
                let mut out = plain(&format!("{name}_ms"), "u64", "0");
                out.after = out.after.replace("it.into()", "it.as_millis() as u64");
                return Some(out);
            }
            Type::Text if !method.is_call => {
                let mut out = plain(name, "millpond_bytes", "millpond_bytes::NONE");
                out.after = out.after.replace("it.into()", "millpond_bytes::of(it.as_bytes())");
                out.words = format!("It lives as long as the {}.", own_name(&c_handle(owner)));
                return Some(out);
            }
            Type::Number(32) => return Some(plain(number, "u32", "0")),
            Type::Named(key) if self.model.enums.contains_key(key) => {
                let mut out = plain("outcome", "u32", "0");
                out.after = "outcome.set(it as u32 + 1);".to_owned();
                return Some(out);
            }
            Type::Number(_) | Type::Size => return Some(plain(number, "u64", "0")),
            Type::Named(key) if is_fixed(key) && method.is_call => {
                let ty = c_struct(key);
                let name = own_name(ty.trim_start_matches("millpond_")).to_owned();
                let nothing = format!("{ty}::default()");
                let mut out = plain(&name, &ty, &nothing);
                if is_optional {
                    out.declared = format!("found: *mut bool, {}", out.declared);
                    out.before += "let found = caller.optional_out(found, false);\n";
                    out.after = format!(
                        "if let Some(it) = it {{ found.set(true); {name}.set(it.into()); }}"
                    );
                    out.words = format!(
                        "`found` is set to whether there was one, and `{name}` to it, or to 0. Both may be NULL."
                    );
                }
                return Some(out);
            }
            Type::List(of) => match &**of {
                Type::Named(key) if self.model.enums.contains_key(key) => {
                    return each(params, "u32", "outcome", "0", ".map(|it| it as u32 + 1)");
                }
                Type::Bool => return each(params, "bool", "flag", "false", ""),
                Type::Named(key) if is_fixed(key) => {
                    let ty = c_struct(key);
                    let nothing = format!("{ty}::default()");
                    return each(params, &ty, own_name(&ty[9..]), &nothing, ".map(Into::into)");
                }
                Type::Option(of) if let Some(key) = of.named().filter(|key| is_fixed(key)) => {
                    let ty = c_struct(key);
                    let nothing = format!("{ty}::default()");
                    let map = ".map(|it| it.map(Into::into).unwrap_or_default())";
                    return each(params, &ty, own_name(&ty[9..]), &nothing, map);
                }
                of if of.named().is_some() && has_results(queue) => format!("{queue}_result"),
                Type::Option(of) if **of == Type::Bytes => format!("{queue}_result"),
                Type::Named(key) => plural(key),
                Type::Bytes => "keys".to_owned(),
                _ => return None,
            },
            Type::Bytes if !method.is_call => "keys".to_owned(),
            Type::Bytes if is_optional => format!("{queue}_result"),
            Type::Named(key) if key == "tasks.Modified" && !params.contains("modification") => {
                return Some(Out::default());
            }
            Type::Named(key) if self.handle_of(key).is_some() => c_handle(key),
            Type::Named(key) if has_results(queue) && method.is_call && key.starts_with(queue) => {
                format!("{queue}_result")
            }
            Type::Named(key) if method.is_call && self.model.is(key, Kind::Record) => {
                format!("{queue}_{}", snake(&key[queue.len() + 1..]).trim_start_matches('_'))
            }
            _ => return None,
        };
        let own = if method.name.ends_with("_call") { "call" } else { own_name(&handle) };
        let own = if params.contains(&format!("{own}:")) { "made" } else { own };
        let given = method.params.iter().any(|param| {
            matches!(&param.ty, Type::Named(key)
            if self.model.is(key, Kind::Options) && self.is_given(key))
        });
        let them = match (own, returns) {
            ("result", of) if of_event(of, "events.Published") => "what became of each",
            ("result", of) if of_event(of, "events.SyncedSchedules") => "what it came to",
            ("result", _) if given => "what was inserted and changed",
            ("result", _) if ["volatile", "tracker"].contains(&queue) => "the result",
            ("result", _) => "what was found",
            ("call", _) => "the command",
            _ if method.is_call => "the result",
            _ => "a handle",
        };
        let nothing = match is_optional {
            _ if method.name == "next" => {
                "; to NULL on failure, and also on success when the loop is over. After an error that a retry can \
                 fix (see `millpond_error_retry`) the loop can be continued."
            }
            true => "; to NULL on failure, and also on success if there is none.",
            false => ", or on failure to NULL.",
        };
        let words = format!(
            "`{own}` is set to {them}, which the caller frees with `millpond_{handle}_free`{nothing}"
        );
        let before = match given {
            true => format!("let {own} = caller.optional_handle({own});\n"),
            false => format!("let {own} = caller.new_handle(\"{own}\", {own})?;\n"),
        };
        let set = format!("{own}.set(it.into());");
        Some(Out {
            declared: format!("{own}: *mut *mut millpond_{handle},"),
            before,
            after: match (given, is_optional) {
                (true, _) => format!("if let Some({own}) = {own} {{ {set} }}"),
                (_, true) => format!("if let Some(it) = it {{ {set} }}"),
                _ => set,
            },
            words: if given { format!("{words} `{own}` may be NULL.") } else { words },
        })
    }

    pub(crate) fn function_comment(
        &self,
        key: &str,
        owner: &str,
        method: &Method,
        out: &str,
        is_made: bool,
        last: Vec<String>,
    ) -> String {
        let mut docs = method.docs.clone();
        let name = out
            .rsplit(", ")
            .next()
            .and_then(|last| last.split_once(':'))
            .map_or("", |(name, _)| name);
        if let Some(Block::Paragraph(text)) = docs.blocks.first_mut() {
            *text = text.replace(" or returns `None`", &format!(" or sets `{name}` to `None`"));
            *text = text.replace("Returns `None`", &format!("`{name}` is set to `None`"));
            let is_told = last[0].contains(" is set to ") || last[0].contains(" is where ");
            *text = match text.split_once("eturns ") {
                _ if out.is_empty() || is_told => text.clone(),
                Some((before, rest)) => {
                    format!("{}`{name}` is set to {rest}", &before[..before.len() - 1])
                }
                None => format!("{text} `{name}` is set to the result."),
            };
            *text =
                text.replace(" and returns false.", &format!(", and `{name}` is set to false."));
            if is_made && !text.contains("akes no call") {
                *text += " Makes no call yet.";
            }
        }
        let note = self.overlay.of(key);
        let is_own = |start: &str| note.paragraphs.iter().any(|text| text.starts_with(start));
        let section = |heading: &str| lower(&self.paragraph(owner, method.docs.section(heading)));
        let waits = last.iter().any(|words| words.starts_with("`wait_ms`"));
        let errors = match section("Errors") {
            _ if is_own("Errors: ") => String::new(),
            text if text.is_empty() && !method.is_call && waits => {
                "`MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.".to_owned()
            }
            text if text.is_empty() && !method.is_call => {
                "`MILLPOND_INVALID_ARGUMENT` for a handle that is not one.".to_owned()
            }
            text if text.is_empty() => "those of the connection.".to_owned(),
            text if !method.is_call || text.starts_with("as ") || text.contains("those of ") => {
                text
            }
            // After a second sentence, what comes would be a part of that one.
            text if text.contains(". ") => format!("{text} Also those of the connection."),
            text => format!("{}; those of the connection.", text.trim_end_matches('.')),
        };
        let errors = if errors.is_empty() { errors } else { format!("Errors: {errors}") };
        let delivery = section("Delivery");
        let delivery = match is_own("Delivery: ") || delivery.is_empty() {
            true => String::new(),
            false => format!("\n\nDelivery: {delivery}"),
        };
        // What a lease knows by itself may be read while another thread makes a step.
        let is_known = LEASES.contains(&owner) && !method.is_call && !is_made;
        let threads = match self.is_run(owner) && !is_known {
            true => format!("one at a time; see `millpond_{}`", c_handle(owner)),
            false => "any".to_owned(),
        };
        let tail = Docs::parse(&format!("{errors}{delivery}\n\nThreads: {threads}."));
        let last = last.join(" ").trim().to_owned();
        let head = self.comment(key, owner, &docs, "NULL", &last);
        let text = head + "///\n" + &self.comment("", owner, &tail, "NULL", "");
        let params =
            method.params.iter().map(|param| (&param.name, c_name(&param.name, &param.ty)));
        params
            .fold(text, |text, (name, own)| text.replace(&format!("`{name}`"), &format!("`{own}`")))
    }

    /// Whether one thread at a time may use it.
    fn is_run(&self, key: &str) -> bool {
        self.model.is_loop(key) || LEASES.contains(&key)
    }

    fn words(&self, text: &str) -> String {
        self.comment("", "", &Docs::parse(text), "NULL", "")
    }
}

/// What C calls a method; nothing for one that it does not have.
pub(crate) fn function_name(model: &Model, owner: &str, method: &str) -> Option<String> {
    let key = format!("{owner}.{method}");
    let handle = handle_of(model, owner)?;
    let found = handle.methods.iter().find(|of| of.name == method);
    let (queue, _) = owner.split_once('.')?;
    match found.map(|of| &of.returns) {
        Some(Type::Named(of)) if found.is_some_and(|found| !found.is_call) => {
            if handle_of(model, of).is_some() && of != "ick.Ick" {
                let is_main = MAIN.contains(&owner) || owner == "client.Client";
                let own = c_handle(of);
                return Some(match is_main {
                    true => format!("millpond_{own}_new"),
                    false => format!("millpond_{}_{}_new", c_handle(owner), own_name(&own)),
                });
            }
            return None;
        }
        _ => {}
    }
    let prefix = if MAIN.contains(&owner) { queue.to_owned() } else { c_handle(owner) };
    let name = NAMES.iter().find(|(of, _)| *of == key).map_or(method, |(_, name)| name);
    let name = format!("{prefix}_{name}");
    let is_type = ["ick_stats", "shuffle_stats", "shuffle_dead_letters"].contains(&name.as_str());
    Some(format!("millpond_{name}{}", if is_type { "_read" } else { "" }))
}

/// A type that C has a handle of, or an Ick, which C names.
pub(crate) fn handle_of<'a>(model: &'a Model, key: &str) -> Option<&'a Struct> {
    model.types.get(key).filter(|of| of.kind == Kind::Handle && !is_worker(key))
}

/// The name of a handle's type, such as `shuffle_queue`.
pub(crate) fn c_handle(key: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(of, _)| *of == key) {
        return (*name).to_owned();
    }
    let (queue, name) = key.split_once('.').expect("a key has a queue");
    let name = snake(name);
    let name = name.trim_start_matches('_');
    let one = queue.trim_end_matches('s');
    format!("{queue}_{}", name.strip_prefix(&format!("{one}_")).unwrap_or(name))
}

/// Whether C has a form as an argument: it is a flag or a time.
fn is_argument(form: &Form) -> bool {
    form.is_flag || form.option.ty == Type::Duration
}

/// One result for each of what is given, in an array of the caller's.
fn each(params: &str, ty: &str, one: &str, nothing: &str, map: &str) -> Option<Out> {
    let count = params.split(&[' ', ','][..]).find(|part| part.ends_with("_count:"))?;
    let (count, name) = (count.trim_end_matches(':'), format!("{one}s"));
    let failed = if nothing == "false" { nothing } else { "0" };
    Some(Out {
        before: format!("let {name} = caller.optional_out_array({name}, {count}, {nothing});\n"),
        declared: format!("{name}: *mut {ty},"),
        after: format!("{name}.set(it.into_iter(){map});"),
        words: format!(
            "`{name}` is where `{count}` of them go; it may be NULL. On failure they are all {failed}."
        ),
    })
}

/// Whether what calls of a queue return is in one kind of result.
fn has_results(queue: &str) -> bool {
    ["tasks", "events", "volatile", "recruiter", "tracker"].contains(&queue)
}

/// Whether it is of this type, or a list of them.
fn of_event(ty: &Type, key: &str) -> bool {
    match ty {
        Type::List(of) => of.named() == Some(key),
        of => of.named() == Some(key),
    }
}

/// The name of one of a list.
fn singular(name: &str) -> String {
    match name.strip_suffix("ies") {
        Some(start) => format!("{start}y"),
        None => name.trim_end_matches('s').to_owned(),
    }
}

/// What a table has for the queue of a type.
fn of_queue(table: &'static [(&str, &'static str)], key: &str) -> Option<&'static str> {
    let found = table.iter().find(|(queue, _)| key.split('.').next() == Some(queue));
    found.map(|(_, value)| *value)
}

/// Without its queue.
pub(crate) fn own_name(handle: &str) -> &str {
    handle.split_once('_').map_or(handle, |(_, own)| own)
}

/// The name of a list of records.
fn plural(key: &str) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(of, _)| *of == key) {
        return (*name).to_owned();
    }
    let name = c_handle(key);
    match name.strip_suffix('y') {
        Some(start) => format!("{start}ies"),
        None => format!("{name}s"),
    }
}

/// What is by hand in a folder.
fn by_hand(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("ffi/src is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let texts = paths.map(|path| match path.is_dir() {
        true => by_hand(&path),
        false if path.ends_with("generated_calls.rs") => String::new(),
        false => std::fs::read_to_string(path).expect("it can be read"),
    });
    texts.collect()
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_lowercase().to_string() + letters.as_str())
}
