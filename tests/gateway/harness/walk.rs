//! Walks a folder of cases: one gateway per configuration, a few files at a time, and all
//! failures told at once with their file, variant and mode.

use futures_util::StreamExt as _;
use tokio::task::JoinSet;

use super::caller::Caller;
use super::case::{Case, CaseFile, case_files, request};
use super::gateway::Gateway;
use super::run::{Mode, run};
use super::upstream::Upstream;

/// How many gateways run at once.
const AT_ONCE: usize = 4;

/// Plays every case of a folder in the modes that `modes` gives for it.
pub(crate) async fn walk(folder: &str, modes: fn(&Case) -> Vec<Mode>) {
    play_files(folder, case_files(folder), modes).await;
}

/// The same for upstreams that are all configured with some lines more.
pub(crate) async fn walk_with(folder: &str, upstream: &str, modes: fn(&Case) -> Vec<Mode>) {
    let mut files = case_files(folder);
    for case in files.iter_mut().flat_map(|file| &mut file.cases) {
        case.configure_upstream(upstream);
    }
    play_files(folder, files, modes).await;
}

async fn play_files(folder: &str, files: Vec<CaseFile>, modes: fn(&Case) -> Vec<Mode>) {
    let count: usize = files.iter().map(|file| file.cases.len()).sum();
    let failures: Vec<String> = futures_util::stream::iter(files)
        .map(|file| play_file(file, modes))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await
        .concat();
    assert!(
        failures.is_empty(),
        "{} failures in {count} cases of {folder}:\n\n{}\n",
        failures.len(),
        failures.join("\n\n")
    );
}

/// How many modes of a case follow each other without a plain request between them.
const OFTEN: usize = 3;

async fn play_file(file: CaseFile, modes: fn(&Case) -> Vec<Mode>) -> Vec<String> {
    let name = file.path.display().to_string();
    // On a task of its own, so that a panic is told with the file and ends no other case.
    let mut task = JoinSet::new();
    task.spawn(play_cases(file.cases, modes));
    match task.join_next().await.unwrap_or_else(|| Ok(Vec::new())) {
        Ok(failures) => failures
            .into_iter()
            .map(|failure| format!("{name} {failure}"))
            .collect(),
        Err(panic) => vec![format!("{name} {panic}")],
    }
}

async fn play_cases(cases: Vec<Case>, modes: fn(&Case) -> Vec<Mode>) -> Vec<String> {
    let upstream = Upstream::start().await;
    let mut failures = Vec::new();
    let mut running: Option<(&Case, Gateway)> = None;
    for case in &cases {
        if !matches!(&running, Some((other, _)) if case.same_setup(other)) {
            running = Some((case, case.setup(&upstream.base_url()).start().await));
        }
        let Some((_, gateway)) = &running else {
            continue;
        };
        let caller = Caller::of(gateway);
        failures.extend(play_case(case, modes(case), &upstream, &caller).await);
    }
    failures
}

/// Plays a case in all its modes, and tells the first that fails: the others mostly say the same.
async fn play_case(
    case: &Case,
    modes: Vec<Mode>,
    upstream: &Upstream,
    caller: &Caller,
) -> Option<String> {
    let count = modes.len();
    let mut broken = Vec::new();
    for (nth, mode) in modes.into_iter().enumerate() {
        if nth % OFTEN == 0 {
            // A success in between: an upstream that does nothing but fail is left alone.
            upstream.play([]);
            caller.ask(&request(true)).await.folded();
        }
        if let Err(how) = run(case, mode, upstream, caller).await {
            broken.push(format!("{mode:?}\n    {how}"));
        }
    }
    let first = broken.first()?;
    let (name, why, failed) = (&case.name, &case.why, broken.len());
    Some(format!(
        "{name:?}, in {failed} of {count} modes\n    {why}\n    {first}"
    ))
}
