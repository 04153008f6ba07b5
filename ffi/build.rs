//! The name under which programs find the library at run time.

/// The number of the ABI; a test holds it against `MILLPOND_ABI_VERSION`.
const ABI_VERSION: &str = "1";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let soname = format!("libmillpond.so.{ABI_VERSION}");
    println!("cargo::rustc-env=MILLPOND_SONAME={soname}");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
        // Timers, fork handlers and listeners outlive a dlclose, so the library stays.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
