//! An answer that counts only once the caller has it (contract K7): service tools were run for it,
//! so a caller whose connection breaks before is to find it when it sends the request again.

use std::convert::Infallible;

use actix_web::body::SizedStream;
use actix_web::web::Bytes;
use futures_util::stream;

use crate::drive::Drive;

/// Bytes of a whole answer that are given to the connection at a time: what it has not taken is
/// not with the caller.
const PIECE: usize = 32 * 1024;

/// All of an answer has been given to the connection.
pub(super) async fn delivered(drive: &mut Drive) {
    if drive.awaits_delivery() {
        drive.sent();
        // The connection sends what it has as soon as it has to wait for more. Whatever happens
        // then, the caller has the answer: those who do not keep a connection close it at once.
        let _sent = Sent(drive);
        tokio::task::yield_now().await;
    }
}

/// Dropped once the connection has sent what it had.
struct Sent<'a>(&'a mut Drive);

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.0.delivered();
    }
}

/// The body of a whole answer.
pub(super) fn body(
    drive: Box<Drive>,
    answer: String,
) -> SizedStream<impl stream::Stream<Item = Result<Bytes, Infallible>>> {
    let answer = Bytes::from(answer);
    let length = answer.len() as u64;
    let pieces = stream::unfold((drive, answer), |(mut drive, mut rest)| async move {
        if rest.is_empty() {
            delivered(&mut drive).await;
            return None;
        }
        let piece = rest.split_to(PIECE.min(rest.len()));
        Some((Ok(piece), (drive, rest)))
    });
    SizedStream::new(length, Box::pin(pieces))
}
