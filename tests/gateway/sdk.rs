//! A client that nobody here wrote: the crate async-openai against the project's own sample file
//! and its scripted model, a tool's round trip whole and streamed.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls,
    ChatCompletionRequestAssistantMessageArgs, ChatCompletionRequestMessage,
    ChatCompletionRequestToolMessageArgs, ChatCompletionRequestUserMessageArgs,
    ChatCompletionStreamOptions, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, CreateChatCompletionRequestArgs, FinishReason, FunctionCall,
    FunctionObjectArgs,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::within;

const AGENT: &str = "support-ticket.agent.support-ticket-agent";
const TICKET: &str = "INC-2026-001";

fn client_of(gateway: &Gateway) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new()
        .with_api_base(format!("{}/v1", gateway.url()))
        .with_api_key("any");
    Client::with_config(config)
}

fn ticket_tool() -> ChatCompletionTools {
    let function = FunctionObjectArgs::default()
        .name("create_service_ticket")
        .description("Creates a service ticket.")
        .parameters(json!({
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "priority": {"type": "string", "enum": ["low", "medium", "high"]},
            },
            "required": ["title", "priority"],
            "additionalProperties": false,
        }))
        .build()
        .expect("a complete definition");
    ChatCompletionTools::Function(ChatCompletionTool { function })
}

fn user(text: &str) -> ChatCompletionRequestMessage {
    ChatCompletionRequestUserMessageArgs::default()
        .content(text)
        .build()
        .expect("a complete message")
        .into()
}

fn request(messages: Vec<ChatCompletionRequestMessage>) -> CreateChatCompletionRequest {
    CreateChatCompletionRequestArgs::default()
        .model(AGENT)
        .messages(messages)
        .tools(vec![ticket_tool()])
        .build()
        .expect("a complete request")
}

/// The conversation once the application has run the tool.
fn with_result(
    mut messages: Vec<ChatCompletionRequestMessage>,
    call: ChatCompletionMessageToolCall,
) -> Vec<ChatCompletionRequestMessage> {
    let id = call.id.clone();
    let answer = ChatCompletionRequestAssistantMessageArgs::default()
        .tool_calls(vec![ChatCompletionMessageToolCalls::Function(call)])
        .build()
        .expect("a complete message");
    let result = ChatCompletionRequestToolMessageArgs::default()
        .tool_call_id(id)
        .content(json!({"ticket_id": TICKET, "status": "created"}).to_string())
        .build()
        .expect("a complete message");
    messages.push(answer.into());
    messages.push(result.into());
    messages
}

fn check_call(call: &ChatCompletionMessageToolCall) {
    assert!(!call.id.is_empty());
    assert_eq!(call.function.name, "create_service_ticket");
    let arguments: Value =
        serde_json::from_str(&call.function.arguments).expect("arguments are JSON");
    assert!(arguments["title"].is_string(), "{arguments}");
    assert_eq!(arguments["priority"], "high", "{arguments}");
}

#[tokio::test]
async fn a_tool_goes_round_whole() {
    let gateway = Gateway::from_sample_file().await;
    let client = client_of(&gateway);
    let messages = vec![user("The packaging line camera is misaligned.")];
    let asked = client.chat();
    let answer = within("the first answer", asked.create(request(messages.clone())))
        .await
        .expect("an answer the SDK understands");
    assert_eq!(answer.model, AGENT);
    let choice = &answer.choices[0];
    assert_eq!(choice.finish_reason, Some(FinishReason::ToolCalls));
    let calls = choice.message.tool_calls.as_deref().unwrap_or_default();
    let [ChatCompletionMessageToolCalls::Function(call)] = calls else {
        panic!("one call of a function, not {calls:?}");
    };
    check_call(call);
    let messages = with_result(messages, call.clone());
    let answer = within("the second answer", asked.create(request(messages)))
        .await
        .expect("an answer the SDK understands");
    let choice = &answer.choices[0];
    assert_eq!(choice.finish_reason, Some(FinishReason::Stop));
    let text = choice.message.content.as_deref().unwrap_or_default();
    assert!(text.contains(TICKET), "{text}");
}

/// What an application keeps of a stream.
#[derive(Default)]
struct Kept {
    text: String,
    calls: Vec<ChatCompletionMessageToolCall>,
    finish_reason: Option<FinishReason>,
    total_tokens: Option<u32>,
}

async fn streamed(client: &Client<OpenAIConfig>, request: CreateChatCompletionRequest) -> Kept {
    let mut stream = within("the stream", client.chat().create_stream(request))
        .await
        .expect("a stream the SDK understands");
    let mut kept = Kept::default();
    while let Some(chunk) = within("the next chunk", stream.next()).await {
        let chunk = chunk.expect("a chunk the SDK understands");
        assert_eq!(chunk.model, AGENT);
        if let Some(usage) = chunk.usage {
            kept.total_tokens = Some(usage.total_tokens);
        }
        for choice in chunk.choices {
            kept.text
                .push_str(choice.delta.content.as_deref().unwrap_or_default());
            for piece in choice.delta.tool_calls.into_iter().flatten() {
                assert_eq!(
                    piece.index as usize,
                    kept.calls.len(),
                    "whole calls, in order"
                );
                let function = piece.function.expect("a call of a function");
                kept.calls.push(ChatCompletionMessageToolCall {
                    id: piece.id.unwrap_or_default(),
                    function: FunctionCall {
                        name: function.name.unwrap_or_default(),
                        arguments: function.arguments.unwrap_or_default(),
                    },
                });
            }
            kept.finish_reason = choice.finish_reason.or(kept.finish_reason);
        }
    }
    kept
}

#[tokio::test]
async fn a_tool_goes_round_streamed() {
    let gateway = Gateway::from_sample_file().await;
    let client = client_of(&gateway);
    let messages = vec![user("The packaging line camera is misaligned.")];
    let mut first = request(messages.clone());
    first.stream_options = Some(ChatCompletionStreamOptions {
        include_usage: Some(true),
        include_obfuscation: None,
    });
    let kept = streamed(&client, first).await;
    assert_eq!(kept.finish_reason, Some(FinishReason::ToolCalls));
    assert!(
        kept.total_tokens.is_some_and(|tokens| tokens > 0),
        "usage was asked for"
    );
    let [call] = kept.calls.as_slice() else {
        panic!("one call, not {:?}", kept.calls);
    };
    check_call(call);
    let kept = streamed(&client, request(with_result(messages, call.clone()))).await;
    assert_eq!(kept.finish_reason, Some(FinishReason::Stop));
    assert!(kept.text.contains(TICKET), "{}", kept.text);
    assert!(kept.calls.is_empty());
    assert!(kept.total_tokens.is_none(), "usage was not asked for");
}

#[tokio::test]
async fn an_error_is_one_that_the_sdk_shows() {
    let gateway = Gateway::from_sample_file().await;
    let client = client_of(&gateway);
    let mut asked = request(vec![user("Hello")]);
    "support-ticket.agent.nobody".clone_into(&mut asked.model);
    let error = within("the refusal", client.chat().create(asked))
        .await
        .expect_err("nobody serves this model");
    let OpenAIError::ApiError(refusal) = error else {
        panic!("an error of the API, not {error:?}");
    };
    assert_eq!(refusal.status_code.as_u16(), 404);
    assert_eq!(refusal.api_error.code.as_deref(), Some("model_not_found"));
    assert!(
        refusal
            .api_error
            .message
            .contains("support-ticket.agent.nobody")
    );
}
