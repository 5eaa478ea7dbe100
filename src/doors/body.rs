//! Reads request bodies within their limit (contract R2).

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header;
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt;

use super::problem::{Problem, Public};

/// How much of a body that is too large is still read, so that the caller, who is busy sending,
/// gets to read the answer; in bytes and time.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// How long a caller may send nothing of its body.
const STALL_TIME: Duration = Duration::from_secs(30);

/// First allocation for a body whose length is announced, in bytes: an announcement costs
/// nothing, so it is not believed further than this.
const FIRST_ALLOCATION: usize = 1024 * 1024;

/// Reads the body of at most `limit` bytes.
pub async fn read(
    request: &HttpRequest,
    mut payload: Payload,
    limit: usize,
) -> Result<Bytes, Problem> {
    check_content_type(request)?;
    check_encoding(request)?;
    let announced = content_length(request);
    if announced.is_some_and(|length| length > limit) {
        // A caller who asks first has sent nothing that would have to be read.
        if !request.headers().contains_key(header::EXPECT) {
            discard(&mut payload).await;
        }
        return Err(too_large(limit));
    }
    let Some(first) = next(&mut payload).await? else {
        return Ok(Bytes::new());
    };
    if announced == Some(first.len()) && first.len() <= limit {
        return Ok(first);
    }
    let mut body = BytesMut::with_capacity(
        announced
            .unwrap_or(0)
            .min(FIRST_ALLOCATION)
            .max(first.len()),
    );
    let mut part = Some(first);
    while let Some(read) = part {
        if body.len() + read.len() > limit {
            discard(&mut payload).await;
            return Err(too_large(limit));
        }
        body.extend_from_slice(&read);
        part = next(&mut payload).await?;
    }
    Ok(body.freeze())
}

/// The next part of the body; a caller who stops sending is not waited for without end.
async fn next(payload: &mut Payload) -> Result<Option<Bytes>, Problem> {
    let Ok(part) = tokio::time::timeout(STALL_TIME, payload.next()).await else {
        let seconds = STALL_TIME.as_secs();
        let message = format!("nothing of the body came for {seconds} seconds; send it again");
        return Err(Problem::new(Public::RequestTimeout, message));
    };
    part.transpose().map_err(|error| interrupted(&error))
}

/// A compressed body is none that could be read here.
fn check_encoding(request: &HttpRequest) -> Result<(), Problem> {
    let Some(value) = request.headers().get(header::CONTENT_ENCODING) else {
        return Ok(());
    };
    let text = value.to_str().unwrap_or("");
    if text.eq_ignore_ascii_case("identity") {
        return Ok(());
    }
    let shown = crate::wire::refusal::excerpt(text);
    let message = format!("the content-encoding is {shown:?}; send the body uncompressed");
    Err(Problem::new(Public::UnsupportedMediaType, message))
}

fn check_content_type(request: &HttpRequest) -> Result<(), Problem> {
    let Some(value) = request.headers().get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = value.to_str().unwrap_or("");
    let essence = text.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let shown = crate::wire::refusal::excerpt(text);
    let message = format!("the content type is {shown:?}; send application/json");
    Err(Problem::new(Public::UnsupportedMediaType, message))
}

fn content_length(request: &HttpRequest) -> Option<usize> {
    request
        .headers()
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn too_large(limit: usize) -> Problem {
    let message = format!(
        "the body is larger than {limit} bytes; send less, or have the operator raise server.max_body"
    );
    Problem::new(Public::RequestTooLarge, message)
}

fn interrupted(_: &actix_web::error::PayloadError) -> Problem {
    Problem::new(
        Public::RequestInterrupted,
        "the body broke off before its end; send it again",
    )
}

async fn discard(payload: &mut Payload) {
    let rest = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(read)) = payload.next().await {
            let Some(less) = left.checked_sub(read.len()) else {
                return;
            };
            left = less;
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, rest).await;
}
