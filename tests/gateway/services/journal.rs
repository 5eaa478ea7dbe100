//! Attempts that outlive their process, where the configuration names a folder for them (contract
//! K7): killed at any step of a turn, the next process takes the same request up where it stood.
//! What was answered is not run again, and what was under way is run as the same call.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::{
    Handback, KEY, OTHER_KEY, call, calling, closes, follow_up, held_back, kb, keys, messages,
    refused, result, says, setup, weather,
};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::http::Request;
use crate::harness::script::Answer;
use crate::harness::upstream::Upstream;
use crate::harness::within;

/// What happens in the turn of [`model`]: it is asked, or calls a tool of the agent's.
const STEPS: usize = 10;

/// The continuation section with a journal in this folder.
fn journal(folder: &Path, keys: &[&str]) -> String {
    let folder = folder.join("journal");
    let folder = folder.display();
    format!("[continuation]\nkeys = {keys:?}\njournal = \"{folder}\"\n")
}

/// Sends a request to a process and kills it as soon as `reached` has come about.
async fn killed_at(gateway: Gateway, body: &Value, reached: impl Future<Output = ()>) {
    let caller = Caller::of(&gateway);
    tokio::select! {
        _ = caller.try_ask(body) => panic!("it was answered"),
        () = reached => {}
    }
}

/// A model that goes by what it is shown.
fn model(request: &Request) -> Answer {
    let messages = messages(request);
    let rounds = messages.iter().filter(|one| one["role"] == "assistant");
    let own = |name, nth: usize| call(&format!("call_{nth}"), name, &format!(r#"{{"q":"{nth}"}}"#));
    match rounds.count() {
        0 => says(&calling(
            Some("One moment. "),
            &[own("save", 1), own("file", 2)],
        )),
        1 => says(&calling(None, &[own("look", 3)])),
        2 => says(&calling(
            Some("Asking. "),
            &[weather("call_w"), own("save", 4)],
        )),
        3 => says(&calling(None, &[own("file", 5)])),
        _ => closes("done"),
    }
}

/// A model and services of which one step is never over: at that the process is killed.
struct World {
    model: Upstream,
    services: Upstream,
    setup: Setup,
    reached: Arc<Notify>,
    _place: TempDir,
}

impl World {
    async fn held_at(step: usize) -> World {
        let place = tempfile::tempdir().expect("a temporary folder");
        let steps = Arc::new(AtomicUsize::new(0));
        let reached = Arc::new(Notify::new());
        let next = {
            let reached = Arc::clone(&reached);
            move |answer| {
                if steps.fetch_add(1, Ordering::Relaxed) == step {
                    reached.notify_one();
                    return held_back(answer);
                }
                answer
            }
        };
        let asked = next.clone();
        let model = Upstream::answering(move |request| asked(model(request))).await;
        let services =
            Upstream::answering(move |request| next(Answer::json(200, &reply(request)))).await;
        let kb = kb().await;
        let mut tables = kb.toml();
        for tool in ["look", "find", "save", "file"] {
            let authority = kb.tool(tool).authority();
            tables = tables.replace(&authority, &services.authority());
        }
        let setup = Setup::with_upstream(&model.base_url())
            .agent("services = [\"kb\"]\n")
            .tables(&tables)
            .tables(&journal(place.path(), &[KEY]));
        World {
            model,
            services,
            setup,
            reached,
            _place: place,
        }
    }

    /// Sends a request until it is answered, as client libraries do, with a new process in place
    /// of one that is killed.
    async fn answer(&self, gateway: &mut Gateway, body: &Value) -> Value {
        let caller = Caller::of(gateway);
        tokio::select! {
            reply = caller.ask(body) => reply.folded()["message"].clone(),
            () = self.reached.notified() => {
                let next = self.setup.start().await;
                std::mem::replace(gateway, next).kill();
                Caller::of(gateway).ask(body).await.folded()["message"].clone()
            }
        }
    }
}

/// What a tool gives.
fn reply(request: &Request) -> Value {
    json!({"found": request.json()["q"]})
}

#[tokio::test]
async fn killed_at_any_step_nothing_runs_twice_that_was_answered() {
    for step in 0..STEPS {
        for streamed in [false, true] {
            let world = World::held_at(step).await;
            let mut gateway = world.setup.start().await;
            let body = request(streamed);
            let handed = world.answer(&mut gateway, &body).await;
            assert_eq!(handed["content"], "One moment. Asking. ", "step {step}");
            let body = follow_up(&body, &handed, &["dry"]);
            let answer = world.answer(&mut gateway, &body).await;
            assert_eq!(answer["content"], "done", "step {step}");

            let asked = world.model.requests();
            let seen = messages(asked.last().expect("the model was asked"));
            let results = seen.iter().filter(|one| one["role"] == "tool");
            let results: Vec<&Value> = results.map(|one| &one["content"]).collect();
            let found = |nth: usize| json!({"found": nth.to_string()}).to_string();
            let expected = [
                found(1),
                found(2),
                found(3),
                "dry".to_owned(),
                found(4),
                found(5),
            ];
            assert_eq!(
                results,
                expected.map(Value::from).iter().collect::<Vec<_>>()
            );
            assert_eq!(seen.len(), 1 + 4 + 6, "step {step}");

            // The step at which it was killed is the only one that was begun twice.
            let mut runs: HashMap<String, Vec<String>> = HashMap::new();
            for run in world.services.requests() {
                let key = run.header("idempotency-key").unwrap_or_default();
                runs.entry(run.text().to_owned())
                    .or_default()
                    .push(key.to_owned());
            }
            assert_eq!(runs.len(), 5, "step {step}: {runs:?}");
            let all = runs.values().map(Vec::len).sum::<usize>();
            assert_eq!(all + asked.len(), STEPS + 1, "step {step}: {runs:?}");
            for (call, keys) in &runs {
                assert!(keys.iter().all(|key| *key == keys[0]), "{call}: {keys:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_kept_cannot_be_read_and_goes_with_the_answer() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let setup = setup(&upstream, &service);
    let setup = |keys: &[&str]| setup.clone().tables(&journal(place.path(), keys));
    let filing = || says(&calling(None, &[call("call_a", "file", "{}")]));
    upstream.play([filing(), held_back(closes("never"))]);
    let body = request(false);
    killed_at(setup(&[KEY]).start().await, &body, upstream.asked(2)).await;
    let kept = || {
        let files = std::fs::read_dir(place.path().join("journal")).expect("the folder is there");
        files.map(|file| file.expect("a file").path())
    };
    let texts = kept().map(|file| std::fs::read(file).expect("it can be read"));
    let texts: Vec<Vec<u8>> = texts.collect();
    assert_eq!(texts.len(), 1);
    for word in ["Lisbon", "call_a", "file", "standing"] {
        let found = texts[0]
            .windows(word.len())
            .any(|part| part == word.as_bytes());
        assert!(!found, "{word}");
    }

    // Whoever has another key begins it anew, and keeps its own.
    upstream.play([filing(), closes("done")]);
    let gateway = setup(&[OTHER_KEY]).start().await;
    Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(service.calls("file"), 2);
    let gone = async {
        while kept().count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    within("the answer to take away what is kept", gone).await;
}

/// A window passes, by what the journal removes.
async fn window_ends(place: &Path) {
    let late = place.join("journal/attempt-late");
    std::fs::write(&late, "").expect("a file can be written");
    let gone = async {
        while late.exists() {
            tokio::task::yield_now().await;
        }
    };
    within("the window to end", gone).await;
}

#[tokio::test]
async fn what_is_taken_up_from_memory_does_not_grow_old_either() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let setup = setup(&upstream, &service)
        .tables(&(journal(place.path(), &[KEY]) + "retry_window = \"3s\"\n"));
    let gateway = setup.start().await;
    let body = request(false);
    upstream.play([
        says(&calling(None, &[call("call_a", "file", "{}")])),
        Answer::body(500, "text/plain", "no"),
    ]);
    let code = refused(&Caller::of(&gateway), &body, 502).await;
    assert_eq!(code, "upstream_error");
    upstream.play([held_back(closes("never"))]);
    killed_at(gateway, &body, async {
        upstream.asked(1).await;
        window_ends(place.path()).await;
    })
    .await;
    upstream.play([closes("done")]);
    let gateway = setup.start().await;
    let answer = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(answer["message"]["content"], "done", "{answer}");
    let asked = messages(&upstream.only_request());
    assert_eq!(asked[2], result("call_a", r#"{"tool":"file"}"#));
    assert_eq!(service.calls("file"), 1);
}

#[tokio::test]
async fn what_broke_off_is_removed_after_the_window_but_not_what_is_under_way() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .tables(&(journal(place.path(), &[KEY]) + "retry_window = \"300ms\"\n"))
        .start()
        .await;
    let kept = || {
        let files = std::fs::read_dir(place.path().join("journal"));
        files.expect("the folder is there").count()
    };
    let filing = || says(&calling(None, &[call("call_a", "file", "{}")]));
    // Two of which one goes away; that is over when the other still is not.
    upstream.play([
        filing(),
        held_back(closes("never")),
        filing(),
        held_back(closes("never")),
    ]);
    let caller = Caller::of(&gateway);
    let stays = async { caller.try_ask(&request(false)).await };
    let goes = async {
        upstream.asked(2).await;
        let mut other = request(false);
        other["seed"] = json!(7);
        tokio::select! {
            _ = caller.try_ask(&other) => panic!("it was answered"),
            () = upstream.asked(4) => assert_eq!(kept(), 2),
        }
        let gone = async {
            while kept() > 1 {
                tokio::task::yield_now().await;
            }
        };
        within("the window to end", gone).await;
        for _ in 0..3 {
            window_ends(place.path()).await;
        }
        assert_eq!(kept(), 1, "what is under way is kept");
        gateway.kill();
    };
    let (stayed, ()) = tokio::join!(stays, goes);
    assert!(stayed.is_err());
}

#[tokio::test]
async fn what_is_no_file_of_the_journals_harms_nobody() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let setup = setup(&upstream, &service).tables(&journal(place.path(), &[KEY]));
    let files = place.path().join("journal");
    let filing = || says(&calling(None, &[call("call_a", "file", "{}")]));
    let body = request(false);
    upstream.play([filing(), held_back(closes("never"))]);
    killed_at(setup.start().await, &body, upstream.asked(2)).await;
    let name = std::fs::read_dir(&files)
        .expect("the folder is there")
        .next();
    let path = name
        .expect("an attempt is kept")
        .expect("it can be seen")
        .path();
    let whole = std::fs::read(&path).expect("it can be read");
    for text in [&b""[..], b"{}", &whole[..whole.len() / 2], &[0xff; 100]] {
        std::fs::write(&path, text).expect("it can be written");
        upstream.play([filing(), closes("done")]);
        let gateway = setup.start().await;
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
    }
    // A folder in place of the file: it cannot be replaced, and stops nobody.
    let _ = std::fs::remove_file(&path);
    std::fs::create_dir(&path).expect("a folder can be made");
    upstream.play([filing(), closes("done")]);
    let gateway = setup.start().await;
    let folded = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
}

#[tokio::test]
async fn an_agent_that_was_moved_shows_its_new_upstream_nothing_of_the_old() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (one, two, service) = (Upstream::start().await, Upstream::start().await, kb().await);
    let setup = setup(&one, &service)
        .tables(&format!(
            "[[upstreams]]\nname = \"second\"\nbase_url = \"{}\"\n",
            two.base_url()
        ))
        .tables(&journal(place.path(), &[KEY]));
    let mut filing = calling(None, &[call("call_a", "file", "{}")]);
    filing["reasoning_content"] = json!("mind of one");
    one.play([says(&filing), held_back(closes("never"))]);
    let body = request(false);
    killed_at(setup.start().await, &body, one.asked(2)).await;
    two.play([closes("done")]);
    let gateway = setup.moved("second").start().await;
    let folded = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    let asked = two.only_request();
    assert!(!asked.text().contains("mind of one"), "{}", asked.text());
    assert_eq!(messages(&asked)[2], result("call_a", r#"{"tool":"file"}"#));
    assert_eq!(service.calls("file"), 1);
}

#[tokio::test]
async fn an_answer_that_is_refused_in_the_end_leaves_the_attempt() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let setup = setup(&upstream, &service)
        .tables(&(journal(place.path(), &[KEY]) + "max_size = \"500B\"\n"));
    let body = request(false);
    upstream.play([
        says(&calling(None, &[call("call_a", "file", "{}")])),
        says(&calling(None, &[weather("call_b")])),
    ]);
    for _ in 0..2 {
        let gateway = setup.start().await;
        let code = refused(&Caller::of(&gateway), &body, 502).await;
        assert_eq!(code, "continuation_too_large");
        gateway.kill();
        upstream.play([says(&calling(None, &[weather("call_b")]))]);
    }
    assert_eq!(service.calls("file"), 1);
}

#[tokio::test]
async fn an_attempt_survives_a_change_of_keys() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let setup = setup(&upstream, &service);
    let setup = |keys: &[&str]| setup.clone().tables(&journal(place.path(), keys));
    upstream.play([
        says(&calling(None, &[call("call_a", "file", "{}")])),
        held_back(closes("never")),
    ]);
    let body = request(false);
    killed_at(setup(&[KEY]).start().await, &body, upstream.asked(2)).await;
    upstream.play([closes("done")]);
    let gateway = setup(&[OTHER_KEY, KEY]).start().await;
    let folded = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    assert_eq!(service.calls("file"), 1);
}

#[tokio::test]
async fn a_parked_call_runs_once_for_all_follow_ups_on_all_processes() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let section = journal(place.path(), &[KEY]);
    let (handback, gateway) = Handback::reach(&section, false).await;
    handback.goes_on(&gateway, &handback.follow_up()).await;
    gateway.kill();
    let gateway = handback.setup.clone().tables(&section).start().await;
    let mut other = handback.follow_up();
    other["seed"] = json!(7);
    for body in [handback.follow_up(), other] {
        let asked = handback.goes_on(&gateway, &body).await;
        assert_eq!(messages(&asked), Handback::history());
    }
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn a_transfer_leaves_nothing_behind() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .tables(
            "[[agents]]\nname = \"desk\"\nupstream = \"model\"\nmodel = \"m\"\n\
             [[teams]]\nname = \"front\"\nlead = \"support\"\nmembers = [\"desk\"]\n",
        )
        .tables(&journal(place.path(), &[KEY]))
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let mut body = request(false);
    body["model"] = json!("front");
    for nth in 1..=5 {
        upstream.play([
            says(&calling(None, &[call("call_a", "file", "{}")])),
            says(&calling(None, &[call("call_t", "transfer_to_desk", "{}")])),
            closes("done"),
        ]);
        let folded = caller.ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        assert_eq!(service.calls("file"), nth);
    }
}

#[tokio::test]
async fn an_answered_request_is_a_new_one_and_a_missing_folder_stops_nobody() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .tables(&journal(place.path(), &[KEY]))
        .start()
        .await;
    let caller = Caller::of(&gateway);
    for _ in 0..2 {
        upstream.play([
            says(&calling(None, &[call("call_a", "file", "{}")])),
            closes("done"),
        ]);
        let folded = caller.ask(&request(false)).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        let asked = messages(&upstream.requests()[1]);
        assert_eq!(asked[2], result("call_a", r#"{"tool":"file"}"#));
        // The next time there is nowhere to write to.
        let _ = std::fs::remove_dir_all(place.path().join("journal"));
    }
    let [first, second] = &keys(&service, "file")[..] else {
        panic!("file was not called twice")
    };
    assert_ne!(first, second);
}
