//! One request to a server.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, RequestMetaObject, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use tokio::runtime::Handle;

/// Sends a request and waits for its answer, however long that takes. Where the waiting is given
/// up, the server is told.
pub(super) async fn ask(
    peer: &Peer<RoleClient>,
    tasks: &Handle,
    request: ClientRequest,
    meta: RequestMetaObject,
) -> Result<ServerResult, ServiceError> {
    let options = PeerRequestOptions::no_options().with_meta(meta);
    let handle = peer.send_cancellable_request(request, options).await?;
    let mut pending = Pending {
        handle: Some(handle),
        tasks,
    };
    let answer = match &mut pending.handle {
        Some(handle) => (&mut handle.rx).await,
        None => return Err(ServiceError::TransportClosed),
    };
    pending.handle = None;
    answer.map_err(|_| ServiceError::TransportClosed)?
}

/// A request without an answer yet.
struct Pending<'a> {
    handle: Option<RequestHandle<RoleClient>>,
    tasks: &'a Handle,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // Nobody is left who could wait for it, and it ends with its connection.
            self.tasks.spawn(async move {
                let _ = handle.cancel(Some("no longer awaited".to_owned())).await;
            });
        }
    }
}
