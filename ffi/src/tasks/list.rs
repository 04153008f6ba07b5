//! Tasks by their ids, and the tasks of a queue, page by page.
