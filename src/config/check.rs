//! From the tree of a file to a [`Config`]: reads every section, then looks at what
//! only makes sense between sections. Nothing in here touches files or environment.

use std::net::SocketAddr;

use crate::doors::settings::ServerSettings;
use crate::drive::settings::TeamSettings;

use super::agent::{Known, agent, passthrough};
use super::item::Item;
use super::key::keys;
use super::names::Names;
use super::offer::Services;
use super::outside::Outside;
use super::report::Findings;
use super::section::Section;
use super::service::service;
use super::team::{Agents, team};
use super::telemetry::telemetry;
use super::tree::{Entry, Node, Value};
use super::upstream::upstream;
use super::{Config, server, turns};

/// Reads all of a file. What it gives is of use only if `findings` has no mistake in
/// the end.
pub(super) fn check(entries: &[Entry], outside: &Outside<'_>, findings: &Findings) -> Config {
    let mut root = Section::root(entries, findings);
    let mut single = |key| root.read(key, Item::section);
    let server = server::server(single("server"), outside);
    let admin = server::admin(single("admin"));
    let continuation = turns::continuation(single("continuation"), outside);
    let limits = turns::limits(single("limits"));
    let telemetry = telemetry(single("telemetry"));

    let mut names = Names::new("upstream");
    let mut upstreams = Vec::new();
    for section in root.sections("upstreams") {
        upstreams.extend(upstream(section, &mut names, outside));
    }
    let mut services = Services {
        names: Names::new("service"),
        read: Vec::new(),
    };
    for section in root.sections("services") {
        services.read.extend(service(section, &mut services.names));
    }
    let mut agent_names = Names::new("agent");
    let mut agents = Vec::new();
    for section in root.sections("agents") {
        let known = Known {
            upstreams: &names,
            services: &services,
        };
        agents.extend(agent(section, &mut agent_names, &known, outside));
    }
    let (teams, team_names) = teams(
        root.sections("teams"),
        &Agents {
            names: &agent_names,
            read: &agents,
            services: &services,
        },
    );
    let section = root.read("passthrough", Item::section);
    let passes = section.is_some();
    let passthrough = section.and_then(|section| passthrough(section, &names));
    let keys = keys(
        root.sections("keys"),
        if passes {
            None
        } else {
            Some([&agent_names, &team_names])
        },
    );
    root.done();

    let warnings = Vec::new();
    let config = Config {
        server,
        admin,
        continuation,
        limits,
        telemetry,
        upstreams,
        services: services.read,
        agents,
        teams,
        keys,
        passthrough,
        warnings,
    };
    between_sections(&config, entries, findings);
    config
}

/// Reads all teams.
fn teams(sections: Vec<Section<'_>>, agents: &Agents<'_>) -> (Vec<TeamSettings>, Names) {
    let mut names = Names::new("team");
    let mut teams = Vec::new();
    for section in sections {
        teams.extend(team(section, &mut names, agents));
    }
    (teams, names)
}

/// What is wrong with a listener on `address` in front of callers, if anything:
/// nobody should open an agent to the world by leaving something out.
pub(super) fn exposure(address: SocketAddr, keys: bool, open: bool) -> Option<String> {
    if address.ip().to_canonical().is_loopback() || keys || open {
        return None;
    }
    Some(format!(
        "{address} is open to other machines and there are no [[keys]]; add one, \
         listen on 127.0.0.1, or set open = true in [server] to let everybody in"
    ))
}

fn between_sections(config: &Config, entries: &[Entry], findings: &Findings) {
    let line = |section, key| find(entries, section).and_then(|section| line_in(section, key));
    // What the file has counts, not what could be read: a key with a mistake in it
    // would otherwise be reported as missing too.
    let keys = any(entries, "keys");
    let ServerSettings { listen, open, .. } = config.server;
    if let Some(text) = exposure(listen, keys, open) {
        findings.mistake(line("server", "listen"), "server.listen", text);
    }
    if let (Some(line), true, true) = (line("server", "open"), open, keys) {
        findings.warning(
            line,
            "server.open",
            "there are [[keys]], so it has no effect",
        );
    }
    let admin = &config.admin;
    if admin.explicit && collide(listen, admin.listen) {
        let text = format!(
            "server.listen has port {} already; choose another",
            listen.port()
        );
        findings.mistake(line("admin", "listen"), "admin.listen", text);
    }
    if !any(entries, "agents") && find(entries, "passthrough").is_none() {
        let text = "there is nothing to serve; add an [[agents]] or a [passthrough] section";
        findings.mistake(None, "agents", text);
    }
}

/// Whether one of two listeners would find its port taken by the other.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port()
        && one.port() != 0
        && (one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified())
}

/// Whether the file has anything under `key`; `key = []` is nothing.
fn any(entries: &[Entry], key: &str) -> bool {
    find(entries, key).is_some_and(|node| match &node.value {
        Value::Array(items) => !items.is_empty(),
        _ => true,
    })
}

fn find<'e>(entries: &'e [Entry], key: &str) -> Option<&'e Node> {
    entries
        .iter()
        .find(|entry| entry.key == key)
        .map(|entry| &entry.node)
}

fn line_in(section: &Node, key: &str) -> Option<usize> {
    let Value::Table(entries) = &section.value else {
        return None;
    };
    find(entries, key).map(|node| node.line)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::super::tree::parse;
    use super::*;

    /// Reads `source`; whether it is valid does not matter.
    fn read(source: &str) {
        let outside = Outside {
            folder: Path::new(""),
            read: &|_| Err(io::ErrorKind::NotFound.into()),
            is_file: &|_| false,
        };
        let findings = Findings::default();
        if let Ok(entries) = parse(source, "file", &|_| None, &findings) {
            check(&entries, &outside, &findings);
        }
        drop(findings.conclude("file"));
    }

    #[test]
    fn no_cut_of_a_file_breaks_the_reading() {
        let sample = include_str!("../../gateway.toml").replace("\n# ", "\n");
        for (place, _) in sample.char_indices().step_by(5) {
            read(&sample[..place]);
        }
        let lines: Vec<&str> = sample.lines().collect();
        for index in 0..lines.len() {
            read(&[&lines[..index], &lines[index + 1..]].concat().join("\n"));
            read(lines[index]);
        }
    }
}
