//! A task that ends every process which works on it is put aside, and the tasks that were with it are not: by steps, on
//! Redis and on the embedded engine. A claim for no time is one whose claimant has died.

use std::collections::BTreeSet;
use std::time::Duration;

use millpond::Client;
use millpond::tasks::{Begin, Claim, Claimed, Modification, TaskStore};
use millpond_tests::servers::Redis;

const TASKS: usize = 61;
const HELD: usize = 16;
const MAX_CRASHES: u32 = 3;

fn on_both(test: impl Fn(&Client, &TaskStore)) {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let client = millpond::connect(url).expect("the address is one");
        test(&client, &client.tasks("s"));
    }
}

fn claim(client: &Client, claimant: &str, seed: u32) -> Claimed {
    let claim = Claim::new("s", claimant, ["q", "r"], Duration::ZERO, HELD, seed);
    client.run(claim.map(|claim| claim.suspects(2))).expect("the store is there")
}

fn begin(client: &Client, claimant: &str, id: &str, unended: u32) -> bool {
    client.run(Begin::new("s", claimant, id, unended)).expect("the store is there")
}

#[test]
fn a_suspect_comes_alone_and_counts_from_its_beginning() {
    on_both(|client, store| {
        for queue in ["q", "r", "q"] {
            store.insert(queue, "1").expect("the store is there");
        }
        for unended in 1..=2 {
            assert_eq!(claim(client, "ann", unended).unended, [unended; 3]);
        }
        for seed in 0..5 {
            let claimed = claim(client, "ann", seed);
            assert_eq!(
                claimed.unended,
                [3],
                "seed {seed}: alone, and not counted as it has not begun"
            );
        }
        let task = claim(client, "ann", 1).tasks.remove(0);
        assert!(!begin(client, "bob", &task.id, 3), "somebody else has it");
        assert!(begin(client, "ann", &task.id, 3));
        assert!(begin(client, "ann", &task.id, 3), "the same again");
        let counts = (0..50).map(|seed| {
            let mut claimed = claim(client, "ann", seed);
            (claimed.tasks.remove(0).id, claimed.unended.remove(0))
        });
        let counts: BTreeSet<_> = counts.collect();
        assert_eq!(counts.len(), 3, "each in its turn");
        for (id, unended) in counts {
            assert_eq!(unended, if id == task.id { 4 } else { 3 });
        }
        // A change ends the claims: it is no suspect any more.
        for task in store.list("q", Default::default()).expect("the store is there").tasks {
            let change = Modification::new().change(task.change());
            store.clone().claimant("ann").modify(change).expect("nobody holds it");
            assert!(!begin(client, "ann", &task.id, 3));
        }
        let claimed = client.run(Claim::new("s", "ann", ["q"], Duration::ZERO, HELD, 1));
        assert_eq!(claimed.expect("the store is there").unended, [1, 1]);
    });
}

/// Processes one after the other, each of which dies with all that it holds when it works on the poison.
#[test]
fn only_the_poison_is_put_aside() {
    on_both(|client, store| {
        for number in 0..TASKS {
            store.insert("q", number.to_string()).expect("the store is there");
        }
        let (mut deaths, mut done, mut aside) = (0, BTreeSet::new(), Vec::new());
        for seed in 0.. {
            let claimant = format!("process-{seed}");
            let claimed = claim(client, &claimant, seed);
            if claimed.tasks.is_empty() {
                break;
            }
            let mut end = Modification::new();
            let mut has_died = false;
            for (task, unended) in claimed.tasks.iter().zip(&claimed.unended) {
                let number = task.value.as_deref().expect("it has a value").to_owned();
                if *unended > MAX_CRASHES {
                    aside.push(number);
                } else if *unended == MAX_CRASHES {
                    assert_eq!(claimed.tasks.len(), 1);
                    assert!(begin(client, &claimant, &task.id, *unended));
                    has_died = number == "7";
                } else {
                    has_died |= number == "7";
                }
                end = end.delete(task);
            }
            deaths += u32::from(has_died);
            if !has_died {
                store.clone().claimant(&claimant).modify(end).expect("it holds them");
                done.extend(claimed.tasks.iter().map(|task| task.id.clone()));
            }
        }
        assert_eq!((deaths, aside.as_slice()), (MAX_CRASHES, ["7".to_owned()].as_slice()));
        assert_eq!(done.len(), TASKS);
    });
}
