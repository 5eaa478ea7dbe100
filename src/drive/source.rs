//! Where an agent's model is served.

use std::sync::Arc;

use bytestring::ByteString;

use crate::turn::Provider;
use crate::upstream::dialect::CallIds;
use crate::upstream::{Health, Upstream};

/// A model at an upstream.
#[derive(Clone)]
pub struct Source {
    /// The upstream.
    pub upstream: Arc<dyn Upstream>,
    /// Its name.
    pub name: ByteString,
    /// The model as the upstream knows it; none for the pass-through, which passes the caller's
    /// word on.
    pub model: Option<ByteString>,
    /// How often a request to it may be repeated.
    pub retries: u32,
    /// How it does, as all workers see it.
    pub health: Arc<Health>,
}

impl Source {
    /// What a turn knows of it.
    pub(super) fn provider(&self) -> Provider {
        Provider {
            upstream: self.name.clone(),
            ids_bind: self.upstream.dialect().call_ids == CallIds::AsGiven,
        }
    }

    /// The same upstream with another model.
    #[must_use]
    pub fn with_model(&self, model: &str) -> Source {
        Source {
            model: Some(model.into()),
            ..self.clone()
        }
    }
}
