//! The steps of a task store, for the tests that go through all steps.

use std::time::Duration;

use super::*;
use crate::error::ErrorKind;
use crate::step::cases::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let second = Duration::from_secs(1);
    let task = || TaskId::new("t", 3);
    let doc = || DocId::new("n", "d", 3);
    let everything = Modification::new()
        .insert(NewTask::new("q").id("a"))
        .insert(NewTask::new("q").id("b").skip_colliding())
        .change(TaskChange::new(task(), "q"))
        .delete(TaskId::new("x", 0))
        .insert_doc(NewDoc::new("n", "k").id("e"))
        .change_doc(DocChange::new(doc()));
    let end = || Modification::new().delete(TaskId::new("t", 3));
    let insert = Modification::new().insert(NewTask::new("q").id("a"));
    let one_task = "[ 't 3 'q 1000 900 950 'c 1 0 ' 'null 5 0 ' ]";
    let two_tasks = "[ 't 3 'q 1000 900 950 'c 1 0 ' nil 5 2000 '\0\u{1}k\0\u{1}v 'u 0 'q 1 1 1 ' 0 0 'no '1 0 0 ' ]";
    let one_doc = "[ 'n 'd 3 'k ' 'null 0 ' 900 950 ]";
    let listed = |parts: &[&str]| format!("[ {} ]", parts.join(" "));
    vec![
        case(Begin::new("s", "c", "t", 3), &["1", "0"]),
        case(Cancel::new("s", ["t", "u"]), &["[ 1 0 ]", "[ 0 0 ]"]),
        case(
            Claim::new("s", "c", ["q"], second, 2, 0),
            &[
                "[ [ ] [ ] [ ] ]",
                &listed(&[one_task, "[ ]", "[ 1 ]"]),
                &listed(&[two_tasks, "[ ]", "[ 1 2 ]"]),
            ],
        ),
        case(
            Claim::new("s", "c", ["q", "r"], second, 2, 0).map(|step| step.waiting(true)),
            &["[ [ ] [ -1 3000 ] [ ] ]"],
        ),
        case(
            ClaimDocs::new("s", "c", "n", ["k"], second),
            &["[ 1 [ ] ]", &listed(&["1", one_doc])],
        )
        .refuses("[ 0 [ 'd 7 ] ]", ErrorKind::Dependency),
        case(FetchDocs::new("s", "n", ["d"]), &["[ ]", one_doc]),
        case(FetchTasks::new("s", ["t", "u"]), &["[ ]", one_task, two_tasks]),
        case(
            ListDocs::new("s", "n", DocQuery::new()),
            &["[ [ ] ]", &listed(&[one_doc, "'k 'l 'd"])],
        ),
        case(Ok(ListStores::new("k")), &["[ '0 0 ]", "[ '7 2 '{a}:tasks '{b}:c:tasks ]"]),
        case(
            ListTasks::new("s", "q", TaskQuery::new()),
            &["[ [ ] ]", &listed(&[two_tasks, "1000 't"])],
        ),
        case(
            Modify::new("s", "c", everything),
            &[&listed(&["1 1000 [ 1 0 ] [ 900 1 5 0 ' ] [ 1 ]", one_doc])],
        ),
        case(ReadNamespaceStats::new("s", Filter::new()), &["[ ]", "[ 'n 3 1 'o 0 0 ]"]),
        case(Pause::new("s", "q", true), &["1", "0"]),
        case(
            ReadQueueStats::new("s", Filter::new()),
            &["[ ]", "[ 'p 0 0 0 0 0 0 1 -1 -1 'q 7 1 2 1 3 4 0 900 1100 ]"],
        ),
        case(ReadTime::new("s"), &["1000"]),
        case(Modify::new("s", "c", insert), &["[ 1 1000 [ 1 ] [ ] [ ] [ ] ]"])
            .refuses("[ 0 1 0 7 ]", ErrorKind::Dependency),
        case(
            Modify::new("s", "c", end()).and_then(|end| ModifyMany::new(vec![end.clone(), end])),
            &["[ [ 1 1000 [ ] [ ] [ ] [ ] ] [ 0 3 0 0 ] ]"],
        ),
        case(Renew::new("s", "c", vec![task()], vec![doc()], second), &["[ 1000 ]", "[ 1000 1 ]"])
            .refuses("[ 0 1 1 2 0 ]", ErrorKind::Dependency),
        case(Pause::new("s", "q", false), &["1", "0"]),
        case(Sweep::redrive("s", "c", "q", "r", TaskFilter::new()), &["[ 0 ]", "[ 3 1000 't ]"]),
    ]
}
