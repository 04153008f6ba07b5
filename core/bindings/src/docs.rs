//! The core's comments: Markdown as rustdoc has it, rendered in the words of a host.

use crate::model::{ErrorKind, Model, Value};

/// A comment, taken apart.
#[derive(Clone, Default)]
pub(crate) struct Docs {
    /// What comes before the first heading.
    pub(crate) blocks: Vec<Block>,
    /// Sections such as `Errors` and `Delivery`.
    sections: Vec<(String, Vec<Block>)>,
}

#[derive(Clone)]
pub(crate) enum Block {
    /// On one line.
    Paragraph(String),
    List(Vec<String>),
    /// Kept as it is, with its lines.
    Table(String),
    /// Rust, which no host shows.
    Code,
}

/// For people: the first paragraph.
impl std::fmt::Debug for Docs {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self.first())
    }
}

impl Docs {
    pub(crate) fn parse(text: &str) -> Self {
        let mut docs = Self::default();
        let (mut is_code, mut is_open) = (false, false);
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.starts_with("```") {
                is_code = !is_code;
                if is_code {
                    docs.last().push(Block::Code);
                }
                is_open = false;
            } else if is_code {
            } else if trimmed.is_empty() {
                is_open = false;
            } else if let Some(heading) = trimmed.strip_prefix("# ") {
                docs.sections.push((heading.to_owned(), Vec::new()));
                is_open = false;
            } else {
                docs.last_mut(trimmed, is_open);
                is_open = true;
            }
        }
        docs
    }

    fn last(&mut self) -> &mut Vec<Block> {
        match self.sections.last_mut() {
            Some((_, blocks)) => blocks,
            None => &mut self.blocks,
        }
    }

    /// Adds a line to the block that is open, or opens one.
    fn last_mut(&mut self, line: &str, is_open: bool) {
        let blocks = self.last();
        match (
            blocks.last_mut().filter(|_| is_open),
            line.strip_prefix("- "),
            line.starts_with('|'),
        ) {
            (Some(Block::List(items)), Some(item), _) => items.push(item.to_owned()),
            (Some(Block::List(items)), None, false) => {
                let item = items.last_mut().expect("a list has an item");
                *item = format!("{item} {line}");
            }
            (Some(Block::Table(rows)), _, true) => *rows = format!("{rows}\n{line}"),
            (Some(Block::Paragraph(text)), None, false) => *text = format!("{text} {line}"),
            (_, Some(item), _) => blocks.push(Block::List(vec![item.to_owned()])),
            (_, _, true) => blocks.push(Block::Table(line.to_owned())),
            _ => blocks.push(Block::Paragraph(line.to_owned())),
        }
    }

    /// Says it in other words.
    #[cfg(test)]
    pub(crate) fn reword(&mut self) {
        let sections = self.sections.iter_mut().flat_map(|(_, blocks)| blocks);
        for block in self.blocks.iter_mut().chain(sections) {
            if let Block::Paragraph(text) = block {
                *text = format!("In other words: {text}");
            }
        }
    }

    /// Its first paragraph, as it stands in the core.
    pub(crate) fn first(&self) -> &str {
        let text = self.blocks.iter().find_map(|block| match block {
            Block::Paragraph(text) => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or("")
    }

    /// What stands under this heading.
    pub(crate) fn section(&self, heading: &str) -> &[Block] {
        let found = self.sections.iter().find(|(name, _)| name == heading);
        found.map_or(&[], |(_, blocks)| blocks)
    }
}

/// How a host says things in its comments.
pub(crate) trait Words {
    /// The core's `None`.
    fn none(&self) -> String;
    /// An error that is raised, thrown or returned.
    fn error(&self, error: &ErrorKind) -> String;
    /// A type by its key, such as `tasks.Task`. `text` is what the core shows.
    fn item(&self, key: &str, text: &str) -> String;
    /// A method, option or field of a type, mentioned in a comment of `owner`.
    fn member(&self, owner: &str, key: &str, member: &str, text: &str) -> String;
    /// Anything else in backticks: a field, a method, a command of Redis.
    fn code(&self, text: &str) -> String;
    /// A value of an enum.
    fn variant(&self, _: &str, _: &str, text: &str) -> String {
        self.code(text)
    }
}

/// Renders the comments of one item.
pub(crate) struct Renderer<'a> {
    pub(crate) model: &'a Model,
    pub(crate) words: &'a dyn Words,
    /// The item whose comment it is, such as `tasks.TaskStore`.
    pub(crate) owner: &'a str,
}

impl Renderer<'_> {
    /// All paragraphs and lists of these blocks: each a text without line breaks, items of lists with `- `.
    pub(crate) fn blocks(&self, blocks: &[Block]) -> Vec<String> {
        let rendered = blocks.iter().flat_map(|block| match block {
            Block::Paragraph(text) => vec![self.inline(text)],
            Block::List(items) => {
                items.iter().map(|item| format!("- {}", self.inline(item))).collect()
            }
            Block::Table(rows) => {
                vec![rows.lines().map(|row| self.inline(row)).collect::<Vec<_>>().join("\n")]
            }
            Block::Code => Vec::new(),
        });
        rendered.collect()
    }

    /// The paragraphs before the first heading, and those on delivery.
    pub(crate) fn text(&self, docs: &Docs) -> Vec<String> {
        [self.blocks(&docs.blocks), self.blocks(docs.section("Delivery"))].concat()
    }

    /// One paragraph or less, with the links and the code of the core in the host's words.
    pub(crate) fn inline(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find(['[', '`']) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let (rendered, length) = match rest.starts_with('`') {
                true => self.backticks(rest),
                false => self.link(rest),
            };
            out.push_str(&rendered);
            rest = &rest[length..];
            if rendered.ends_with("iB") {
                rest = rest.strip_prefix(" bytes").unwrap_or(rest);
            }
        }
        out + rest
    }

    /// Code at the start of the text, and its length there.
    fn backticks(&self, text: &str) -> (String, usize) {
        let Some(end) = text[1..].find('`') else { return (text.to_owned(), text.len()) };
        let code = &text[1..=end];
        (self.code(code), end + 2)
    }

    fn code(&self, code: &str) -> String {
        match (code, self.model.error(code)) {
            ("None", _) => self.words.none(),
            (_, Some(error)) => self.words.error(error),
            _ => self.words.code(code),
        }
    }

    /// A link at the start of the text, and its length there.
    fn link(&self, text: &str) -> (String, usize) {
        let Some(end) = text.find(']') else { return ("[".to_owned(), 1) };
        let label = &text[1..end];
        let (target, length) =
            match text[end + 1..].strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((target, _)) => (target, end + target.len() + 3),
                None if label.starts_with('`') => (label.trim_matches('`'), end + 1),
                None => return (format!("[{}]", self.inline(label)), end + 1),
            };
        (self.reference(target, label.trim_matches('`')), length)
    }

    fn reference(&self, target: &str, label: &str) -> String {
        if target.starts_with("http") || target.starts_with('#') {
            return label.to_owned();
        }
        let (queue, own) = self.owner.split_once('.').unwrap_or(("client", self.owner));
        let parts: Vec<_> =
            target.split("::").filter(|part| !["crate", "super", "self"].contains(part)).collect();
        let queue = parts.iter().find(|part| self.model.queues.contains(**part)).unwrap_or(&queue);
        let Some(last) = parts.last() else { return label.to_owned() };
        if let Some(constant) = self.model.constant(queue, last) {
            return match &constant.value {
                Value::Number(number) if last.contains("BYTES") => bytes(*number),
                Value::Number(number) => grouped(*number),
                Value::Float(number) if number.fract() == 0.0 => grouped(*number as u64),
                Value::Float(number) => number.to_string(),
                Value::Duration(ms) => time(*ms),
                _ => self.words.code(label),
            };
        }
        let before = parts.len().checked_sub(2).map(|of| parts[of]);
        let of = before.and_then(|of| self.model.resolve(queue, of));
        if let Some(key) = of.filter(|key| self.model.enums.contains_key(key)) {
            return self.words.variant(&key, last, label);
        }
        if last.chars().next().is_some_and(char::is_uppercase) {
            let name = if *last == "Self" { own } else { last };
            return match self.model.resolve(queue, name) {
                Some(key) => self.words.item(&key, label),
                None => self.words.code(label),
            };
        }
        let of = parts.len().checked_sub(2).map(|of| parts[of]).filter(|of| *of != "Self");
        match self.model.resolve(queue, of.unwrap_or(own)) {
            Some(key) => self.words.member(self.owner, &key, last, label),
            None => self.words.code(label),
        }
    }
}

/// 1000000 as 1,000,000.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// 16777216 as 16 MiB.
fn bytes(number: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let found = units.into_iter().find(|(unit, _)| number.is_multiple_of(*unit));
    found.map_or(grouped(number), |(unit, name)| format!("{} {name}", grouped(number / unit)))
}

/// Milliseconds in the largest unit that has a whole number of them.
pub(crate) fn time(ms: u64) -> String {
    let units = [
        (31_557_600_000, "year"),
        (86_400_000, "day"),
        (3_600_000, "hour"),
        (60_000, "minute"),
        (1_000, "second"),
    ];
    let found = units.into_iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    let (unit, name) = found.unwrap_or((1, "millisecond"));
    let number = ms / unit;
    format!("{} {name}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Breaks a text into lines of this width; code in backticks and links stay whole where they fit.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `lease_ms` as `leaseMs`.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |all, part| all + &capital(part))
}

/// `connection_lost` or `CONNECTION_LOST` as `ConnectionLost`.
pub(crate) fn pascal(name: &str) -> String {
    name.to_lowercase().split('_').map(capital).collect()
}

pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// `leaseMs` as `lease_ms`.
pub(crate) fn snake(name: &str) -> String {
    name.chars().fold(String::new(), |mut all, letter| {
        if letter.is_uppercase() {
            all.push('_');
        }
        all.extend(letter.to_lowercase());
        all
    })
}
