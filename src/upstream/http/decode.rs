//! The bytes of an answer, decoded as they arrive.

use std::io;
use std::pin::Pin;

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt, stream};
use http::HeaderValue;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use crate::upstream::Error;
use crate::upstream::answer::Reads;

/// The encodings that are asked for, as `accept-encoding` names them. [`reads`] undoes deflate too,
/// which some proxies use unasked.
pub(super) const ACCEPTED: &str = "gzip, br";

/// Reads a body under its `content-encoding`.
pub(super) fn reads(encoding: Option<&HeaderValue>, body: Incoming) -> Result<Reads, Error> {
    let data = BodyDataStream::new(body);
    // Names of encodings have no case (RFC 9110, section 8.4.1).
    let name = encoding.map(|name| name.as_bytes().to_ascii_lowercase());
    match name.as_deref().unwrap_or_default() {
        // The last two are no encodings, and some servers name them.
        b"" | b"identity" | b"none" | b"utf-8" => Ok(Box::pin(data.map_err(|_| cut()))),
        b"gzip" | b"x-gzip" => {
            let mut decoder = GzipDecoder::new(StreamReader::new(data.map_err(io::Error::other)));
            decoder.multiple_members(true);
            Ok(Box::pin(decoded(ReaderStream::new(decoder))))
        }
        b"br" => {
            let decoder = BrotliDecoder::new(StreamReader::new(data.map_err(io::Error::other)));
            Ok(Box::pin(decoded(ReaderStream::new(decoder))))
        }
        b"deflate" => {
            let bytes = StreamReader::new(data.map_err(io::Error::other));
            let bytes = stream::once(inflated(bytes)).map_ok(ReaderStream::new);
            Ok(Box::pin(decoded(bytes.try_flatten())))
        }
        _ => Err(undecodable()),
    }
}

/// Undoes deflate, which servers send in zlib's format, as the standard has it, or bare (RFC 9110,
/// section 8.4.1.2). The first byte tells: no bare block begins with zlib's mark.
async fn inflated<B>(mut bytes: B) -> io::Result<Pin<Box<dyn AsyncRead>>>
where
    B: AsyncBufRead + Unpin + 'static,
{
    let first = bytes.fill_buf().await?.first().copied();
    Ok(match first {
        Some(byte) if byte & 0x8f == 8 => Box::pin(ZlibDecoder::new(bytes)),
        _ => Box::pin(DeflateDecoder::new(bytes)),
    })
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
