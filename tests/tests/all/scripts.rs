//! The scripts themselves, called with arguments that no step of ours would send: a program
//! that sends them over its own connection must not be able to break an Ick.

use millpond::{
    ick,
    step::{Operation, Script},
};
use millpond_tests::servers::{Redis, Reply};

const KEYS: [&str; 3] = ["k", "k/ick/{k}/pset", "k/ick/{k}/cset"];

fn call(server: &Redis, script: &Script, keys: &[&str], args: &[&str]) -> Reply {
    let count = keys.len().to_string();
    let mut words = vec!["EVAL", script.source(), &count];
    words.extend(keys);
    words.extend(args);
    server.cli(&words)
}

#[test]
fn malformed_arguments_are_refused_and_change_nothing() -> Result<(), millpond::Error> {
    let server = Redis::start();
    let add = ick::Add::new("k", [(1.0, "a")])?.invocation().script;
    let reserve = ick::Reserve::new("k", 1)?.invocation().script;
    let exchange = ick::Exchange::new("k", 1, ["a"])?.invocation().script;
    let peek = ick::Peek::new("k", ick::Set::Producer, 1)?.invocation().script;
    let delete = ick::Delete::new("k")?.invocation().script;
    let commit = ick::Commit::new("k", ["a"])?.invocation().script;

    for (script, args, word) in [
        (add, vec!["0", "1", "a", "2"], "INVALID_ARGUMENT"),
        (add, vec!["0", "one", "a"], "ERR"),
        (add, vec!["0", "nan", "a"], "ERR"),
        (add, vec!["0", "1", "a", "1/2", "b"], "ERR"),
        (reserve, vec!["", "-1", "0"], "INVALID_ARGUMENT"),
        (reserve, vec!["", "1.5", "0"], "INVALID_ARGUMENT"),
        (reserve, vec!["", "100000000000000000", "0"], "INVALID_ARGUMENT"),
        (reserve, vec!["", "nan", "0"], "INVALID_ARGUMENT"),
        (reserve, vec!["", "", "0"], "INVALID_ARGUMENT"),
        (reserve, vec![], "INVALID_ARGUMENT"),
        (exchange, vec!["", "many", "0", "a"], "INVALID_ARGUMENT"),
        (peek, vec!["both", "1"], "INVALID_ARGUMENT"),
        (peek, vec!["producer", "-1"], "INVALID_ARGUMENT"),
        (delete, vec!["FLUSHALL", "0"], "INVALID_ARGUMENT"),
        (delete, vec![], "INVALID_ARGUMENT"),
    ] {
        let reply = call(&server, script, &KEYS, &args);
        let error = reply.error().unwrap_or_else(|| panic!("{args:?} gave {reply:?}"));
        assert!(error.starts_with(word), "{args:?}: {error}");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0, "{args:?} left something behind");
    }

    // A token without the lease's key fences nothing; a key without a token fences everything.
    let lease = ["k", "k/ick/{k}/pset", "k/ick/{k}/cset", "k/ick/{k}/lease"];
    for (script, args) in [(reserve, vec!["", "1", "0"]), (commit, vec!["", "a"]), (commit, vec![])]
    {
        let reply = call(&server, script, &lease, &args);
        assert!(reply.error().is_some_and(|error| error.starts_with("LEASE_LOST")), "{reply:?}");
    }
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    Ok(())
}

#[test]
fn a_bad_score_late_in_a_large_batch_changes_nothing() -> Result<(), millpond::Error> {
    let server = Redis::start();
    let add = ick::Add::new("k", [(1.0, "a")])?.invocation().script;
    let mut args = vec!["0".to_owned()];
    for i in 0..10_000 {
        args.extend([i.to_string(), format!("m{i}")]);
    }
    for bad in ["nan", "x", "", "1e400", "-0.1e401", "1e-400", " 1", "1 "] {
        args[2 * 9_999 + 1] = bad.to_owned();
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let reply = call(&server, add, &KEYS, &words);
        let error = reply.error().unwrap_or_else(|| panic!("{bad} gave {reply:?}"));
        assert_eq!(error, "INVALID_ARGUMENT score 9999 is not a number");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    }
    for good in ["inf", "-Infinity", "0e5", "-0.0", "5e-324", "1.5E+3", "+7"] {
        args[2 * 9_999 + 1] = good.to_owned();
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let reply = call(&server, add, &KEYS, &words);
        assert!(reply.error().is_none(), "{good} gave {reply:?}");
    }
    Ok(())
}

#[test]
fn names_are_data() -> Result<(), millpond::Error> {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let name = "k'] redis.call('FLUSHALL') --\r\n*1\r\n$8\r\nFLUSHALL\r\n";
    server.cli(&["SET", "other", "stays"]);
    client.ick(name).add([(1.0, name)])?;
    assert_eq!(client.ick(name).reserve(9)?[0].member, name.as_bytes());
    server.cli(&["SET", name, "ick.v9\r\n-ERR x"]);
    let error = client.ick(name).stats().expect_err("the version is unknown");
    assert_eq!(error.kind(), millpond::ErrorKind::IncompatibleVersion);
    assert_eq!(server.cli(&["GET", "other"]).text(), "stays");
    Ok(())
}
