//! An id that a caller sends back.

use std::sync::LazyLock;

use handback::continuation::settings::ContinuationSettings;
use handback::continuation::{Binding, Sealer, is_sealed};
use handback::turn::Millis;

/// No seed was sealed with this key.
static SEALER: LazyLock<Sealer> =
    LazyLock::new(|| Sealer::new(&ContinuationSettings::default(), [0x5e; 32]));

/// Opens the id for its own caller and model: it never does.
pub fn run(data: &[u8]) {
    let id = String::from_utf8_lossy(data);
    let binding = Binding {
        key: "support-desk",
        model: "support-ticket.team.front-desk",
    };
    assert!(SEALER.open(&id, binding, Millis(0)).is_err());
    // What begins as a sealed one is noticed.
    assert!(is_sealed(&id) || !id.starts_with("call_hbc1"));
}
