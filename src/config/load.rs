//! Where a configuration comes from: the one part of this module that reads files.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use super::check::{check, exposure};
use super::outside::Outside;
use super::report::{Findings, Report};
use super::{Config, tree};

impl Config {
    /// Reads and checks the file at `path`. `env` says what the environment has for
    /// a name. Relative paths in the file start from the folder that it is in.
    ///
    /// # Errors
    ///
    /// A [`Report`] of all mistakes at once; of a file that cannot be read, or is no
    /// TOML, that alone.
    pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Report> {
        let file = path.display().to_string();
        let source = fs::read_to_string(path).map_err(|error| {
            let text = format!("cannot be read: {error}; name the file with --config FILE");
            Report::single(&file, "", text)
        })?;
        let outside = Outside {
            folder: path.parent().unwrap_or(Path::new("")),
            read: &|path| fs::read_to_string(path),
            is_file: &|path| path.is_file(),
        };
        let findings = Findings::default();
        let entries = tree::parse(&source, &file, env, &findings)?;
        let config = check(&entries, &outside, &findings);
        Ok(Self {
            warnings: findings.conclude(&file)?,
            ..config
        })
    }

    /// Listens on `address` instead of what the file says.
    ///
    /// # Errors
    ///
    /// A [`Report`] if other machines could then use the gateway without a key and
    /// the file does not say that this is meant.
    pub fn listen_on(mut self, address: SocketAddr) -> Result<Self, Report> {
        if let Some(text) = exposure(address, !self.keys.is_empty(), self.server.open) {
            return Err(Report::single("the command line", "--listen", text));
        }
        self.server.listen = address;
        Ok(self)
    }
}
