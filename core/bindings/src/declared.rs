//! What a host declares, read from the text of its interface: classes, their members, and the words that the
//! declaration of each has, which are its parameters among others.

use std::collections::{BTreeMap, BTreeSet};

/// The classes of a host by their names. Functions outside a class are members of the one without a name.
#[derive(Default)]
pub(crate) struct Declared(BTreeMap<String, Class>);

#[derive(Default)]
struct Class {
    /// The words of its declaration: what it extends.
    head: BTreeSet<String>,
    members: BTreeMap<String, BTreeSet<String>>,
}

/// How a language declares things, line by line.
pub(crate) struct Syntax {
    /// What a line begins with that declares a class, a module or an interface, before its name.
    pub(crate) classes: &'static [&'static str],
    /// The same of a member, with its indentation.
    pub(crate) members: &'static [&'static str],
    /// The indentation of a member that has no word before it; 0 if there is none such.
    pub(crate) bare: usize,
    /// What a line of a comment begins with.
    pub(crate) comments: &'static [&'static str],
    /// What a string over several lines begins and ends with, if that is a comment.
    pub(crate) docstring: &'static str,
    /// Whether names end with a `?`.
    pub(crate) has_questions: bool,
}

pub(crate) const PYTHON: Syntax = Syntax {
    classes: &["class "],
    members: &["    def ", "    async def ", "def "],
    bare: 4,
    comments: &["#"],
    docstring: "\"\"\"",
    has_questions: false,
};

pub(crate) const TYPESCRIPT: Syntax = Syntax {
    classes: &["export class ", "export interface ", "export type "],
    members: &["  readonly ", "  static ", "  get ", "export function "],
    bare: 2,
    comments: &["/*", "*", "//"],
    docstring: "",
    has_questions: false,
};

pub(crate) const RBS: Syntax = Syntax {
    classes: &["  class ", "  module ", "module "],
    members: &["    def self.", "    def ", "    attr_reader ", "    alias ", "  def self."],
    bare: 0,
    comments: &["#"],
    docstring: "",
    has_questions: true,
};

pub(crate) const PHP: Syntax = Syntax {
    classes: &["final class ", "class ", "interface ", "enum ", "trait "],
    members: &[
        "    public function ",
        "    public static function ",
        "    case ",
        "    public readonly ",
    ],
    bare: 0,
    comments: &["/*", "*", "//", "#["],
    docstring: "",
    has_questions: false,
};

impl Declared {
    /// Adds what a file declares.
    pub(crate) fn add(&mut self, syntax: &Syntax, text: &str) {
        let (mut class, mut member, mut is_comment) = (String::new(), String::new(), false);
        for line in text.lines() {
            let code = line.trim_start();
            let indent = &line[..line.len() - code.len()];
            let marks = if syntax.docstring.is_empty() {
                0
            } else {
                line.matches(syntax.docstring).count()
            };
            let was_comment = is_comment;
            is_comment ^= marks % 2 == 1;
            if was_comment || marks > 0 || syntax.comments.iter().any(|of| code.starts_with(of)) {
                continue;
            }
            let after =
                |starts: &[&'static str]| starts.iter().find_map(|start| line.strip_prefix(start));
            let is_bare = syntax.bare > 0 && indent.len() == syntax.bare;
            if let Some(rest) = after(syntax.classes) {
                let mut words = words(rest);
                (class, member) = (words.next().unwrap_or_default().to_owned(), String::new());
                self.0.entry(class.clone()).or_default().head.extend(words.map(str::to_owned));
                continue;
            }
            if !indent.is_empty()
                || code.starts_with("def ")
                || code.starts_with("export function ")
            {
                if let Some(rest) = after(syntax.members) {
                    // The name of a property comes after its type.
                    let rest = match line.contains("readonly") && rest.contains('$') {
                        true => rest.rsplit('$').next().unwrap_or(rest),
                        false => rest,
                    };
                    member = name_of(rest, syntax.has_questions);
                } else if is_bare && code.split([':', '?', '(', '<']).next().is_some_and(is_word) {
                    member = name_of(code, syntax.has_questions);
                }
                if indent.is_empty() {
                    class.clear();
                }
            }
            let all = self.0.entry(class.clone()).or_default();
            match member.is_empty() {
                true => all.head.extend(words(line).map(str::to_owned)),
                false => all
                    .members
                    .entry(member.clone())
                    .or_default()
                    .extend(words(line).map(str::to_owned)),
            }
        }
    }

    /// Adds a member with its words.
    pub(crate) fn insert(
        &mut self,
        class: &str,
        member: &str,
        words: impl IntoIterator<Item = String>,
    ) {
        let class = self.0.entry(class.to_owned()).or_default();
        class.members.entry(member.to_owned()).or_default().extend(words);
    }

    pub(crate) fn has_class(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether a place has this: a class (or what it extends) as a member or as an argument of its constructor, a
    /// method (`Class.method`) as a parameter, which its options can hold.
    pub(crate) fn has(&self, place: &str, name: &str) -> bool {
        match place.split_once('.') {
            None => self.has_member(place, name, &mut BTreeSet::new()),
            Some((class, method)) => {
                let words = self.words(class, method);
                words.contains(name)
                    || words.iter().any(|of| of.ends_with("Options") && self.has(of, name))
            }
        }
    }

    fn has_member(&self, class: &str, name: &str, seen: &mut BTreeSet<String>) -> bool {
        let Some(found) = self.0.get(class).filter(|_| seen.insert(class.to_owned())) else {
            return false;
        };
        let made = ["__init__", "__new__", "constructor", "initialize", "__construct"];
        let made = made.iter().filter_map(|of| found.members.get(*of));
        found.members.contains_key(name)
            || made.into_iter().any(|words| words.contains(name))
            || found.head.iter().any(|of| of == name || self.has_member(of, name, seen))
    }

    fn words(&self, class: &str, method: &str) -> BTreeSet<String> {
        let (mut all, mut open, mut seen) =
            (BTreeSet::new(), vec![class.to_owned()], BTreeSet::new());
        while let Some(class) = open.pop() {
            let Some(found) = self.0.get(&class).filter(|_| seen.insert(class.clone())) else {
                continue;
            };
            all.extend(found.members.get(method).into_iter().flatten().cloned());
            open.extend(found.head.iter().cloned());
        }
        all
    }
}

/// The words of code: names, and texts that are names.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '?'))
        .map(|word| word.trim_start_matches('?'))
        .flat_map(|word| [word, word.trim_end_matches('?')])
        .filter(|word| is_word(word.trim_end_matches('?')))
}

/// The name that code begins with.
fn name_of(code: &str, has_questions: bool) -> String {
    let name = words(code).next().unwrap_or_default();
    if has_questions { name.to_owned() } else { name.trim_end_matches('?').to_owned() }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
