//! Steps over connections of redis-rs, on a real server.

use millpond::{ErrorKind, ick, redis_rs};
use millpond_tests::servers::Redis;
use redis::Client;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

#[test]
fn steps_share_their_queue_with_a_client() -> Result {
    let server = Redis::start();
    let mut connection = Client::open(server.url())?.get_connection()?;
    let files = millpond::connect(&server.url())?.ick("files");

    let add = ick::Add::new("files", [(2.0, "b"), (1.0, "a")])?;
    assert_eq!(redis_rs::run(&mut connection, &add)?, ick::Added { new: 2, lowered: 0 });
    assert_eq!(files.reserve(1)?.len(), 1);
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut connection)?;
    let reserved = redis_rs::run(&mut connection, &ick::Reserve::new("files", 2)?)?;
    assert_eq!(reserved.iter().map(|entry| &*entry.member).collect::<Vec<_>>(), [b"a", b"b"]);
    Ok(())
}

#[test]
fn async_connections_run_them_too() -> Result {
    let server = Redis::start();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let client = Client::open(server.url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let add = ick::Add::new("files", [(1.0, "a")])?;
        assert_eq!(redis_rs::run_async(&mut connection, &add).await?.new, 1);
        assert_eq!(redis_rs::run_async(&mut connection, &add).await?.new, 0);
        Ok(())
    })
}

#[test]
fn errors_are_ours() -> Result {
    let server = Redis::start();
    let mut connection = Client::open(server.url())?.get_connection()?;
    redis::cmd("SET").arg("files/ick/{files}/pset").arg("no set").exec(&mut connection)?;
    let add = ick::Add::new("files", [(1.0, "a")])?;
    let error = redis_rs::run(&mut connection, &add).expect_err("a key of another type");
    assert_eq!((error.kind(), error.operation()), (ErrorKind::WrongType, "ick.add"));

    server.kill();
    let error = redis_rs::run(&mut connection, &add).expect_err("no server");
    assert_eq!((error.kind(), error.operation()), (ErrorKind::ConnectionLost, "ick.add"));
    Ok(())
}
