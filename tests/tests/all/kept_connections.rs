//! `persist`: connections that a client leaves to the next one of its process.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use millpond::ErrorKind;
use millpond_tests::servers::{Redis, wait_until};

use crate::connections::WAYS;

/// The connections of a name that a server has.
fn connections(server: &Redis, name: &str) -> BTreeSet<String> {
    let named = format!(" name={name} ");
    let clients = server.cli(&["CLIENT", "LIST"]).text();
    let of_name = clients.lines().filter(|client| client.contains(&named));
    of_name.map(|client| client.split(' ').next().unwrap().to_owned()).collect()
}

fn url(server: &Redis, way: &str, persist: &str) -> String {
    format!("{}?client_name={way}{persist}", server.url())
}

#[test]
fn clients_one_after_the_other_share_a_connection() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let url = url(&server, way, "&persist=60s");
        let mut seen = BTreeSet::new();
        for turn in 0..50 {
            let client = millpond::connect(&url).unwrap();
            assert_eq!(add(&client, 1).unwrap(), 1);
            if turn % 2 == 0 {
                client.close().unwrap();
                assert!(add(&client, 1).is_err(), "{way}: a client that was closed is");
            }
            drop(client);
            seen.extend(connections(&server, way));
        }
        assert_eq!(seen.len(), 1, "{way}: {seen:?}");
    }
}

#[test]
fn without_it_a_connection_ends_with_its_client() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let client = millpond::connect(&url(&server, way, "")).unwrap();
        add(&client, 1).unwrap();
        assert_eq!(connections(&server, way).len(), 1);
        drop(client);
        wait_until("it is closed", || connections(&server, way).is_empty());
    }
}

#[test]
fn what_nobody_takes_is_closed_when_its_time_is_over() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let clients: Vec<_> = ["&persist=150ms", "&persist=400ms", "&persist=60m"]
            .iter()
            .map(|persist| millpond::connect(&url(&server, way, persist)).unwrap())
            .collect();
        for client in &clients {
            add(client, 1).unwrap();
        }
        assert_eq!(connections(&server, way).len(), 3);
        drop(clients);
        wait_until("two are closed", || connections(&server, way).len() == 1);
    }
}

#[test]
fn clients_at_the_same_time_have_connections_of_their_own() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let url = url(&server, way, "&persist=60s");
        for _ in 0..3 {
            let clients: Vec<_> = (0..4).map(|_| millpond::connect(&url).unwrap()).collect();
            for client in &clients {
                add(client, 1).unwrap();
            }
            assert_eq!(connections(&server, way).len(), 4);
        }
    }
}

#[test]
fn another_password_or_database_is_another_connection() {
    let server = Redis::builder().requirepass("secret").start();
    let url = |password: &str, database: usize| {
        let port = server.port();
        format!("redis://:{password}@127.0.0.1:{port}/{database}?persist=60s")
    };
    let is_used = |database: usize| server.info("keyspace", &format!("db{database}")).is_some();
    for (database, (way, add)) in (1..).zip(WAYS) {
        add(&millpond::connect(&url("secret", 0)).unwrap(), 1).unwrap();
        let error = add(&millpond::connect(&url("wrong", 0)).unwrap(), 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AuthenticationFailed, "{way}");
        assert!(!is_used(database), "{way}");
        add(&millpond::connect(&url("secret", database)).unwrap(), 1).unwrap();
        assert!(is_used(database), "{way}");
    }
}

#[test]
fn one_that_broke_meanwhile_loses_no_call() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let url = url(&server, way, "&persist=60s&timeout=20s&retries=1000");
        add(&millpond::connect(&url).unwrap(), 1).unwrap();
        for _ in 0..3 {
            let was = connections(&server, way);
            server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
            wait_until("it is gone", || connections(&server, way).is_disjoint(&was));
            assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
        }
        server.restart();
        assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
    }
}
