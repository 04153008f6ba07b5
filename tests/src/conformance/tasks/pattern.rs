//! Whether a result is what a case expects.

use serde_json::Value;

use super::names::Names;
use crate::Result;

/// Compares a result with a pattern in which every name is filled in, and names the parts that
/// the pattern wants to have named.
pub(super) fn compare(pattern: &Value, found: &Value, names: &mut Names) -> Result<()> {
    Comparison { names }.compare(pattern, found, "result")
}

struct Comparison<'a> {
    names: &'a mut Names,
}

impl Comparison<'_> {
    fn compare(&mut self, pattern: &Value, found: &Value, at: &str) -> Result<()> {
        match pattern {
            Value::Object(object) => {
                if let Some(operator) = object.keys().find(|key| key.starts_with('$')) {
                    return self.operate(operator, pattern, found, at);
                }
                if !found.is_object() {
                    return Err(differs(at, pattern, found));
                }
                // What is null is not there.
                object.iter().try_for_each(|(key, pattern)| {
                    self.compare(pattern, &found[key], &format!("{at}.{key}"))
                })
            }
            Value::Array(patterns) => {
                let items = found.as_array().ok_or_else(|| differs(at, pattern, found))?;
                if patterns.len() != items.len() {
                    let lengths = format!("{at} has {} items, not {}", items.len(), patterns.len());
                    return Err(format!("{lengths}: {}", differs(at, pattern, found)));
                }
                patterns.iter().zip(items).enumerate().try_for_each(|(index, (pattern, item))| {
                    self.compare(pattern, item, &format!("{at}.{index}"))
                })
            }
            plain if plain == found => Ok(()),
            plain => Err(differs(at, plain, found)),
        }
    }

    fn operate(&mut self, name: &str, pattern: &Value, found: &Value, at: &str) -> Result<()> {
        let argument = &pattern[name];
        let is_right = match name {
            "$any" => true,
            "$as" => {
                let name = argument.as_str().ok_or("$as is a name")?;
                if let Some(pattern) = pattern.get("is") {
                    self.compare(pattern, found, at)?;
                }
                self.names.name(name, found.clone());
                true
            }
            "$between" => match found.as_i64() {
                Some(number) => {
                    argument[0].as_i64().is_some_and(|least| least <= number)
                        && argument[1].as_i64().is_some_and(|most| number <= most)
                }
                None => found.as_f64().is_some_and(|number| {
                    argument[0].as_f64().is_some_and(|least| least <= number)
                        && argument[1].as_f64().is_some_and(|most| number <= most)
                }),
            },
            "$hex" => found.as_str().is_some_and(|text| {
                argument.as_u64() == Some(text.len() as u64)
                    && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            }),
            "$begins" => {
                let begin = argument.as_str().ok_or("$begins is a text")?;
                found.as_str().is_some_and(|text| text.starts_with(begin))
            }
            "$ends" => {
                let end = argument.as_str().ok_or("$ends is a text")?;
                found.as_str().is_some_and(|text| text.ends_with(end))
            }
            "$not" => self.compare(argument, found, at).is_err(),
            "$one_of" => {
                let choices = argument.as_array().ok_or("$one_of is a list")?;
                choices.iter().any(|choice| self.compare(choice, found, at).is_ok())
            }
            "$any_order" => self.compare_in_any_order(argument, found, at)?,
            "$all" => {
                let items = found.as_array().ok_or_else(|| differs(at, pattern, found))?;
                items.iter().enumerate().try_for_each(|(index, item)| {
                    self.compare(argument, item, &format!("{at}.{index}"))
                })?;
                pattern.get("count").is_none_or(|count| count.as_u64() == Some(items.len() as u64))
            }
            unknown => return Err(format!("{at}: a pattern has no {unknown}")),
        };
        if is_right { Ok(()) } else { Err(differs(at, pattern, found)) }
    }

    /// Each pattern takes the first item that it fits; so the strictest have to come first.
    fn compare_in_any_order(&mut self, patterns: &Value, found: &Value, at: &str) -> Result<bool> {
        let patterns = patterns.as_array().ok_or("$any_order is a list")?;
        let Some(items) = found.as_array() else { return Ok(false) };
        let mut left: Vec<&Value> = items.iter().collect();
        for pattern in patterns {
            let fits = left.iter().position(|item| self.compare(pattern, item, at).is_ok());
            let Some(fits) = fits else { return Ok(false) };
            left.remove(fits);
        }
        Ok(left.is_empty())
    }
}

fn differs(at: &str, expected: &Value, found: &Value) -> String {
    let shown = |value: &Value| {
        const SHOWN_MAX: usize = 2_000;
        let text = value.to_string();
        text.chars().take(SHOWN_MAX).collect::<String>()
    };
    format!("{at}\n      expected {}\n      found    {}", shown(expected), shown(found))
}
