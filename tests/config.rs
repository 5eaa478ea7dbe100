//! Reads the files in `fixtures/config` and compares with what stands beside each:
//! for `ok/NAME.toml` the configuration that it gives, for `bad/NAME.toml` the report
//! on it, both in `NAME.txt`. A missing expectation is written; `UPDATE=1` rewrites
//! all of them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use handback::config::{Config, Report};
use handback::continuation::settings::ContinuationSettings;
use handback::doors::settings::{AdminSettings, ServerSettings};
use handback::services::settings::{DEFAULT_HTTP_TIMEOUT, DEFAULT_MCP_TIMEOUT, Glob, Kind};
use handback::telemetry::settings::{EVERY_TURN, SERVICE};
use handback::turn::limits::Limits;
use handback::upstream::settings::{Auth, DEFAULT_RETRIES, Source, Timeouts};

/// The environment that all files are read with.
fn environment(name: &str) -> Option<String> {
    let value = match name {
        "DESK_KEY" => "desk-s3cret",
        "INJECTION" => "\"\n[server]\nopen = true\n# ${DESK_KEY}",
        "OPENAI_API_KEY" => "sk-s3cret",
        "SECRET" => "env-s3cret",
        _ => return None,
    };
    Some(value.to_owned())
}

fn load(path: &Path) -> Result<Config, Report> {
    Config::load(path, &environment)
}

/// The files of TOML in a folder of fixtures, sorted.
fn files(folder: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(Path::new("fixtures/config").join(folder))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no fixtures in {folder}");
    Ok(files)
}

/// What differs between `actual` and the expectation beside `path`, if anything.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the tests says so in the environment"
)]
fn compare(path: &Path, actual: &str) -> Result<Option<String>, Box<dyn Error>> {
    let expected = path.with_extension("txt");
    let actual = format!("{actual}\n");
    if std::env::var_os("UPDATE").is_some() || !expected.exists() {
        fs::write(&expected, &actual)?;
    }
    let wanted = fs::read_to_string(&expected)?;
    let differs = || {
        format!(
            "{}\n--- expected\n{wanted}--- actual\n{actual}",
            path.display()
        )
    };
    Ok((wanted != actual).then(differs))
}

#[test]
fn valid_files_give_the_configuration_beside_them() -> Result<(), Box<dyn Error>> {
    let mut failures = Vec::new();
    for path in files("ok")? {
        let actual = match load(&path) {
            Ok(config) => format!("{config:#?}"),
            Err(report) => format!("refused:\n{report}"),
        };
        failures.extend(compare(&path, &actual)?);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

#[test]
fn invalid_files_give_the_report_beside_them() -> Result<(), Box<dyn Error>> {
    let mut failures = Vec::new();
    for path in files("bad")? {
        let actual = match load(&path) {
            Ok(config) => format!("accepted:\n{config:#?}"),
            Err(report) => report.to_string(),
        };
        failures.extend(compare(&path, &actual)?);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

#[test]
fn one_report_has_all_mistakes() -> Result<(), Box<dyn Error>> {
    let path = Path::new("fixtures/config/bad/everything.toml");
    let report = load(path)
        .expect_err("nothing in this file is right")
        .to_string();
    for (index, line) in fs::read_to_string(path)?.lines().enumerate() {
        let place = format!("{}:{}: ", path.display(), index + 1);
        assert_eq!(
            line.ends_with("#!"),
            report.contains(&place),
            "{place}{line}\n{report}"
        );
    }
    Ok(())
}

#[test]
fn neither_reports_nor_configurations_show_secrets() -> Result<(), Box<dyn Error>> {
    for path in files("ok")?.into_iter().chain(files("bad")?) {
        let shown = match load(&path) {
            Ok(config) => format!("{config:?}"),
            Err(report) => format!("{report} {report:?}"),
        };
        assert!(!shown.contains("s3cr"), "{}: {shown}", path.display());
        assert!(!shown.contains("sk-live"), "{}: {shown}", path.display());
    }
    Ok(())
}

#[test]
fn a_missing_file_is_a_report_too() {
    let report = load(Path::new("fixtures/config/nowhere.toml")).expect_err("there is no file");
    assert_eq!(report.mistakes(), 1);
    let text = report.to_string();
    assert!(
        text.starts_with("fixtures/config/nowhere.toml: cannot be read: "),
        "{text}"
    );
}

#[test]
fn a_public_address_on_the_command_line_needs_keys_as_well() -> Result<(), Box<dyn Error>> {
    let public = "0.0.0.0:8080".parse()?;
    let minimal = load(Path::new("fixtures/config/ok/minimal.toml"))?;
    let report = minimal
        .clone()
        .listen_on(public)
        .expect_err("it is open")
        .to_string();
    assert!(
        report.starts_with("the command line: --listen: 0.0.0.0:8080 is open"),
        "{report}"
    );

    let local = "[::1]:0".parse()?;
    assert_eq!(minimal.listen_on(local)?.server.listen, local);
    let with_keys = load(Path::new("fixtures/config/ok/full.toml"))?;
    assert_eq!(with_keys.listen_on(public)?.server.listen, public);
    Ok(())
}

#[test]
fn the_sample_runs_with_nothing_set_and_states_the_defaults() {
    let config = Config::load(Path::new("gateway.toml"), &|_| None).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(config.limits, Limits::default());
    let admin = AdminSettings {
        explicit: true,
        ..AdminSettings::default()
    };
    assert_eq!(format!("{:?}", config.admin), format!("{admin:?}"));
    assert_eq!(
        format!("{:?}", config.server),
        format!("{:?}", ServerSettings::default())
    );
    let continuation = ContinuationSettings::default();
    assert_eq!(
        format!("{:?}", config.continuation),
        format!("{continuation:?}")
    );
}

#[test]
fn what_is_commented_out_in_the_sample_is_right_too() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sample");
    fs::create_dir_all(folder.join("fixtures/demo"))?;
    for file in ["fixtures/demo/support-ticket.toml", "cert.pem", "key.pem"] {
        fs::write(folder.join(file), "")?;
    }
    let sample = fs::read_to_string("gateway.toml")?;
    let lines: Vec<&str> = sample.lines().map(uncommented).collect();
    let path = folder.join("gateway.toml");
    fs::write(&path, lines.join("\n"))?;

    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let set = |name: &str| {
        let is_key = name == "HANDBACK_CONTINUATION_KEY";
        Some(if is_key { key } else { name }.to_owned())
    };
    let config = Config::load(&path, &set)?;
    assert_eq!(config.continuation.journal, Some(folder.join("journal")));
    assert_eq!(config.upstreams.len(), 2);
    assert_eq!(config.keys.len(), 1);
    assert_eq!(config.agents.len(), 2);
    assert_eq!(config.teams.len(), 1);
    let kinds: Vec<&Kind> = config
        .services
        .iter()
        .map(|service| &service.kind)
        .collect();
    let [Kind::Clock, Kind::Http(kb), Kind::Mcp(crm)] = kinds.as_slice() else {
        panic!("{kinds:?}")
    };
    assert_eq!(kb.tools[0].timeout, DEFAULT_HTTP_TIMEOUT);
    assert_eq!(kb.tools[0].result_limit, Some(config.limits.service_result));
    assert_eq!(crm.timeout, DEFAULT_MCP_TIMEOUT);
    assert_eq!(crm.tools, [Glob::new("*")]);
    assert_eq!([&kb.prefix, &crm.prefix], ["", ""]);
    let traces = config.telemetry.traces.as_ref();
    let traces = traces.expect("the sample says where they go");
    assert_eq!(traces.sample.to_bits(), EVERY_TURN.to_bits());
    assert_eq!(traces.service, SERVICE);
    assert!(config.passthrough.is_some());
    assert!(config.server.tls.is_some());
    let Source::Http(http) = &config.upstreams[1].source else {
        panic!("openai is no endpoint")
    };
    assert_eq!(http.timeouts, Timeouts::default());
    assert_eq!(http.retries, DEFAULT_RETRIES);
    assert_eq!(http.auth, Auth::default());
    Ok(())
}

/// A line of the sample without the mark that makes a comment of it, if there is a
/// key or a section behind the mark that can stand beside what is there.
fn uncommented(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("# ") else {
        return line;
    };
    let is_key = rest.split_whitespace().nth(1) == Some("=");
    let alternative = rest.starts_with("instructions_file");
    if (is_key || rest.starts_with('[')) && !alternative {
        rest
    } else {
        line
    }
}
