//! The model request under way.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::Sleep;

use crate::turn::{Input, Provider};
use crate::upstream::{self, Answer, Asked};

/// The model request under way.
pub(super) enum Model {
    Answering(Box<Answer>),
    Asked(Asked),
    /// It is to be made again when this time is over.
    Pausing(Pin<Box<Sleep>>, Provider),
    Silent,
}

impl Model {
    /// Made again by `provider` after `time`.
    pub(super) fn pausing(time: Duration, provider: Provider) -> Model {
        Model::Pausing(Box::pin(tokio::time::sleep(time)), provider)
    }

    /// What the model does next.
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
                Model::Pausing(time, provider) => {
                    time.as_mut().await;
                    let provider = std::mem::take(provider);
                    *self = Model::Silent;
                    return Ok(Input::AskedAgain { provider });
                }
                Model::Silent => std::future::pending().await,
            }
        }
    }
}
