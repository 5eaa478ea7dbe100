//! The command line, and the environment beside it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::keys::KeyOf;

/// The exit code for a command line or a configuration that cannot be used (`EX_USAGE`
/// of sysexits).
pub const USAGE: u8 = 64;

/// What the process is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Say everything that is wrong with the configuration, and end.
    Check {
        /// The configuration, default `gateway.toml` in the current folder.
        config: PathBuf,
    },
    /// Print a new key.
    Key {
        /// Whose, or what for.
        of: KeyOf,
    },
    /// Run the gateway.
    Serve {
        /// The configuration, default `gateway.toml` in the current folder.
        config: PathBuf,
        /// Where to listen instead of where the configuration says.
        listen: Option<SocketAddr>,
    },
}

/// Reads the command line of the process.
///
/// # Errors
///
/// What clap has to say, `--help` and `--version` included. Print it with
/// [`clap::Error::print`] and end with [`exit_code`].
pub fn parse() -> Result<Command, clap::Error> {
    parse_from(std::env::args_os())
}

/// Reads a command line, of which the first item is the name of the program.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_from<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Command, clap::Error> {
    let line = Line::try_parse_from(arguments)?;
    Ok(match line.action {
        Some(Action::Check(Check { config })) => Command::Check { config },
        Some(Action::Key(Key { name, .. })) => Command::Key {
            of: name.map_or(KeyOf::Continuations, KeyOf::Caller),
        },
        Some(Action::Serve(Serve { config, listen })) => Command::Serve { config, listen },
        None => Command::Serve {
            config: line.serve.config,
            listen: line.serve.listen,
        },
    })
}

/// The exit code after `error` has been printed: 0 if the operator asked for what it
/// says (`--help`), else [`USAGE`].
pub fn exit_code(error: &clap::Error) -> u8 {
    if error.use_stderr() { USAGE } else { 0 }
}

/// The value of an environment variable; absent too if it is not Unicode.
#[expect(
    clippy::disallowed_methods,
    reason = "this is what `main` hands to the configuration"
)]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// OpenAI-compatible gateway for agents that have tools of their own
#[derive(Parser)]
#[command(name = "handback", version, args_conflicts_with_subcommands = true)]
struct Line {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Action {
    /// Run the gateway (what happens without a command, too)
    Serve(Serve),
    /// Say everything that is wrong with the configuration
    Check(Check),
    /// Print a new key, and the lines of the configuration that it belongs to
    Key(Key),
}

#[derive(Args)]
struct Serve {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "gateway.toml")]
    config: PathBuf,
    /// Where to listen instead of where the configuration says; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

#[derive(Args)]
struct Check {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "gateway.toml")]
    config: PathBuf,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Key {
    /// What the caller is called, in the configuration, in logs and in metrics
    name: Option<String>,
    /// Print a key that seals continuations instead
    #[arg(long)]
    continuation: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(config: &str, listen: Option<&str>) -> Command {
        let listen = listen.map(|address| address.parse().unwrap());
        Command::Serve {
            config: config.into(),
            listen,
        }
    }

    #[test]
    fn serving_is_what_happens_without_a_command() {
        for (arguments, command) in [
            (&[][..], serve("gateway.toml", None)),
            (&["serve"], serve("gateway.toml", None)),
            (&["--config", "x.toml"], serve("x.toml", None)),
            (
                &["--listen", "[::1]:0"],
                serve("gateway.toml", Some("[::1]:0")),
            ),
            (
                &["serve", "--config=x.toml", "--listen", "127.0.0.1:1"],
                serve("x.toml", Some("127.0.0.1:1")),
            ),
            (
                &["check"],
                Command::Check {
                    config: "gateway.toml".into(),
                },
            ),
            (
                &["check", "--config", "x.toml"],
                Command::Check {
                    config: "x.toml".into(),
                },
            ),
            (
                &["key", "desk"],
                Command::Key {
                    of: KeyOf::Caller("desk".into()),
                },
            ),
            (
                &["key", "--continuation"],
                Command::Key {
                    of: KeyOf::Continuations,
                },
            ),
        ] {
            let line = ["handback"].iter().chain(arguments);
            assert_eq!(parse_from(line).unwrap(), command, "{arguments:?}");
        }
    }

    #[test]
    fn a_wrong_command_line_exits_with_64_and_help_with_0() {
        for (arguments, code) in [
            (&["--nonsense"][..], 64),
            (&["nonsense"], 64),
            (&["--listen", "8080"], 64),
            (&["check", "--listen", "127.0.0.1:1"], 64),
            (&["key"], 64),
            (&["key", "desk", "--continuation"], 64),
            (&["--help"], 0),
            (&["--version"], 0),
        ] {
            let line = ["handback"].iter().chain(arguments);
            assert_eq!(
                exit_code(&parse_from(line).unwrap_err()),
                code,
                "{arguments:?}"
            );
        }
    }
}
