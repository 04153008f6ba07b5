//! Has the linker leave Node's own functions to be found when Node loads the addon.

fn main() {
    napi_build::setup();
    // A Worker that was the only one to load the addon unloads it when it ends, and the threads of
    // the core, which serve the whole process, would run on in memory that is gone.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
