//! Status codes, and whether to try again.

pub mod generated;

use generated::ALL;
pub use generated::millpond_status::{self, *};

/// Whether a retry can help.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_retry {
    /// The same call would fail again; something has to change first.
    MILLPOND_RETRY_NEVER = 0,
    /// Nothing was done; the same call can succeed later.
    MILLPOND_RETRY_LATER = 1,
    /// The call may have been done: check before you repeat it.
    MILLPOND_RETRY_UNKNOWN = 2,
}

pub use millpond_retry::*;

impl From<millpond::ErrorKind> for millpond_status {
    fn from(kind: millpond::ErrorKind) -> Self {
        // A kind without a status would be a bug that the test below finds first.
        let found = ALL.into_iter().find(|status| *status as u32 == kind.code());
        found.unwrap_or(MILLPOND_INTERNAL)
    }
}

impl From<millpond::Retry> for millpond_retry {
    fn from(retry: millpond::Retry) -> Self {
        match retry {
            millpond::Retry::Never => MILLPOND_RETRY_NEVER,
            millpond::Retry::Later => MILLPOND_RETRY_LATER,
            millpond::Retry::Unknown => MILLPOND_RETRY_UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use millpond::ErrorKind;

    use super::*;

    #[test]
    fn are_the_kinds_of_the_core() {
        let ours = ALL.map(|status| (status as u32, format!("{status:?}")));
        let theirs: Vec<_> = ErrorKind::ALL
            .iter()
            .map(|kind| (kind.code(), format!("MILLPOND_{}", kind.name())))
            .collect();
        assert_eq!(ours.to_vec(), theirs);
        for kind in ErrorKind::ALL {
            assert_eq!(millpond_status::from(*kind) as u32, kind.code());
        }
    }
}
