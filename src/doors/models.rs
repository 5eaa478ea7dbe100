//! `GET /v1/models` and `GET /v1/models/{name}` (contract R1, O1).

use std::sync::Arc;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use percent_encoding::percent_decode_str;

use super::exchange::{Exchange, Outcome, Shared};
use super::problem::Problem;
use crate::wire::write::ObjectWriter;

/// Lists the agents that the key may use.
pub async fn list(request: HttpRequest, shared: Data<Arc<Shared>>) -> HttpResponse {
    let mut exchange = Exchange::begin(&request, &shared);
    let caller = match exchange.admit(&request) {
        Ok(caller) => caller,
        Err(problem) => return exchange.refuse(&problem),
    };
    let models: Vec<String> = shared
        .roster
        .names()
        .iter()
        .filter(|name| caller.may_use(name))
        .map(|name| model(name, shared.started))
        .collect();
    let body = format!("{{\"object\":\"list\",\"data\":[{}]}}", models.join(","));
    let response = HttpResponse::Ok()
        .content_type("application/json")
        .body(body);
    exchange.finish(Outcome::Answered, "models", response)
}

/// Shows one of them. The name may hold slashes, percent-encoded or not.
pub async fn show(request: HttpRequest, shared: Data<Arc<Shared>>) -> HttpResponse {
    let mut exchange = Exchange::begin(&request, &shared);
    let caller = match exchange.admit(&request) {
        Ok(caller) => caller,
        Err(problem) => return exchange.refuse(&problem),
    };
    let path = request.uri().path();
    let encoded = path
        .split_once("/models/")
        .map_or("", |(_, name)| name)
        .trim_end_matches('/');
    let name = percent_decode_str(encoded).decode_utf8_lossy();
    if !shared.roster.names().iter().any(|known| *known == name) || !caller.may_use(&name) {
        return exchange.refuse(&Problem::model_not_found(&name));
    }
    let response = HttpResponse::Ok()
        .content_type("application/json")
        .body(model(&name, shared.started));
    exchange.finish(Outcome::Answered, "models", response)
}

/// A model object of the reference.
fn model(name: &str, created: u64) -> String {
    let mut out = String::new();
    let mut object = ObjectWriter::begin(&mut out);
    object.string("id", name);
    object.member("object", "\"model\"");
    object.member("created", &created.to_string());
    object.member("owned_by", "\"handback\"");
    object.end();
    out
}
