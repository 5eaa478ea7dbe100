//! The bytes of an answer, decoded as they arrive.

use std::io;

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http::HeaderValue;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::upstream::Error;
use crate::upstream::answer::Reads;

/// The encodings that [`reads`] undoes, as `accept-encoding` names them.
pub(super) const ACCEPTED: &str = "gzip, br";

/// Reads a body under its `content-encoding`.
pub(super) fn reads(encoding: Option<&HeaderValue>, body: Incoming) -> Result<Reads, Error> {
    let data = BodyDataStream::new(body);
    // Names of encodings have no case (RFC 9110, section 8.4.1).
    let name = encoding.map(|name| name.as_bytes().to_ascii_lowercase());
    match name.as_deref().unwrap_or_default() {
        b"" | b"identity" => Ok(Box::pin(data.map_err(|_| cut()))),
        b"gzip" | b"x-gzip" => {
            let mut decoder = GzipDecoder::new(StreamReader::new(data.map_err(io::Error::other)));
            decoder.multiple_members(true);
            Ok(Box::pin(decoded(ReaderStream::new(decoder))))
        }
        b"br" => {
            let decoder = BrotliDecoder::new(StreamReader::new(data.map_err(io::Error::other)));
            Ok(Box::pin(decoded(ReaderStream::new(decoder))))
        }
        _ => Err(undecodable()),
    }
}

fn decoded(
    bytes: impl Stream<Item = io::Result<Bytes>>,
) -> impl Stream<Item = Result<Bytes, Error>> {
    bytes.map_err(|error| {
        let of_the_connection = error
            .get_ref()
            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<hyper::Error>);
        if of_the_connection {
            cut()
        } else {
            undecodable()
        }
    })
}

/// An error on a connection that stood. What the libraries say of it may name the address.
fn cut() -> Error {
    Error::Broken {
        detail: "the connection was closed before the answer was complete".to_owned(),
    }
}

fn undecodable() -> Error {
    Error::Broken {
        detail: "its bytes could not be decoded".to_owned(),
    }
}
