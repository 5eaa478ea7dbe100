//! What the fuzz targets do with their bytes. Each is a function that anything can call, so that
//! the seeds, and changes of them, are also run by `cargo test` with a stable toolchain.

pub mod answer;
pub mod arguments;
pub mod continuation;
pub mod request;
