//! Which tools are offered, under which names.

use handback::services::Outcome;
use handback::services::settings::Glob;
use serde_json::json;

use super::scripted::{Scripted, Told, tool};
use super::sdk::Sdk;
use super::service::{Tools, failure, http};

#[tokio::test]
async fn all_pages_are_read_and_a_list_without_end_is_not() {
    let server = Scripted::start(|asked| {
        let page = asked.body["params"]["cursor"].as_str().unwrap_or("0");
        let next: usize = page.parse::<usize>().expect("it is our cursor") + 1;
        let list =
            json!({"tools": [tool(&format!("tool_{page}"))], "nextCursor": next.to_string()});
        (asked.method == "tools/list").then_some(Told::Result(list))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.names().len(), 100);
    assert_eq!(tools.names()[99], "tool_99");
    let circle = Scripted::start(|asked| {
        let list = json!({"tools": [tool("a")], "nextCursor": "again"});
        (asked.method == "tools/list").then_some(Told::Result(list))
    });
    let tools = Tools::connected(&http(&circle.url())).await;
    assert_eq!(
        (tools.names(), tools.service.withheld()),
        (vec!["a".to_owned()], 1)
    );
}

#[tokio::test]
async fn forbidden_names_are_mapped_and_mapped_back() {
    let own = [
        "calendar.listEvents",
        "admin/users",
        "\u{5929}\u{6c14}",
        "\u{6587}\u{7ae0}",
    ];
    let server = Scripted::start(move |asked| {
        let list = json!({"tools": own.map(tool)});
        (asked.method == "tools/list").then_some(Told::Result(list))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    let names = tools.names();
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    assert!(
        names.iter().all(|name| name.chars().all(allowed)),
        "{names:?}"
    );
    assert_eq!(names[0], "calendar_listEvents_af36e6df");
    for name in own {
        let reply = tools.call(name, "{\"\u{57ce}\u{5e02}\":\"\\u5929\"}").await;
        assert_eq!(reply.text, "{\"\u{57ce}\u{5e02}\":\"\u{5929}\"}");
    }
    let called = server.asked("tools/call");
    let called: Vec<_> = called
        .iter()
        .map(|asked| &asked.body["params"]["name"])
        .collect();
    assert_eq!(called, own);
    let again = Tools::connected(&http(&server.url())).await;
    assert_eq!(again.names(), names);
}

#[tokio::test]
async fn schemas_and_descriptions_are_made_fit() {
    let server = Scripted::start(|asked| {
        let long = "\u{5929}".repeat(1103);
        let list = json!({"tools": [
            {"name": "bare", "description": "List", "inputSchema": {"type": "object"}},
            {"name": "empty", "inputSchema": {}},
            {"name": "order", "inputSchema": {"type": "object", "properties": {"z": {"maximum": 1.0}, "a": {}}}},
            {"name": "long", "description": long, "inputSchema": {"type": "object", "properties": {}}},
            {"name": "broken", "inputSchema": "none"},
            {"title": "no name"},
        ]});
        (asked.method == "tools/list").then_some(Told::Result(list))
    });
    let mut settings = http(&server.url());
    settings.description_limit = Some(1024);
    let tools = Tools::connected(&settings).await;
    assert_eq!(tools.names(), ["bare", "empty", "order", "long", "broken"]);
    let nothing = json!({"type": "object", "properties": {}});
    for name in ["bare", "empty", "broken"] {
        assert_eq!(
            tools.definition(name)["function"]["parameters"],
            nothing,
            "{name}"
        );
    }
    let order = &tools.definition("order")["function"]["parameters"];
    let as_sent = r#"{"type":"object","properties":{"z":{"maximum":1.0},"a":{}}}"#;
    assert_eq!(order.to_string(), as_sent);
    let long = &tools.definition("long")["function"]["description"];
    assert_eq!(long.as_str().map(|text| text.chars().count()), Some(1024));
}

#[tokio::test]
async fn the_operator_chooses_by_the_servers_own_names() {
    let server = Sdk::start(&["find", "find_all", "delete_all", "crm_find"]);
    let mut settings = http(&server.url());
    settings.tools = vec![Glob::new("*find*"), Glob::new("delete_*")];
    settings.deny = vec![Glob::new("delete_*")];
    settings.prefix = "crm_".to_owned();
    let tools = Tools::connected(&settings).await;
    assert_eq!(tools.names(), ["crm_find", "crm_find_all", "crm_crm_find"]);
    let reason = failure(&tools.call("delete_all", "{}").await);
    assert_eq!(reason, "there is no tool named \"delete_all\" any more");
}

#[tokio::test]
async fn a_changed_list_is_read_again() {
    let server = Sdk::start(&["look"]);
    let tools = Tools::connected(&http(&server.url())).await;
    server.change(&["look", "act"]).await;
    tools.until_offered(&["look", "act"]).await;
    server.change(&["act"]).await;
    tools.until_offered(&["act"]).await;
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(reason, "there is no tool named \"look\" any more");
}

#[tokio::test]
async fn a_change_during_a_call_is_seen() {
    let server = Sdk::start(&["grow"]);
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.call("grow", "{}").await.text, "grow done");
    tools.until_offered(&["grow", "grown"]).await;
    assert_eq!(tools.call("grown", "{}").await.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_change_told_on_the_stream_of_a_call_is_seen() {
    let server = Scripted::start({
        let grown = std::sync::atomic::AtomicBool::new(false);
        move |asked| match asked.method.as_str() {
            "tools/list" if grown.load(std::sync::atomic::Ordering::SeqCst) => {
                Some(Told::Result(json!({"tools": [tool("look"), tool("new")]})))
            }
            "tools/call" => {
                grown.store(true, std::sync::atomic::Ordering::SeqCst);
                let token = &asked.body["params"]["_meta"]["progressToken"];
                Some(Told::Events(vec![
                    json!({"jsonrpc": "2.0", "method": "notifications/progress",
                           "params": {"progressToken": token, "progress": 1}}),
                    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                    json!({"jsonrpc": "2.0", "id": asked.body["id"],
                           "result": {"content": [{"type": "text", "text": "done"}]}}),
                ]))
            }
            _ => None,
        }
    });
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.call("look", "{}").await.text, "done");
    tools.until_offered(&["look", "new"]).await;
}

#[tokio::test]
async fn a_server_without_tools_is_connected() {
    let server = Scripted::start(|asked| {
        let error = json!({"code": -32601, "message": "Method not found"});
        let told = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error});
        (asked.method == "tools/list").then_some(Told::Message(told))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    assert!(tools.names().is_empty());
}
