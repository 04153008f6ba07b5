//! Flags documents as dirty; run `consumer` with the same URL to work on them.
//!
//! `cargo run -p millpond-examples --features redis --example producer redis://localhost`
//!
//! Any number of producers may run. With the default, `memory:`, other programs do not see what is
//! flagged.

fn main() -> millpond::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let client = millpond::connect(&url)?;
    let ick = client.ick("examples/documents");

    // Three documents, with no score: the server's time, so the oldest flag comes first.
    let documents = ["a.txt", "b.txt", "c.txt"];
    ick.add(documents.map(|document| (None, document)))?;

    // A busy document is flagged a thousand times and is one piece of work. It may be new, if a
    // consumer took the first flag meanwhile; a later time never lowers its score.
    let flags = vec![(None, "busy.txt"); 1_000];
    let added = ick.add(flags)?;
    assert!(added.new <= 1);
    assert_eq!(added.lowered, 0);

    let stats = ick.stats()?.expect("it was just made");
    assert!(stats.producer_size <= 4 || url != "memory:");
    println!(
        "flagged; {} documents wait, {} are being worked on",
        stats.producer_size, stats.consumer_size
    );
    client.close()
}
