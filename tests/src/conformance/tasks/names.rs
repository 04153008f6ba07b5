//! What a case has given names, and values with these filled in.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::Result;

/// Results and parts of them by their names.
#[derive(Default)]
pub(super) struct Names {
    named: HashMap<String, Value>,
    /// What texts can hold in braces: the counters of loops.
    counters: HashMap<String, u64>,
}

impl Names {
    pub(super) fn name(&mut self, name: &str, value: Value) {
        self.named.insert(name.to_owned(), value);
    }

    /// Sets the counter of a loop.
    pub(super) fn count(&mut self, name: &str, number: u64) {
        self.counters.insert(name.to_owned(), number);
        self.name(name, json!(number));
    }

    /// A value, or a pattern, with everything filled in.
    pub(super) fn filled(&mut self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.filled_text(text)),
            Value::Array(items) => {
                let mut filled = Vec::new();
                for item in items {
                    self.fill_item(item, &mut filled)?;
                }
                Value::Array(filled)
            }
            Value::Object(object) => self.filled_object(object)?,
            plain => plain.clone(),
        })
    }

    fn filled_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, number) in &self.counters {
            text = text.replace(&format!("{{{name}}}"), &number.to_string());
        }
        text
    }

    /// One item of a list, or as many as `{"$each": [from, to], "of"}` stands for.
    fn fill_item(&mut self, item: &Value, filled: &mut Vec<Value>) -> Result<()> {
        let Some(range) = item.get("$each") else {
            filled.push(self.filled(item)?);
            return Ok(());
        };
        let bound = |index: usize| range[index].as_u64().ok_or("$each goes from one number to one");
        for number in bound(0)?..bound(1)? {
            self.count("n", number);
            self.fill_item(&item["of"], filled)?;
        }
        Ok(())
    }

    fn filled_object(&mut self, object: &Map<String, Value>) -> Result<Value> {
        if let Some(path) = object.get("$") {
            return self.looked_up(path, object.get("plus"));
        }
        if let Some(text) = object.get("$text") {
            let text = text.as_str().ok_or("$text is a text")?;
            let times = object["times"].as_u64().ok_or("$text is there so many times")?;
            let around = object.get("around").and_then(Value::as_str).unwrap_or_default();
            let text = self.filled_text(text).repeat(times as usize);
            return Ok(Value::String(format!("{around}{text}{around}")));
        }
        let filled = object.iter().map(|(key, value)| Ok((key.clone(), self.filled(value)?)));
        Ok(Value::Object(filled.collect::<Result<_>>()?))
    }

    /// What a path such as `t.inserted.0.version` leads to, with a number or a range added.
    fn looked_up(&self, path: &Value, plus: Option<&Value>) -> Result<Value> {
        let path = path.as_str().ok_or("$ is the name of something")?;
        let mut parts = path.split('.');
        let name = parts.next().unwrap_or_default();
        let mut value = self.named.get(name).ok_or_else(|| format!("nothing is named {name}"))?;
        for part in parts {
            let inner = match part.parse::<usize>() {
                Ok(index) => value.get(index),
                Err(_) => value.get(part),
            };
            value = inner.ok_or_else(|| format!("{path} leads to nothing"))?;
        }
        let Some(plus) = plus else { return Ok(value.clone()) };
        let number = value.as_i64().ok_or_else(|| format!("{path} is no number"))?;
        let added = |plus: &Value| plus.as_i64().map(|plus| number + plus);
        match plus.as_array().map(Vec::as_slice) {
            Some([least, most]) => Ok(json!({"$between": [added(least), added(most)]})),
            _ => Ok(json!(added(plus).ok_or("plus is a number or a range")?)),
        }
    }
}
