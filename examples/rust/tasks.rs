//! What a task store is for: a step of work and everything that follows from it happen together,
//! once, even if several workers try it.
//!
//! `cargo run -p millpond-examples --example tasks [URL]`

use std::time::Duration;

use millpond::tasks::{Failure, Filter, Modification, NewDoc, NewTask, TaskQuery};

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    // A store of its own for each run.
    let name = format!("examples/tasks/{}", std::process::id());
    let (ann, bob) = (client.tasks(&name).claimant("ann"), client.tasks(&name).claimant("bob"));

    // An order, and an account that it will be taken from.
    ann.insert("orders", r#"{"account": "7", "price": 30}"#)?;
    ann.put_doc(NewDoc::new("accounts", "7").content(r#"{"balance": 100}"#))?;

    // Ann claims the order, and is too slow: her lease is over at once. Bob claims it as well.
    let anns = ann.claim(["orders"], Duration::ZERO)?.expect("there is one");
    let bobs = bob.claim(["orders"], Duration::from_secs(30))?.expect("it is available again");
    assert_eq!((anns.version, bobs.version), (1, 2));

    // Bob does all of it in one step: the order is gone, the invoice is there, the balance is less.
    let account = &bob.claim_docs("accounts", ["7"], Duration::from_secs(30))?[0];
    let done = bob.modify(
        Modification::new()
            .delete(&bobs)
            .insert(NewTask::new("invoices").value(r#"{"account": "7", "price": 30}"#))
            .change_doc(account.change().content(r#"{"balance": 70}"#).release()),
    )?;
    assert_eq!(done.changed_docs[0].version, account.version + 1);

    // Ann's version is stale, so her modification is refused: no second invoice.
    let late = Modification::new().delete(&anns).insert(NewTask::new("invoices").value("{}"));
    let error = ann.modify(late).expect_err("the order is gone");
    assert_eq!(error.dependency().map(|of| of.deletes.len()), Some(1));
    println!("one order, one invoice: {error}");

    // A worker claims, renews while the handler works, retries what failed, and moves to the error
    // queue what fails too often.
    let worker = bob.worker(["invoices"]).backoff(Duration::ZERO).max_attempts(2);
    worker.drain(|_| -> Result<(), _> { Err(Failure::Retry("the printer is off".to_owned())) })?;
    let aside = bob.list("invoices/err", TaskQuery::new())?.tasks.remove(0);
    assert_eq!(
        (aside.attempt, &*aside.err),
        (2, "the printer is off\nexhausted: the printer is off")
    );
    println!(
        "after {} attempts in {}: {}",
        aside.attempt,
        aside.queue,
        aside.err.replace('\n', "; ")
    );

    // It is switched on, and the invoice moved back.
    let again = aside.change().queue("invoices").attempt(0).err("");
    bob.modify(Modification::new().change(again))?;
    assert_eq!(worker.drain(|_| ())?.done, 1);
    assert!(bob.are_empty(Filter::new().prefix(""))?);
    let account = bob.get_doc("accounts", "7")?.expect("it was put");
    assert_eq!(account.content.as_deref(), Some(r#"{"balance": 70}"#));
    bob.modify(Modification::new().delete_doc(&account))?;
    client.close()
}
