//! The library itself.

use std::ffi::{CStr, c_char};

/// The ABI that this header describes. `millpond_abi_version()` returns the library's.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_abi {
    /// Changes when programs must be recompiled; new functions and fields do not change it.
    MILLPOND_ABI_VERSION = 1,
}

/// The ABI of the library, for programs that load it at run time: it must be
/// `MILLPOND_ABI_VERSION`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_abi_version() -> u32 {
    millpond_abi::MILLPOND_ABI_VERSION as u32
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no NUL"),
    };

/// The version of Millpond, such as `0.1.0`; lives forever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_version() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_at_run_time_has_the_number_of_the_abi() {
        assert_eq!(env!("MILLPOND_SONAME"), format!("libmillpond.so.{}", millpond_abi_version()));
    }

    #[test]
    fn the_version_is_the_core_s() {
        assert_eq!(VERSION.to_str(), Ok(millpond::VERSION));
    }
}
