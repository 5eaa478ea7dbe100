//! `/healthz`, `/readyz` and `/metrics` (contract O2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::web::{self, Data};
use actix_web::{HttpResponse, Responder};

use crate::telemetry::Metrics;

/// What the admin listener shows.
#[derive(Clone)]
pub struct Operations {
    /// What is counted.
    pub metrics: Metrics,
    /// Set once the process is to end and takes no further requests.
    pub draining: Arc<AtomicBool>,
}

/// The routes of the admin listener.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/healthz", web::get().to(healthz))
        .route("/readyz", web::get().to(readyz))
        .route("/metrics", web::get().to(metrics));
}

async fn healthz() -> impl Responder {
    "ok\n"
}

async fn readyz(operations: Data<Operations>) -> HttpResponse {
    if operations.draining.load(Ordering::Relaxed) {
        return HttpResponse::ServiceUnavailable().body("draining\n");
    }
    HttpResponse::Ok().body("ready\n")
}

async fn metrics(operations: Data<Operations>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(operations.metrics.text())
}
