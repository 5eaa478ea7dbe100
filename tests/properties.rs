//! What holds for whatever comes in: random inputs against the rules that no fixture can cover.
//!
//! Failures shrink to a small input and are printed; make a case of `fixtures/turns` of it.

#![expect(
    clippy::expect_used,
    reason = "a test says that something is wrong by panicking"
)]

mod turns {
    pub(crate) mod properties {
        mod assembly;
        mod chunks;
        mod dialects;
        mod fidelity;
        mod frames;
        mod history;
        mod invariants;
        mod pieces;
        mod sealed;
        mod sequences;
        mod settling;
        mod values;
        mod world;
    }
}
