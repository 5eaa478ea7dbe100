//! Requests as real clients write them: walks `fixtures/requests`. What is refused is refused in
//! the error shape and before any upstream is asked; what is accepted reaches the upstream right.

use crate::harness::case::Case;
use crate::harness::delivery::Delivery;
use crate::harness::play::Wire;
use crate::harness::run::Mode;
use crate::harness::walk::walk;

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_real_clients_are_taken_or_refused_by_the_contract() {
    walk("requests", modes).await;
}

/// Whole and streamed; a body given as text says itself which it asks for.
pub(crate) fn modes(case: &Case) -> Vec<Mode> {
    let mut modes = Mode::all(case);
    modes.retain(|mode| {
        let usual_wire = (mode.wire == Wire::Events) == mode.streamed;
        usual_wire && mode.delivery == Delivery::AtOnce
    });
    if case.body.is_some() || case.method == "GET" {
        modes.retain(|mode| !mode.streamed);
    }
    modes
}
