//! What an Ick is for: a document that changes while it is being worked on is processed again.
//!
//! `cargo run -p millpond-examples --example first [URL]`

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let ick = client.ick("examples/first");
    ick.delete()?;

    // Flag two documents. The score says how urgent: the lowest comes first.
    let added = ick.add([(2.0, "b.txt"), (1.0, "a.txt")])?;
    assert_eq!((added.new, added.lowered), (2, 0));

    // Flag one of them again: it is merged into the existing flag, which keeps its score.
    let added = ick.add([(3.0, "a.txt")])?;
    assert_eq!((added.new, added.lowered), (0, 0));

    // Take a batch. It stays reserved until it is committed.
    let batch = ick.reserve(10)?;
    let members: Vec<&[u8]> = batch.iter().map(|entry| &entry.member[..]).collect();
    assert_eq!(members, [b"a.txt", b"b.txt"]);

    // While we work, a.txt changes again. The commit does not remove that flag.
    ick.add([(4.0, "a.txt")])?;
    assert_eq!(ick.commit(["a.txt", "b.txt"])?, 2);

    let batch = ick.reserve(10)?;
    assert_eq!(batch.len(), 1);
    assert_eq!((batch[0].member.as_slice(), batch[0].score), (&b"a.txt"[..], 4.0));
    println!("a.txt changed while it was being worked on, and came again");

    ick.delete()?;
    client.close()
}
