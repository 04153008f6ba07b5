//! The steps of a partition for the tests that go through all steps.

use std::time::Duration;

use super::*;
use crate::error::ErrorKind;
use crate::step::When;
use crate::step::cases::{Case, case};

/// A configuration has 79 bytes.
const OPENED: &str = "[ 1 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa '7:0000-ffff ]";

pub(super) fn cases() -> Vec<Case> {
    let partition = || Partition::new("q", 0, 7).unwrap();
    let id = || EventId::new(7, 1, 2);
    let op = || Op { slot: *b"client\0\0\0\x01", number: 3 };
    let two =
        || vec![NewEvent::new("a"), NewEvent::new("b").dedup_id("d").delay(Duration::from_secs(1))];
    let ids = || vec![id(), EventId::MIN];
    let settle = |end| Settlement { receipt: Receipt { id: id(), token: [1; 8] }, end };
    let other = |end| Settlement { receipt: Receipt { id: EventId::MIN, token: [1; 8] }, end };
    let ends = || vec![settle(End::Done), other(End::Failed("e".to_owned(), None))];
    // An id, no state, a head with a short body, and no long one.
    let event = || {
        let head = format!("\x01\x00{}\0\0\0\0\0\0\x02\0\0", "\0".repeat(32));
        format!("'abcdefghijkl ' '{head} '")
    };
    let record = || ScheduleRecord { ticks: vec![5, 6], ..ScheduleRecord::default() };
    // An id, its next ticks, and a rule followed by a body.
    let schedule = format!("'a '\x01{} '\0\0\0\x01rb", "\0".repeat(51));
    let map = || Map::parse(1, Config::default(), "7:0000-7fff 7:8000-ffff 0>1:8000-ffff").unwrap();
    // A leased event, a name, and a schedule.
    let moved = "'4 '2000 '-1 'abcdefghijkl ' 'head 'body 'name '2000 ' 'abcdefghijkl 'n ' ' \
                 'schedule '0 ' 'abcdefghijkl 'id 'record 'template";
    vec![
        case(Arrive::new(b"orders", &map(), 1, Left { at: 1_000, tokens: Some(5) }), &["1", "0"]),
        case(Cancel::new(partition(), ids(), true), &["[ 0 1 ]", "[ 2 2 ]"]),
        case(
            Ok(Delete::begin(partition())),
            &["[ '0 7 '7:0000-ffff ]", "[ '17 7 ' ]", "[ ' 7 ' ]", "[ ' 0 ' ]"],
        ),
        case(
            Renew::new(
                partition(),
                vec![settle(End::Done).receipt, other(End::Done).receipt],
                None,
            ),
            &["[ 1000 0 1 ]", "[ 1000 2 2 ]"],
        ),
        case(
            Ok(Export::new(partition(), 0, None)),
            &["[ 0 1 ]", "[ 0 0 ]", &format!("[ 3 0 {moved} ]")],
        ),
        case(
            Fetch::new(partition(), ids()),
            &[
                "[ 0 0 ]",
                "[ 0 ]",
                &format!("[ 0 6 1000 {} ]", event()),
                &format!("[ 2 0 {} ]", event()),
            ],
        ),
        case(Ok(Import::end(partition(), 3)), &["[ 1 3 ]", "[ 0 0 ]"]),
        case(
            Ok(Leave::new(partition(), vec![(0, 9)], vec![(10, 19)])),
            &["[ 1000 -1 ]", "[ 1000 5 ]", "[ 0 -1 ]"],
        ),
        case(
            List::new(partition(), EventState::Dead, &EventQuery::new().limit(2).since_us(5)),
            &["[ 0 ' ]", "[ 1000 'abcdefghijkl ]", &format!("[ 0 ' 1000 {} ]", event())],
        ),
        case(Open::create(partition(), 1, Config::default()), &[OPENED, "[ 0 ]"]),
        case(
            Publish::new(partition(), op(), two(), 5),
            &["[ 1000 17 ]", "[ 1000 17 2 1 'abcdefghijkl ]", "[ 1000 17 2 2 'abcdefghijkl ]"],
        )
        .refuses("[ 0 2 'abcdefghijkl ]", ErrorKind::AlreadyExists),
        case(
            Purge::new(partition(), op(), EventState::Behind, &PurgeFilter::new().key("k")),
            &["[ 0 1000 ]", "[ 1000 1000 1000 'abcdefghijkl ]"],
        ),
        case(
            ReadStats::new(partition()),
            &["[ 9 1 2 3 1 1 4 -1 1000 0 0 0 0 0 -1 ]", "[ 0 0 0 0 0 0 0 5 6 7 8 9 3 2 4 ]"],
        ),
        case(
            PutSchedule::new(
                partition(),
                op(),
                "a",
                5,
                record(),
                Some(Template::new(*b"r", *b"b")),
            ),
            &["[ 1 ]", "[ 0 ]"],
        ),
        case(
            Ok(ReadSchedules::page(partition(), None)),
            &["[ 1000 ' ]", "[ 1000 '17 ]", &format!("[ 1000 ' {schedule} ]")],
        ),
        case(
            Receive::new(partition(), op(), 2, Some(Duration::from_secs(1)), [9; 8], 3),
            &["[ 2000 0 -1 -1 0 0 ]", "[ 2000 5 0 -1 1 1 'a ]", "[ 2000 0 700 3 0 0 ]"],
        ),
        case(Redrive::new(partition(), op(), ids()), &["[ 0 1 ]", "[ 2 1 ]"]),
        case(
            RedriveAll::new(partition(), op(), &RedriveFilter::new(), 2),
            &["[ 0 1000 ]", "[ 2 1000 1000 'abcdefghijkl ]"],
        ),
        case(Ok(HandOn::new(partition(), "s1".into())), &["1"]),
        case(Ok(Remap::new(partition(), map().text(), map().after_move().text())), &["1", "0"]),
        case(RemoveSchedule::new(partition(), op(), "a", 0), &["[ 1 ]", "[ 0 ]"]),
        case(Reschedule::new(partition(), ids(), When::At(5)), &["[ 0 1 ]", "[ 2 1 ]"]),
        case(Settle::new(partition(), ends(), 1), &["[ 0 1 ]", "[ 2 3 ]", "[ 4 4 ]"]),
        case(Ok(Thaw::new(partition(), true)), &["1", "0"]),
        case(Trigger::new(partition(), op(), "a"), &["[ ]", "[ 'abcdefghijkl 7 ]"]),
    ]
}
