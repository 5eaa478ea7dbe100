//! The model request under way.

use crate::turn::Input;
use crate::upstream::{self, Answer, Asked};

/// The model request under way.
pub(super) enum Model {
    Answering(Box<Answer>),
    Asked(Asked),
    Silent,
}

impl Model {
    /// What the model does next. A request that failed is reported as such to the caller of the
    /// drive; the turn ends with it.
    pub(super) async fn input(&mut self) -> Result<Input, upstream::Error> {
        loop {
            match self {
                Model::Asked(asked) => *self = Model::Answering(Box::new(asked.await?)),
                Model::Answering(answer) => {
                    if let Some(delta) = answer.next().await? {
                        return Ok(Input::Delta(delta));
                    }
                    *self = Model::Silent;
                    return Ok(Input::AnswerEnded);
                }
                Model::Silent => std::future::pending().await,
            }
        }
    }
}
