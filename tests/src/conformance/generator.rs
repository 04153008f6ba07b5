//! Lists that a case file describes instead of writing them out.
//!
//! `{"range": ["m-%06d", A, B]}` is a member for each i from A to B-1, `"score"` beside it a
//! score for each, and `{"concat": […]}` puts lists one after the other.

use serde_json::Value;

use crate::Result;
use crate::value;

/// The items of a list or of a generator, each with the score that its rule gives it.
/// `explicit` reads an item that is written out.
pub(crate) fn items<T>(
    list: &Value,
    explicit: &impl Fn(&Value) -> Result<T>,
    generated: &impl Fn(Vec<u8>, Option<f64>) -> Result<T>,
) -> Result<Vec<T>> {
    if let Some(list) = list.as_array() {
        return list.iter().map(explicit).collect();
    }
    if let Some(lists) = list["concat"].as_array() {
        let mut all = Vec::new();
        for list in lists {
            all.extend(items(list, explicit, generated)?);
        }
        return Ok(all);
    }
    let unreadable = || format!("no list and no generator: {list}");
    let [format, first, end] = &list["range"].as_array().ok_or_else(unreadable)?[..] else {
        return Err(unreadable());
    };
    let format = value::bytes(format)?;
    let (first, end) = first.as_i64().zip(end.as_i64()).ok_or_else(unreadable)?;
    let rule = list["score"].as_str();
    (first..end)
        .map(|i| {
            let score = rule.map(|rule| evaluate(rule, i)).transpose()?;
            generated(print(&format, i)?, score.map(|score| score as f64))
        })
        .collect()
}

/// Formats `i` as C's printf does; `%d`, `%i`, `%x` and `%%`, with a width.
fn print(format: &[u8], i: i64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = format.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut width = String::new();
        let conversion = loop {
            match rest.next() {
                Some(digit) if digit.is_ascii_digit() => width.push(char::from(digit)),
                other => break other,
            }
        };
        let columns = width.parse().unwrap_or(0);
        let number = match conversion {
            Some(b'%') => "%".to_owned(),
            Some(b'd' | b'i') if width.starts_with('0') => format!("{i:0columns$}"),
            Some(b'd' | b'i') => format!("{i:columns$}"),
            Some(b'x') if width.starts_with('0') => format!("{i:0columns$x}"),
            Some(b'x') => format!("{i:columns$x}"),
            _ => return Err(format!("unknown format {}", value::shown(format))),
        };
        out.extend_from_slice(number.as_bytes());
    }
    Ok(out)
}

/// Computes a score rule: integers with C's precedence.
fn evaluate(rule: &str, i: i64) -> Result<i64> {
    let text: Vec<u8> = rule.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut rest = &text[..];
    let result = sum(&mut rest, i).filter(|_| rest.is_empty());
    result.ok_or_else(|| format!("cannot compute the rule {rule} for i = {i}"))
}

fn sum(rest: &mut &[u8], i: i64) -> Option<i64> {
    let mut total = product(rest, i)?;
    while let Some(sign) = next(rest, b"+-") {
        let term = product(rest, i)?;
        total = if sign == b'+' { total.checked_add(term)? } else { total.checked_sub(term)? };
    }
    Some(total)
}

fn product(rest: &mut &[u8], i: i64) -> Option<i64> {
    let mut total = factor(rest, i)?;
    while let Some(sign) = next(rest, b"*/%") {
        let term = factor(rest, i)?;
        total = match sign {
            b'*' => total.checked_mul(term)?,
            b'/' => total.checked_div(term)?,
            _ => total.checked_rem(term)?,
        };
    }
    Some(total)
}

fn factor(rest: &mut &[u8], i: i64) -> Option<i64> {
    if next(rest, b"-").is_some() {
        return factor(rest, i)?.checked_neg();
    }
    if next(rest, b"(").is_some() {
        let inner = sum(rest, i)?;
        return next(rest, b")").map(|_| inner);
    }
    if next(rest, b"i").is_some() {
        return Some(i);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Takes the next byte if it is one of these.
fn next(rest: &mut &[u8], of: &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first().filter(|(first, _)| of.contains(first))?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_the_precedence_of_c() {
        assert_eq!(evaluate("i*7919%10007+10007", 3), Ok(3 * 7919 % 10007 + 10007));
        assert_eq!(evaluate("20000-i", 1), Ok(19_999));
        assert_eq!(evaluate("10-3-2", 0), Ok(5));
        assert_eq!(evaluate("7%4*2", 0), Ok(6));
        assert_eq!(evaluate("-(i+1) * 2", 4), Ok(-10));
        for wrong in ["", "i+", "j", "1 2 )", "5%0", "9223372036854775807+i"] {
            assert!(evaluate(wrong, 1).is_err(), "{wrong}");
        }
    }

    #[test]
    fn formats_are_those_of_printf() {
        assert_eq!(print(b"m-%06d", 42).unwrap(), b"m-000042");
        assert_eq!(print(b"%d%%/%3d", 7).unwrap(), b"7%/  7");
        assert_eq!(print(b"same", 7).unwrap(), b"same");
        assert!(print(b"%s", 7).is_err());
    }
}
