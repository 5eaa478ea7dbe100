//! One gateway between a scripted upstream and a caller, for many plays.

use super::caller::Caller;
use super::gateway::{Gateway, Setup};
use super::upstream::Upstream;

/// What the plays share.
pub(crate) struct World {
    pub(crate) caller: Caller,
    pub(crate) upstream: Upstream,
    /// Runs as long as this is there.
    _gateway: Gateway,
}

impl World {
    /// Starts them, the gateway with what `adapt` makes of the usual setup.
    pub(crate) async fn start(adapt: impl FnOnce(Setup) -> Setup) -> Self {
        let upstream = Upstream::start().await;
        let setup = adapt(Setup::with_upstream(&upstream.base_url()));
        let gateway = setup.start().await;
        Self {
            caller: Caller::of(&gateway),
            upstream,
            _gateway: gateway,
        }
    }
}
