//! Ruby: the bodies of methods that are one call of the library. A file in `modules` has the signature
//! (`def receive(max = 1) = core`); this finds the function, how each argument is converted, and what the result is.

use crate::c::abi::CAbi;
use crate::c::calls::{CArgument, arguments, function};
use crate::docs::{grouped, snake};
use crate::model::{Method, Model, Param, Type};
use crate::ruby::names::{ARGUMENTS, HANDLES, PARTS, RESULTS};
use crate::ruby::{find, name};

/// The parts of results that are no lists.
const WHOLE: [&str; 13] = [
    "",
    "acquired",
    "config",
    "holder",
    "modified",
    "pruned",
    "reaped",
    "sample",
    "scanned",
    "stats",
    "swept",
    "synced",
    "value_or_lock",
];

/// The body of a method, each statement on a line.
pub(crate) fn body(
    model: &Model,
    abi: &CAbi,
    key: &str,
    method: &Method,
    params: &[&str],
) -> Result<Vec<String>, String> {
    let handle = HANDLES.iter().find(|(of, _)| *of == key).map(|(_, handle)| *handle);
    let function = handle.and_then(|handle| function(abi, key, handle, method));
    let function = function.ok_or("there is no function for it")?;
    let mut call = match handle {
        Some("client") => vec!["@native, @name, @length".to_owned()],
        _ => vec!["@native".to_owned()],
    };
    let taken = if handle == Some("client") { 3 } else { 1 };
    let (mut lines, mut outs, mut list) = (Vec::new(), Vec::new(), "");
    for CArgument { core, kind, .. } in arguments(method, &function.params[taken..]) {
        if core == "error" {
            continue;
        }
        let Some(param) = params.iter().find(|param| **param == core) else {
            outs.push(kind);
            continue;
        };
        let queue = key.split('.').next().unwrap_or_default();
        let is_it = |(of, name, ..): &&(&str, &str, &str, bool)| {
            *of == kind && (name.is_empty() || *name == core || *name == format!("{queue}.{core}"))
        };
        let found = ARGUMENTS.iter().find(is_it);
        let (.., value, is_several) = found.ok_or(format!("nobody knows {core}, a {kind}"))?;
        let max = method.params.iter().find(|of| of.name == core).and_then(Param::max);
        let max = max.map_or(String::new(), |max| grouped(max).replace(',', "_"));
        let value = value.replace('$', param).replace(", #", &if_any(", ", &max));
        match value.strip_prefix('(').and_then(|value| value.strip_suffix(')')) {
            Some(value) => call.push(value.to_owned()),
            None => {
                lines.push(format!("{param} = {value}"));
                call.push(format!("{}{param}", if *is_several { "*" } else { "" }));
            }
        }
        if *is_several {
            list = param;
        }
    }
    let call = call.join(", ");
    let name = &function.name;
    lines.extend(result(model, method, &outs, (list, function.waits), |places| {
        format!("Native.millpond_{name}({call}, {places})")
    })?);
    Ok(lines)
}

/// The call with its result.
fn result(
    model: &Model,
    method: &Method,
    outs: &[String],
    (list, waits): (&str, bool),
    call: impl Fn(&str) -> String,
) -> Result<Vec<String>, String> {
    // What waits for nothing needs no thread under a fiber scheduler.
    let (check, quick) = if waits { ("", "") } else { ("(waits: false)", ", waits: false") };
    let out = match outs {
        [] => {
            return Ok(vec![
                format!("Call.check{check} {{ |error| {} }}", call("error")),
                "nil".to_owned(),
            ]);
        }
        [out] => out.as_str(),
        _ => return Err(format!("it has {} results", outs.len())),
    };
    let (inner, is_list, is_optional) = match &method.returns {
        Type::List(inner) => (&**inner, true, false),
        Type::Option(inner) => (&**inner, false, true),
        ty => (ty, false, false),
    };
    let words = inner.named().and_then(|key| model.enums.get(key)).map(|of| of.words().join(" "));
    let with = |start: &str| format!("{start} {{ |out, error| {} }}", call("out, error"));
    if let Some(words) = words {
        let count = if is_list { format!("{list}.last") } else { "1".to_owned() };
        let each = with(&format!("EventResults.each({count}, %i[{words}])"));
        return Ok(vec![if is_list { each } else { format!("{each}.first") }]);
    }
    if is_list && out == "*bool" {
        return Ok(vec![with(&format!("Call.flags({list}.last)"))]);
    }
    let found = RESULTS.iter().find(|(kind, _)| *kind == out);
    let (_, start) = found.ok_or(format!("nobody knows its result, a {out}"))?;
    let made = match start.strip_suffix(')').filter(|start| start.starts_with("Call.number(")) {
        Some(start) => with(&format!("{start}{quick})")),
        None => with(start),
    };
    if method.returns == Type::Duration {
        return Ok(vec![format!("{made} / 1000.0")]);
    }
    if method.returns.is_time() {
        return Ok(vec![
            format!("left_ms = {made}"),
            "left_ms / 1000.0 unless left_ms.negative?".to_owned(),
        ]);
    }
    let of = match inner {
        Type::Named(key) if out.ends_with("_result") => {
            let own = snake(&name(key)).trim_start_matches('_').to_owned();
            match find(PARTS, key) {
                Some(part) => part.to_owned(),
                None if model.types[key].fields.is_empty() => own,
                None => format!("{own}s"),
            }
        }
        // Bytes, or none.
        _ if out.ends_with("_result") => "values".to_owned(),
        _ => String::new(),
    };
    let is_one = !is_list && !WHOLE.contains(&&*of);
    let safe = if is_optional { "&" } else { "" };
    let first = if is_one { format!("{safe}.first") } else { String::new() };
    Ok(vec![format!("{made}{}{first}", if_any(&format!("{safe}."), &of))])
}

/// With this before it, unless it is empty.
fn if_any(before: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{before}{text}") }
}

/// Statements with the places of results on lines of their own where they are too long.
pub(crate) fn laid_out(lines: &[String], indent: usize, width: usize) -> Vec<String> {
    lines
        .iter()
        .flat_map(|line| {
            let parts = line.split_once(" { |").and_then(|(start, rest)| {
                let (places, rest) = rest.split_once("| ")?;
                let (call, end) = rest.rsplit_once(" }")?;
                Some((start, places, call, end))
            });
            match parts {
                Some((start, places, call, end)) if indent + line.len() > width => {
                    vec![format!("{start} do |{places}|"), format!("  {call}"), format!("end{end}")]
                }
                _ => vec![line.clone()],
            }
        })
        .map(|line| format!("{:indent$}{line}", ""))
        .collect()
}
