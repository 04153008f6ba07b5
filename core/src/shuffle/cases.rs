//! The steps of a shuffle queue for the tests that walk all steps.

use std::time::Duration;

use super::*;
use crate::error::ErrorKind;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let second = Duration::from_secs(1);
    let receipt = Receipt { stream: Stream::Number(1), id: MessageId::default() };
    let keys = TrackKeys::Queue;
    let mut write = Write::new("q", 4, 2, second).unwrap();
    write.push("t", [("f", "1")]).unwrap();
    write.push("t", [("f", "2")]).unwrap();
    let mut tracked = Write::new("q", 4, 2, None).unwrap().tracked("id", None, keys).unwrap();
    tracked.push("t", [("id", "1")]).unwrap();
    let expiry = Expiry { value: b"v".to_vec(), deadline: b"5".to_vec(), is_current: true };
    let entry = "[ '1-0 [ 'f '1 ] ]";
    let dead = "[ '2-0 [ 'dead:stream '3 'dead:id '1-0 'dead:group 'g 'dead:consumer 'c \
        'dead:deliveries '2 'dead:reason 'rejected 'f '1 ] ]";
    let listed = |parts: &[&str]| format!("[ {} ]", parts.join(" "));
    vec![
        case(Ack::new("q", "g", [receipt]), &["1", "0"]),
        case(AckEach::new("q", "g", [receipt, receipt]), &["[ 1 0 ]"]),
        case(Backlog::new("q"), &["7", "0"]),
        case(DeleteDeadLetters::new("q", [receipt.id]), &["1", "0"]),
        case(Renew::new("q", "g", "c", [receipt]), &["1", "0"]),
        case(Len::new("q"), &["7", "0"]),
        case(Read::new("q", "g", "c", 2), &["[ '9-1 ]", &listed(&["'", "3", entry, "-1", entry])]),
        case(ReadDeadLetters::new("q", 2), &["[ ]", &listed(&[dead, dead])]),
        case(ReadStats::new("q", "g"), &["[ ]", "[ [ 5 2 1 nil ] [ 5 2 1 700 ] ]"]),
        case(
            Reclaim::new("q", "g", "c", second, 2),
            &["[ 0 0 ]", "[ 2 0 ]", &listed(&["1", "1", "3", "2", entry])],
        ),
        case(Reject::new("q", "g", "c", [receipt], "rejected: no"), &["1", "0"]),
        case(Release::new("q", "g", "c", [receipt], second, second), &["1", "0"]),
        case(RemoveIdleConsumers::new("q", second), &["7", "0"]),
        case(Redrive::new("q", [receipt.id], 4, second), &["[ '1-0 2 ]", "[ nil 0 ]"]),
        case(Resize::new("q", 4, second), &["4", "9"]),
        case(Ok(write), &["[ '1-0 2 '1-1 0 ]"]).refuses("64", ErrorKind::InvalidArgument),
        case(Ok(tracked), &["[ '1-0 2 ]"]),
        case(Cordon::new("q", keys, second), &["[ ]", "[ 'v ]", "[ 'v 'w ]"]),
        case(DeleteTracked::new("q", keys, "v"), &["nil", "[ 'q:s3 '1-0 ]"]),
        case(ForgetExpired::new("q", keys, [expiry]), &["1", "0"]),
        case(ScanExpired::new("q", keys, "", None), &["[ ' 0 ]", "[ 'd5 9 'v '5 1 ]"]),
    ]
}
