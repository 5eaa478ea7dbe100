//! The path of a request: from the bytes of the caller's body to the bytes of the model's.

use bytes::Bytes;
use handback::tools::{Catalogue, Choice};
use handback::turn::{Action, ArgumentPolicy, History, Limits, Millis, Provider, Setup, Turn};
use handback::upstream::{Dialect, Prompt};
use handback::wire::request::{ChatRequest, Field};
use handback::wire::{Body, Raw};

/// Reads a body, and nothing more.
pub(crate) fn parse(body: Bytes) -> ChatRequest {
    ChatRequest::parse(body).expect("the benchmark's request is in order")
}

/// Everything that is done with a request before the model is asked: read, tools merged, history
/// paired, turn opened, model request written.
pub(crate) fn open(body: Bytes) -> (Turn, Body) {
    let request = parse(body);
    let (turn, choice) = turn(
        request.messages,
        request.tools,
        request.tool_choice.as_ref(),
    );
    let body = render(&turn, &request.fields, choice.as_ref());
    (turn, body)
}

/// Opens a turn; gives the forced choice of its first round, too.
pub(crate) fn turn(
    messages: Vec<handback::wire::Message>,
    tools: Vec<handback::wire::Tool>,
    choice: Option<&Raw>,
) -> (Turn, Option<Raw>) {
    opened(messages, tools, choice, ArgumentPolicy::Repair)
}

/// The same with another policy for arguments.
pub(crate) fn opened(
    messages: Vec<handback::wire::Message>,
    tools: Vec<handback::wire::Tool>,
    choice: Option<&Raw>,
    arguments: ArgumentPolicy,
) -> (Turn, Option<Raw>) {
    let limits = Limits::default();
    let catalogue =
        Catalogue::merge(tools, Vec::new(), limits.tools).expect("the tools are in order");
    let choice = Choice::parse(choice, catalogue.caller(), true).expect("the choice is in order");
    let history = History::settle(messages).expect("the history is in order");
    let setup = Setup {
        messages: history.messages,
        catalogue,
        choice,
        arguments,
        limits,
        now: Millis(0),
        seed: 7,
        resume: history.resume,
        origins: history.origins,
        provider: Provider::default(),
        patient: false,
    };
    let mut actions = Vec::new();
    let turn = Turn::open(setup, &mut actions);
    match actions.pop() {
        Some(Action::AskModel(ask)) => (turn, ask.choice),
        other => panic!("the turn asks for {other:?} instead of the model"),
    }
}

fn render(turn: &Turn, fields: &[Field], choice: Option<&Raw>) -> Body {
    let tools: Vec<&Raw> = turn
        .catalogue()
        .map(|catalogue| catalogue.offered(handback::tools::Offer::All).collect())
        .unwrap_or_default();
    let prompt = Prompt {
        model: "gpt-5-mini",
        instructions: None,
        messages: turn.messages(),
        tools: &tools,
        tool_choice: choice,
        fields,
        dialect: &Dialect::REFERENCE,
    };
    prompt.render()
}
