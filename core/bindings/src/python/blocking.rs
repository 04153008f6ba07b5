//! Python's blocking modules, made from those for asyncio: `python/modules`.
//!
//! The two differ in words only. What else differs is in `mode.py`, by hand for each kind of caller;
//! so a module that needs more than these words is a module that has something to move there.

/// Words of asyncio, and what they are where calls block; in this order.
const WORDS: &[(&str, &str)] = &[
    ("n ``async with``", " ``with``"),
    ("async def ", "def "),
    ("async with ", "with "),
    ("async for ", "for "),
    ("await ", ""),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("__anext__", "__next__"),
    ("aclose", "close"),
    ("millpond.aio", "millpond"),
    ("from ..", "from ."),
    ("concurrency: int = 10", "concurrency: int = 1"),
];

/// The blocking module of an asyncio module, which is named for the head that says so.
#[must_use]
pub(crate) fn blocking(asyncio_source: &str) -> String {
    asyncio_source.lines().map(|line| blocking_line(line) + "\n").collect()
}

fn blocking_line(line: &str) -> String {
    let line = without_groups(line);
    WORDS.iter().fold(line, |line, (asyncio, blocking)| line.replace(asyncio, blocking))
}

/// Drops the parentheses of `(await call()).attribute`, which hold nothing together without `await`.
fn without_groups(line: &str) -> String {
    let mut line = line.to_owned();
    let mut from = 0;
    while let Some(found) = line[from..].find("(await ") {
        let open = from + found;
        from = open + 1;
        // Behind a name, they are those of a call.
        let is_call = line[..open].ends_with(|c: char| c.is_alphanumeric() || "_)]".contains(c));
        if let (false, Some(close)) = (is_call, closing(&line, open)) {
            line.remove(close);
            line.remove(open);
            from = open;
        }
    }
    line
}

/// Where the parenthesis is closed that opens here, if that is on the same line.
fn closing(line: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    line.char_indices().skip_while(|(at, _)| *at < open).find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_asyncio_go() {
        let source = "\
from .. import _native
from ..values import Added
from .mode import Loop

async def add(self, pairs: Pairs) -> Added:
    \"\"\"An ``async with`` block; see :meth:`millpond.aio.Client.aclose`.

    >>> (await ick.stats()).total_size, len(await ick.peek((1)))
    \"\"\"
    return Added(*await self._native.add(pairs))
";
        let expected = "\
from . import _native
from .values import Added
from .mode import Loop

def add(self, pairs: Pairs) -> Added:
    \"\"\"A ``with`` block; see :meth:`millpond.Client.close`.

    >>> ick.stats().total_size, len(ick.peek((1)))
    \"\"\"
    return Added(*self._native.add(pairs))
";
        assert_eq!(blocking(source), expected);
    }
}
