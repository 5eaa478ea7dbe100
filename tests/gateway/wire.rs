//! The wire as real servers write it: walks `fixtures/wire`, each case whole and streamed, and
//! each event stream cut in several ways.

use crate::harness::run::Mode;
use crate::harness::walk::walk;

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_real_servers_become_answers_of_the_reference() {
    walk("wire", Mode::all).await;
}
