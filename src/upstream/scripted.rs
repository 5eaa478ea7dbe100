//! The scripted model as an upstream: its bytes take the path of any other server's.

use std::path::Path;
use std::time::Duration;

use futures_util::stream;

use super::answer::{Answer, Head};
use super::script::{Moment, Script, ScriptError};
use super::silence::{Patience, Silence};
use super::{Asked, Dialect, Request, Upstream};

/// A script that answers in this process.
pub struct ScriptedUpstream {
    script: Script,
}

/// It answers at once: this is never waited for.
const PATIENCE: Patience = Patience {
    first: Duration::from_secs(10),
    idle: Duration::from_secs(10),
};

impl ScriptedUpstream {
    /// Reads the script.
    pub fn load(path: &Path) -> Result<ScriptedUpstream, ScriptError> {
        Ok(ScriptedUpstream {
            script: Script::load(path)?,
        })
    }
}

impl Upstream for ScriptedUpstream {
    fn dialect(&self) -> &Dialect {
        &Dialect::REFERENCE
    }

    fn ask(&self, request: Request) -> Asked {
        let moment = Moment {
            seed: request.seed,
            created: request.created,
        };
        let reply = self.script.answer(&request.body.into_bytes(), moment);
        let head = Head {
            status: reply.status,
            content_type: Some(reply.content_type.to_owned()),
            ..Head::default()
        };
        let reads = Box::pin(stream::iter(reply.body.into_iter().map(Ok)));
        Box::pin(Answer::begin(head, reads, Silence::begin(PATIENCE)))
    }
}
