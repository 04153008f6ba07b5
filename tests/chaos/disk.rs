//! Two more children: one that only holds a directory, and one whose disk refuses.

use millpond::Result;

use crate::pipe::{READY, say};

/// Holds the engine at `url` until standard input ends.
pub(crate) fn hold(url: &str) -> Result<()> {
    let _client = millpond::connect(url)?;
    say(READY);
    // Whether it ends or breaks, there is nothing more to hold it for.
    let _ = std::io::stdin().read_line(&mut String::new());
    Ok(())
}

/// Adds numbered members until a step fails, then says how the steps after it fail.
pub(crate) fn fill(url: &str) -> Result<()> {
    let client = millpond::connect(url)?;
    let ick = client.ick("filled");
    for number in 0.. {
        let member = format!("{number}-{:-<500}", "");
        say(format_args!("i {number}"));
        match ick.add([(1.0, member)]) {
            Ok(_) => say(format_args!("a {number}")),
            Err(error) => {
                say(format_args!("error {} {error}", error.kind().name()));
                break;
            }
        }
    }
    for result in [
        ick.add([(1.0, "later")]).map(drop),
        client.ick("other").add([(1.0, "later")]).map(drop),
        ick.stats().map(drop),
        ick.reserve(1).map(drop),
    ] {
        say(format_args!("after {}", result.map_or_else(|error| error.kind().name(), |()| "OK")));
    }
    Ok(())
}
