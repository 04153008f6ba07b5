//! Connections that outlive their client, for the next one with the same options: `persist` in a URL.
//!
//! A PHP page makes its client and gives it up at its end, and a process of php-fpm serves thousands of pages. Without
//! this each page that sends anything would connect first, which takes longer than a step.
//!
//! What is kept belongs to nobody. A client takes it out of the table and puts it back, so two clients at the same time
//! never share connections, and a child of a fork has a table of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::dial::Dialer;
use super::link::Links;
use super::pool::Pool;
use super::router::Router;
use crate::options::Options;
use crate::runtime::fork::PerProcess;
use crate::runtime::sync::lock;
use crate::runtime::timer::{Scheduled, Timer};

static KEPT: PerProcess<Mutex<Table>> = PerProcess::new();

/// The connections of a client that calls go over, and what it has found out about its servers.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) router: Arc<Router>,
    pub(super) pool: Arc<Pool>,
    pub(super) links: Arc<Links>,
}

#[derive(Default)]
struct Table {
    /// By their [keys](Options::connection_key), with the time until which they are kept.
    kept: HashMap<String, Vec<(Instant, Routes)>>,
    /// When those whose time is over are looked for next.
    next: Option<(Instant, Scheduled)>,
}

impl Routes {
    /// Those that a client before has left, or new ones.
    pub(super) fn take_or_make(dialer: &Dialer) -> Self {
        let options = &dialer.options;
        let left = options.persist.and_then(|_| Table::take(&options.connection_key()));
        left.unwrap_or_else(|| {
            let router = Arc::new(Router::new(dialer.clone()));
            let pool = Arc::new(Pool::new(dialer.clone()));
            let links = Links::new(router.clone());
            Self { router, pool, links }
        })
    }

    /// The client needs them no more. What is under way still gets its reply.
    pub(super) fn leave(&self, options: &Options) {
        match options.persist {
            Some(time) if Timer::ensure().is_ok() => {
                Table::put(options.connection_key(), self.clone(), time)
            }
            _ => self.close(),
        }
    }

    fn close(&self) {
        self.pool.close();
        self.links.close();
    }
}

impl Table {
    fn own() -> Arc<Mutex<Self>> {
        KEPT.get_or_make(Arc::default, |_| {})
    }

    fn take(key: &str) -> Option<Routes> {
        let table = Self::own();
        let mut table = lock(&table);
        let (_, routes) = table.kept.get_mut(key)?.pop()?;
        Some(routes)
    }

    fn put(key: String, routes: Routes, time: Duration) {
        let until = Instant::now() + time;
        let table = Self::own();
        let mut table = lock(&table);
        table.kept.entry(key).or_default().push((until, routes));
        if table.next.as_ref().is_none_or(|(next, _)| until < *next) {
            table.look_at(until);
        }
    }

    fn look_at(&mut self, time: Instant) {
        self.next = Some((time, Timer::at(time, Self::close_old)));
    }

    /// Closes those whose time is over.
    fn close_old() {
        let table = Self::own();
        let now = Instant::now();
        let mut old = Vec::new();
        let mut table = lock(&table);
        for kept in table.kept.values_mut() {
            old.extend(kept.extract_if(.., |(until, _)| *until <= now));
        }
        table.kept.retain(|_, kept| !kept.is_empty());
        let next = table.kept.values().flatten().map(|(until, _)| *until).min();
        table.next = None;
        if let Some(next) = next {
            table.look_at(next);
        }
        drop(table);
        old.iter().for_each(|(_, routes)| routes.close());
    }
}
