//! The result of a call of a task store: tasks, documents and statistics.

use std::ffi::c_char;
use std::ptr;

use millpond::tasks::{
    Doc, DocPage, DocPosition, Modified, NamespaceStats, Position, QueueStats, Swept, Task,
    TaskPage,
};

use crate::keys::millpond_bytes;
use crate::tasks::generated::{
    millpond_doc, millpond_doc_position, millpond_task, millpond_task_namespace_stats,
    millpond_task_position, millpond_task_queue_stats,
};

/// What is in a result. Which fields are set depends on the step; the others are empty.
///
/// New versions may add fields to records, so a program must not index an array of them: use
/// `millpond_tasks_result_task` and similar functions, or advance by the number of bytes given beside the array.
#[repr(C)]
pub struct millpond_tasks_data {
    /// The tasks; of a modification, first those that were inserted, then those that were changed.
    pub tasks: *const millpond_task,
    /// How many there are.
    pub task_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub task_size: usize,
    /// How many of them were inserted.
    pub inserted_count: usize,
    /// The documents; of a modification, first those that were inserted, then those that were put, then those that were
    /// changed.
    pub docs: *const millpond_doc,
    /// How many there are.
    pub doc_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub doc_size: usize,
    /// How many of them were inserted or put.
    pub inserted_doc_count: usize,
    /// Of `millpond_tasks_list`: the position after which the next page starts; of `millpond_tasks_purge`,
    /// `millpond_tasks_move_tasks` and `millpond_tasks_redrive`: the position after which the next step continues.
    /// NULL: this was the last.
    pub next: *const millpond_task_position,
    /// Of `millpond_tasks_list_docs`: the position after which the next page starts. NULL: this was the last page.
    pub next_doc: *const millpond_doc_position,
    /// The queues, of `millpond_tasks_queue_stats`.
    pub queues: *const millpond_task_queue_stats,
    /// How many there are.
    pub queue_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub queue_size: usize,
    /// The namespaces, of `millpond_tasks_namespace_stats`.
    pub namespaces: *const millpond_task_namespace_stats,
    /// How many there are.
    pub namespace_count: usize,
    /// How many bytes lie between the start of one and the start of the next.
    pub namespace_size: usize,
    /// All texts, one after another without gaps: those of each task, of each document, of the next
    /// position, of each queue, and of each namespace, each in the order of its fields. For
    /// interpreters, which copy them in one go; not NUL-terminated.
    pub text: *const c_char,
    /// The length of all texts, in bytes.
    pub text_length: usize,
    /// How many tasks were deleted by `millpond_tasks_purge`, or moved by `millpond_tasks_move_tasks` or
    /// `millpond_tasks_redrive`.
    pub swept_count: u64,
}

/// What a handle of a result refers to. Boxed, because otherwise every handle would take this much memory.
pub(crate) type TasksResult = Box<Parts>;

/// The parts of a result, each stored without gaps, and what points to them.
pub(crate) struct Parts {
    pub(crate) data: millpond_tasks_data,
    pub(crate) tasks: Box<[millpond_task]>,
    pub(crate) docs: Box<[millpond_doc]>,
    _next: Option<Box<millpond_task_position>>,
    _next_doc: Option<Box<millpond_doc_position>>,
    pub(crate) queues: Box<[millpond_task_queue_stats]>,
    pub(crate) namespaces: Box<[millpond_task_namespace_stats]>,
    _text: Box<[u8]>,
}

// SAFETY: the pointers in it point into its other parts, which are never changed or moved.
unsafe impl Send for Parts {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Parts {}

/// What a step of the core returned.
#[derive(Default)]
struct Content<'a> {
    tasks: [&'a [Task]; 2],
    docs: [&'a [Doc]; 2],
    next: Option<Position>,
    next_doc: Option<DocPosition>,
    queues: &'a [QueueStats],
    namespaces: &'a [NamespaceStats],
    /// How many of the tasks and documents were inserted.
    inserted: [usize; 2],
    swept: u64,
}

/// What is in the result of a step, by what the step returns.
macro_rules! results {
    ($($type:ty, $it:pat => $($field:ident: $part:expr),*;)*) => {$(
        impl From<$type> for TasksResult {
            fn from($it: $type) -> Self {
                Parts::new(&Content { $($field: $part,)* ..Content::default() })
            }
        }
    )*};
}

results! {
    Vec<Task>, tasks => tasks: [&tasks, &[]];
    Vec<Doc>, docs => docs: [&docs, &[]];
    Doc, doc => docs: [&[doc], &[]];
    Option<Doc>, doc => docs: [doc.as_slice(), &[]];
    TaskPage, page => tasks: [&page.tasks, &[]], next: page.next;
    Swept, it => next: it.next, swept: it.tasks;
    DocPage, page => docs: [&page.docs, &[]], next_doc: page.next;
    Vec<QueueStats>, queues => queues: &queues;
    Vec<NamespaceStats>, namespaces => namespaces: &namespaces;
    Modified, it => tasks: [&it.inserted, &it.changed], docs: [&it.inserted_docs, &it.changed_docs],
        inserted: [it.inserted.len(), it.inserted_docs.len()];
}

impl Parts {
    fn new(content: &Content<'_>) -> TasksResult {
        let text = content.text();
        let mut rest = &*text;
        let mut cut = |text: Option<&[u8]>| {
            text.map_or(millpond_bytes::NONE, |text| {
                let (own, after) = rest.split_at(text.len());
                rest = after;
                millpond_bytes::of(own)
            })
        };
        // In the order of the texts.
        let tasks = content.tasks.iter().copied().flatten();
        let tasks: Box<[_]> = tasks.map(|task| millpond_task::new(task, &mut cut)).collect();
        let docs = content.docs.iter().copied().flatten();
        let docs: Box<[_]> = docs.map(|doc| millpond_doc::new(doc, &mut cut)).collect();
        let next = content.next.as_ref();
        let next = next.map(|next| Box::new(millpond_task_position::new(next, &mut cut)));
        let next_doc = content.next_doc.as_ref();
        let next_doc = next_doc.map(|next| Box::new(millpond_doc_position::new(next, &mut cut)));
        let queues = content.queues.iter();
        let queues: Box<[_]> =
            queues.map(|stats| millpond_task_queue_stats::new(stats, &mut cut)).collect();
        let namespaces = content.namespaces.iter();
        let namespaces: Box<[_]> =
            namespaces.map(|stats| millpond_task_namespace_stats::new(stats, &mut cut)).collect();

        let data = millpond_tasks_data {
            tasks: tasks.as_ptr(),
            task_count: tasks.len(),
            task_size: size_of::<millpond_task>(),
            inserted_count: content.inserted[0],
            docs: docs.as_ptr(),
            doc_count: docs.len(),
            doc_size: size_of::<millpond_doc>(),
            inserted_doc_count: content.inserted[1],
            next: next.as_deref().map_or(ptr::null(), ptr::from_ref),
            next_doc: next_doc.as_deref().map_or(ptr::null(), ptr::from_ref),
            queues: queues.as_ptr(),
            queue_count: queues.len(),
            queue_size: size_of::<millpond_task_queue_stats>(),
            namespaces: namespaces.as_ptr(),
            namespace_count: namespaces.len(),
            namespace_size: size_of::<millpond_task_namespace_stats>(),
            text: text.as_ptr().cast(),
            text_length: text.len(),
            swept_count: content.swept,
        };
        Box::new(Self {
            data,
            tasks,
            docs,
            _next: next,
            _next_doc: next_doc,
            queues,
            namespaces,
            _text: text,
        })
    }
}

impl Content<'_> {
    /// All texts, one after the other.
    fn text(&self) -> Box<[u8]> {
        let mut text = Vec::new();
        let tasks = self.tasks.iter().copied().flatten();
        tasks.for_each(|task| millpond_task::texts(task, &mut text));
        let docs = self.docs.iter().copied().flatten();
        docs.for_each(|doc| millpond_doc::texts(doc, &mut text));
        self.next.iter().for_each(|next| millpond_task_position::texts(next, &mut text));
        self.next_doc.iter().for_each(|next| millpond_doc_position::texts(next, &mut text));
        self.queues.iter().for_each(|of| millpond_task_queue_stats::texts(of, &mut text));
        let namespaces = self.namespaces.iter();
        namespaces.for_each(|of| millpond_task_namespace_stats::texts(of, &mut text));
        text.into_boxed_slice()
    }
}
