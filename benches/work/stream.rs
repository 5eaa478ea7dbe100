//! The path of a streamed answer: from the bytes of the upstream's events to those of the
//! caller's.

use bytes::Bytes;
use handback::turn::{Action, ArgumentPolicy, Input, Say, Turn};
use handback::wire::answer::{self, Part};
use handback::wire::chunk::{ChunkWriter, Heading};
use handback::wire::sse::{Decoder, Event};

use super::request;

/// Events in one stream.
pub(crate) const EVENTS: usize = 1000;

const EVENT_BYTES: usize = 1 << 20;

const HEADING: Heading<'static> = Heading {
    id: "chatcmpl-0123456789abcdef0123456789abcdef",
    created: 1_764_500_000,
    model: "support-ticket.agent.support-ticket-agent",
};

/// What an upstream says in a stream.
#[derive(Clone, Copy)]
pub(crate) enum Saying {
    /// Pieces of one call's arguments.
    Arguments,
    /// Pieces of text.
    Text,
}

/// The streams that are measured, by name. With `arguments = "pass"` pieces of arguments are
/// passed on as they arrive.
pub(crate) const KINDS: [(&str, Saying, ArgumentPolicy); 3] = [
    ("text", Saying::Text, ArgumentPolicy::Repair),
    (
        "arguments gathered",
        Saying::Arguments,
        ArgumentPolicy::Repair,
    ),
    (
        "arguments passed on",
        Saying::Arguments,
        ArgumentPolicy::Pass,
    ),
];

/// A stream under way: a decoder, a turn and a writer, as a gateway holds them.
pub(crate) struct Stream {
    decoder: Decoder,
    turn: Turn,
    actions: Vec<Action>,
    writer: ChunkWriter,
}

impl Stream {
    /// Opens a turn with one tool and takes the first event, so that what follows is steady.
    pub(crate) fn open(saying: Saying, arguments: ArgumentPolicy) -> Stream {
        let body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"note\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]}";
        let request = request::parse(Bytes::from_static(body.as_bytes()));
        let (turn, _) = request::opened(request.messages, request.tools, None, arguments);
        let mut stream = Stream {
            decoder: Decoder::new(EVENT_BYTES),
            turn,
            actions: Vec::with_capacity(8),
            writer: ChunkWriter::new(&HEADING),
        };
        let first = match saying {
            Saying::Arguments => event(
                "{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"note\",\"arguments\":\"{\"}}]}",
            ),
            Saying::Text => event("{\"role\":\"assistant\",\"content\":\"\"}"),
        };
        stream.take(first.into(), &mut |_| {});
        stream
    }

    /// Takes what was read from the upstream; gives each chunk for the caller to `send`.
    pub(crate) fn take(&mut self, read: Bytes, send: &mut dyn FnMut(Bytes)) {
        let Stream {
            decoder,
            turn,
            actions,
            writer,
        } = self;
        let mut event = |event: Event| {
            let Ok(Part::Delta(delta)) = answer::event(event.data) else {
                panic!("the benchmark's events are deltas");
            };
            let before = std::mem::replace(turn, Turn::Finished);
            *turn = before.handle(Input::Delta(delta), actions);
            for action in actions.drain(..) {
                if let Action::Say(say) = action {
                    send(write(writer, &say));
                }
            }
        };
        let fed = decoder.feed(read, &mut event);
        fed.expect("the events are short");
    }
}

fn write(writer: &mut ChunkWriter, say: &Say) -> Bytes {
    match say {
        Say::CallArguments { index, piece } => writer.call_arguments(*index, piece.body()),
        Say::CallHead { index, id, name } => writer.call_head(*index, id, name),
        Say::Fields(fields) => writer.fields(fields),
        Say::Opened { .. } => writer.role_with_text(),
        Say::Text { text, logprobs } => writer.text(text.body(), logprobs.as_ref()),
    }
}

/// The reads of a stream: one event each, as servers send them token by token.
pub(crate) fn reads(saying: Saying) -> Vec<Bytes> {
    let delta = match saying {
        Saying::Arguments => {
            "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\" \\\"k\\\"\"}}]}"
        }
        Saying::Text => "{\"content\":\" token\"}",
    };
    (0..EVENTS).map(|_| event(delta).into()).collect()
}

fn event(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-upstream-123456\",\"object\":\"chat.completion.chunk\",\"created\":1764500000,\"model\":\"gpt-5-mini\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
    )
}
