//! The format of `fixtures/wire`, `fixtures/requests` and `fixtures/dialects`: a conversation as data.
//!
//! A file is one [`Case`]. With `variants` it is several: each variant is the file with the
//! variant's keys in place of its own. What a key is for stands at its field; unknown keys are
//! refused, so that a slip of the pen does not switch an expectation off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::gateway::{AGENT, Setup};
use super::play::Play;

/// A request, what the upstream answers to it, and what has to come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What is at stake, in a sentence.
    pub(crate) why: String,
    /// The variant's name.
    #[serde(default)]
    pub(crate) name: String,

    /// Lines of TOML for `[server]`.
    #[serde(default)]
    server: String,
    /// Lines of TOML for the upstream.
    #[serde(default)]
    upstream_settings: String,
    /// Lines of TOML for the agent.
    #[serde(default)]
    agent: String,
    /// Whole tables of TOML.
    #[serde(default)]
    tables: String,

    /// Fields that are laid over the usual request.
    #[serde(default)]
    request: Map<String, Value>,
    /// Fields of the usual request that are left out.
    #[serde(default)]
    without: Vec<String>,
    /// The body as text, in place of a request made of fields. Sent once, as it is.
    pub(crate) body: Option<String>,
    #[serde(default = "post")]
    pub(crate) method: String,
    #[serde(default = "chat_path")]
    pub(crate) path: String,
    /// Further headers; null takes away a usual one.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Option<String>>,
    /// `whole` or `streamed`, where the other makes no sense.
    pub(crate) only: Option<String>,

    /// Headers that the upstream gets with every request, in place of the usual key; null for one
    /// that it does not get.
    #[serde(default)]
    pub(crate) asked_headers: BTreeMap<String, Option<String>>,

    /// What happens in the first request.
    #[serde(flatten)]
    pub(crate) exchange: Exchange,
    /// The follow-up requests, which answer the calls just handed back.
    #[serde(default)]
    pub(crate) then: Vec<FollowUp>,
}

/// What happens within one request of the caller.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Exchange {
    /// The upstream's answers, one after the other; the last one repeats. None: it says `done`.
    #[serde(default)]
    pub(crate) upstream: Vec<Play>,
    /// What the folded answer has to match. Without a status in it, the answer is a success
    /// unless `fails` says otherwise.
    #[serde(default)]
    pub(crate) expect: Value,
    /// The same, for whole answers only.
    pub(crate) expect_whole: Option<Value>,
    /// The same, for streams only.
    pub(crate) expect_streamed: Option<Value>,
    /// The answer is an error with one of these statuses; in a stream it may come as an event.
    #[serde(default)]
    pub(crate) fails: Vec<u16>,
    /// What the bodies of the upstream's requests have to match, in order.
    #[serde(default)]
    pub(crate) asked: Vec<Value>,
    /// Texts that the first upstream request holds byte for byte.
    #[serde(default)]
    pub(crate) asked_text: Vec<String>,
    /// How often the upstream is asked; as often as `asked` says, or once.
    pub(crate) upstream_requests: Option<usize>,
    /// The caller gets calls as the model writes them, unchecked and in pieces.
    #[serde(default)]
    pub(crate) forwarded_calls: bool,
}

/// A follow-up: the answer just received goes back with results of its calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowUp {
    /// The content of each result, in the order of the calls.
    pub(crate) results: Vec<Value>,
    /// A user message after the results.
    pub(crate) say: Option<String>,
    #[serde(flatten)]
    pub(crate) exchange: Exchange,
}

fn post() -> String {
    "POST".to_owned()
}

fn chat_path() -> String {
    "/v1/chat/completions".to_owned()
}

impl Case {
    /// The gateway that the case needs.
    pub(crate) fn setup(&self, base_url: &str) -> Setup {
        Setup::with_upstream(base_url)
            .server(&self.server)
            .upstream(&self.upstream_settings)
            .agent(&self.agent)
            .tables(&self.tables)
    }

    /// Adds lines to the upstream's table.
    pub(crate) fn configure_upstream(&mut self, lines: &str) {
        self.upstream_settings = format!("{lines}\n{}", self.upstream_settings);
    }

    /// Whether two cases can share a gateway.
    pub(crate) fn same_setup(&self, other: &Self) -> bool {
        let setup = |case: &Self| {
            (
                case.server.clone(),
                case.upstream_settings.clone(),
                case.agent.clone(),
                case.tables.clone(),
            )
        };
        setup(self) == setup(other)
    }

    /// The request's fields, for a streamed or a whole answer.
    pub(crate) fn fields(&self, streamed: bool) -> Map<String, Value> {
        let mut fields = usual_request();
        fields.extend(self.request.clone());
        for field in &self.without {
            fields.remove(field);
        }
        if streamed {
            fields.insert("stream".to_owned(), json!(true));
        } else {
            // The reference allows stream options for streams only.
            fields.remove("stream_options");
        }
        fields
    }
}

/// One user message, and one external tool.
fn usual_request() -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), json!(AGENT));
    fields.insert(
        "messages".to_owned(),
        json!([user("Is it raining in Lisbon?")]),
    );
    fields.insert("tools".to_owned(), json!([weather_tool()]));
    fields
}

/// The usual request, whole or streamed, for tests written in Rust.
pub(crate) fn request(streamed: bool) -> Value {
    let mut fields = usual_request();
    fields.insert("stream".to_owned(), json!(streamed));
    Value::Object(fields)
}

/// A message of the user.
pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The external tool that callers bring unless a case says otherwise.
pub(crate) fn weather_tool() -> Value {
    json!({
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    })
}

/// A file of the fixtures with its cases.
pub(crate) struct CaseFile {
    pub(crate) path: PathBuf,
    pub(crate) cases: Vec<Case>,
}

/// Reads every file of a folder under `fixtures`, in order of their names.
pub(crate) fn case_files(folder: &str) -> Vec<CaseFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no cases in {}", folder.display());
    paths
        .into_iter()
        .map(|path| CaseFile {
            cases: cases(&path),
            path,
        })
        .collect()
}

fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut file: Map<String, Value> = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{} is no JSON object: {error}", path.display()));
    let case = |fields: Map<String, Value>| {
        serde_json::from_value(Value::Object(fields))
            .unwrap_or_else(|error| panic!("{} is no case: {error}", path.display()))
    };
    let Some(Value::Array(variants)) = file.remove("variants") else {
        return vec![case(file)];
    };
    let laid_over = |variant: Value| {
        let mut fields = file.clone();
        fields.extend(variant.as_object().cloned().unwrap_or_default());
        case(fields)
    };
    variants.into_iter().map(laid_over).collect()
}
