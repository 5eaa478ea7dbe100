//! The gateway's process: command line, configuration, log, run, exit code.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use handback::cli::{self, Command};
use handback::config::{Config, Report};
use handback::keys;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let command = match cli::parse() {
        Ok(command) => command,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(cli::exit_code(&error));
        }
    };
    match command {
        Command::Check { config } => end(load(&config), |config| check(&config)),
        Command::Key { of } => match keys::make(&of, rand::random()) {
            Ok(key) => key
                .print()
                .map_or_else(|e| fail(&e, 1), |()| ExitCode::SUCCESS),
            Err(error) => fail(&error, cli::USAGE),
        },
        Command::Serve { config, listen } => {
            let config = load(&config).and_then(|config| match listen {
                Some(address) => config.listen_on(address),
                None => Ok(config),
            });
            end(config, serve)
        }
    }
}

fn load(path: &Path) -> Result<Config, Report> {
    Config::load(path, &cli::environment)
}

/// Goes on with a configuration that can be used; says what is wrong with another.
fn end(config: Result<Config, Report>, go_on: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    match config {
        Ok(config) => go_on(config),
        Err(report) => fail(&report, cli::USAGE),
    }
}

fn check(config: &Config) -> ExitCode {
    let mut out = std::io::stdout();
    for warning in &config.warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    match handback::check(config) {
        Ok(()) => {
            let _ = writeln!(out, "the configuration can be used");
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error, cli::USAGE),
    }
}

fn serve(config: Config) -> ExitCode {
    let log = handback::telemetry::log(cli::environment("HANDBACK_LOG").as_deref());
    let result = actix_web::rt::System::new().block_on(handback::run(config));
    log.flush();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, 1),
    }
}

fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::from(code)
}
