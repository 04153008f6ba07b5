//! The specification models of Millpond, and the servers that it is tested on.
//!
//! Nothing here is published: it is shared by the test suites of every language. Rust uses it as
//! a library, the others through the program `millpond-test-servers`.

pub mod clock;
pub mod history;
pub mod hostile;
pub mod proxy;
pub mod random;
pub mod servers;
pub mod shuffle;
pub mod stand_in;
pub mod tasks;
pub mod waiting;

/// Waits for a future without any runtime: Millpond's need none.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
