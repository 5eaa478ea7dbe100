//! Request bodies of three sizes, in the shape of an agent's conversations: prose with a few
//! escapes, calls with their results, tools with schemas.

use std::fmt::Write as _;

use bytes::Bytes;
use fastrand::Rng;

const SEED: u64 = 20_261_130;

const WORDS: [&str; 32] = [
    "the",
    "weather",
    "in",
    "a",
    "city",
    "is",
    "asked",
    "for",
    "and",
    "answer",
    "must",
    "name",
    "source",
    "time",
    "unit",
    "so",
    "that",
    "reader",
    "can",
    "check",
    "it",
    "against",
    "station's",
    "own",
    "log",
    "file",
    "entry",
    "without",
    "asking",
    "again",
    "when",
    "results",
];

/// What makes up one word in twenty-five: text that JSON escapes, and text of several bytes.
const ODD_WORDS: [&str; 7] = [
    "\"quoted\"",
    "line\nbreak",
    "caf\u{e9}",
    "a\\b",
    "\u{4e1c}\u{4eac}",
    "x\ty",
    "<b>&amp;</b>",
];

/// A request of one size.
pub(crate) struct Payload {
    /// For the report.
    pub(crate) name: &'static str,
    /// The body as a caller sends it.
    pub(crate) body: Bytes,
}

/// How large a request is.
struct Size {
    name: &'static str,
    messages: usize,
    message_bytes: usize,
    tools: usize,
    tool_bytes: usize,
}

const SIZES: [Size; 3] = [
    Size {
        name: "small",
        messages: 1,
        message_bytes: 30,
        tools: 1,
        tool_bytes: 60,
    },
    Size {
        name: "medium",
        messages: 20,
        message_bytes: 980,
        tools: 10,
        tool_bytes: 900,
    },
    Size {
        name: "large",
        messages: 200,
        message_bytes: 1550,
        tools: 60,
        tool_bytes: 1700,
    },
];

/// About 0.4, 29 and 390 KB; the same bytes in every run.
pub(crate) fn all() -> Vec<Payload> {
    let payload = |size: &Size| Payload {
        name: size.name,
        body: Bytes::from(body(size)),
    };
    SIZES.iter().map(payload).collect()
}

fn body(size: &Size) -> String {
    let mut rng = Rng::with_seed(SEED);
    let messages = messages(&mut rng, size);
    let tools: Vec<String> = (0..size.tools)
        .map(|nth| tool(&mut rng, nth, size.tool_bytes))
        .collect();
    let fields = if size.messages > 1 {
        ",\"temperature\":0.7,\"top_p\":0.95,\"max_tokens\":1024,\"tool_choice\":\"auto\",\"user\":\"bench-user\""
    } else {
        ""
    };
    format!(
        "{{\"model\":\"mock\",\"messages\":[{}],\"tools\":[{}]{fields}}}",
        messages.join(","),
        tools.join(",")
    )
}

/// A system message, rounds of user, call, result and answer, and a last word of the user.
fn messages(rng: &mut Rng, size: &Size) -> Vec<String> {
    let bytes = size.message_bytes;
    let said =
        |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":{}}}", quoted(text));
    if size.messages == 1 {
        return vec![said("user", &prose(rng, bytes))];
    }
    let mut out = vec![said("system", &prose(rng, bytes))];
    while out.len() < size.messages - 1 {
        let nth = out.len();
        out.push(match nth % 4 {
            1 => said("user", &prose(rng, bytes)),
            2 => {
                let note = prose(rng, bytes / 3);
                let arguments = format!("{{\"city\": \"Paris\", \"note\": {}}}", quoted(&note));
                format!(
                    "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"call_{nth:04}\",\"type\":\"function\",\"function\":{{\"name\":\"get_weather\",\"arguments\":{}}}}}]}}",
                    quoted(&arguments)
                )
            }
            3 => format!(
                "{{\"role\":\"tool\",\"tool_call_id\":\"call_{:04}\",\"content\":{}}}",
                nth - 1,
                quoted(&prose(rng, bytes))
            ),
            _ => said("assistant", &prose(rng, bytes)),
        });
    }
    out.push(said("user", &prose(rng, bytes / 2)));
    out
}

fn tool(rng: &mut Rng, nth: usize, bytes: usize) -> String {
    let name = if nth == 0 {
        "get_weather".to_owned()
    } else {
        format!("tool_{nth}_lookup")
    };
    let mut properties =
        String::from("\"city\":{\"type\":\"string\",\"description\":\"City name\"}");
    for key in 0.. {
        if properties.len() >= bytes {
            break;
        }
        let schema = match rng.u8(..5) {
            0 => format!(
                "{{\"type\":\"string\",\"description\":{}}}",
                quoted(&prose(rng, 60))
            ),
            1 => format!("{{\"type\":\"integer\",\"minimum\":0,\"maximum\":{}}}", rng.u32(..1_000_000)),
            2 => format!("{{\"type\":\"number\",\"default\":{}.5}}", rng.u32(..100)),
            3 => "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"c\"]}}".to_owned(),
            _ => "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"ok\":{\"type\":\"boolean\"}},\"required\":[\"id\"]}".to_owned(),
        };
        let _ = write!(properties, ",\"{}_{key}\":{schema}", WORDS[rng.usize(..22)]);
    }
    let description = if nth == 0 {
        "Get the current weather for a city".to_owned()
    } else {
        prose(rng, 120)
    };
    format!(
        "{{\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"description\":{},\"parameters\":{{\"type\":\"object\",\"properties\":{{{properties}}},\"required\":[\"city\"],\"additionalProperties\":false}}}}}}",
        quoted(&description)
    )
}

fn prose(rng: &mut Rng, bytes: usize) -> String {
    let mut out = String::new();
    while out.len() < bytes {
        let odd = rng.u8(..25) == 0;
        let words: &[&str] = if odd { &ODD_WORDS } else { &WORDS };
        out.push_str(words[rng.usize(..words.len())]);
        out.push(' ');
    }
    out.pop();
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
