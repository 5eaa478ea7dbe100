//! One source file as the rules see it: its text, its code without comments, strings and tests,
//! and the paths of the crate that it names.
//!
//! This reads text, not types: a macro or a re-export can slip by.

/// A file and three views of it. Every view has the lines of the text, so that a place in one is
/// a place in all.
#[derive(Clone)]
pub(crate) struct Source {
    /// From the project's folder, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
    /// What is compiled outside tests; comments and what is inside strings are blank.
    pub(crate) code: String,
    /// The rest of the code: `cfg(test)` items of `src`, everything elsewhere.
    pub(crate) tests: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let all = without_comments_and_strings(text);
        let product = path.starts_with("src/") && !path.contains("/tests/");
        let kept = product.then(|| without_tests(&all));
        let code: String = kept.unwrap_or_else(|| all.chars().map(blank).collect());
        let tests = all
            .chars()
            .zip(code.chars())
            .map(|(all, code)| if code == all { blank(all) } else { all })
            .collect();
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            tests,
        }
    }

    /// Whether it is part of the crate, tests in folders of their own left out.
    pub(crate) fn is_product(&self) -> bool {
        self.path.starts_with("src/") && !self.path.contains("/tests/")
    }

    /// The folder or file directly below `src`, without `.rs`.
    pub(crate) fn layer(&self) -> Option<&str> {
        let below = self.path.strip_prefix("src/")?;
        Some(below.split('/').next()?.trim_end_matches(".rs"))
    }

    /// The parts of its path as a module: `src/turn/mod.rs` is `turn`.
    fn module(&self) -> Vec<&str> {
        let below = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let mut parts: Vec<&str> = below.trim_end_matches(".rs").split('/').collect();
        if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
            parts.pop();
        }
        parts
    }

    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }

    /// The place of a byte, as compilers write it.
    pub(crate) fn place(&self, view: &str, at: usize) -> String {
        let line = view.get(..at).unwrap_or("").matches('\n').count() + 1;
        format!("{}:{line}", self.path)
    }

    /// Every path of the crate that the code names by `crate::` or `super::`, with where it
    /// stands: `crate::wire::{Raw, chunk::DONE}` is `wire::Raw` and `wire::chunk::DONE`.
    pub(crate) fn crate_paths(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("crate::") {
            if !joins_word(&self.code, at) {
                expand(&self.code[at + "crate::".len()..], "", at, &mut found);
            }
        }
        for (at, _) in self.code.match_indices("super::") {
            if joins_word(&self.code, at) || self.code[..at].ends_with("super::") {
                continue;
            }
            let mut rest = &self.code[at..];
            let mut module = self.module();
            while let Some(outside) = rest.strip_prefix("super::") {
                module.pop();
                rest = outside;
            }
            expand(rest, &module.join("::"), at, &mut found);
        }
        found
    }
}

/// Where `word` stands in `code` as a word of its own; it may be a path such as `std::env`.
pub(crate) fn find_word(code: &str, word: &str) -> Option<usize> {
    let ends = |at: usize| {
        !code[at + word.len()..]
            .chars()
            .next()
            .is_some_and(is_word_part)
    };
    code.match_indices(word)
        .map(|(at, _)| at)
        .find(|&at| !joins_word(code, at) && ends(at))
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the word at `at` began earlier.
fn joins_word(code: &str, at: usize) -> bool {
    code[..at].chars().next_back().is_some_and(is_word_part)
}

fn blank(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

/// Reads a path or a tree of imports behind `base`.
fn expand(text: &str, base: &str, at: usize, found: &mut Vec<(usize, String)>) {
    let text = text.trim_start();
    let joined = |name: &str| match (base, name) {
        (_, "" | "self") => base.to_owned(),
        ("", name) => name.to_owned(),
        (base, name) => format!("{base}::{name}"),
    };
    if let Some(inside) = text.strip_prefix('{') {
        for part in parts_of_group(inside) {
            expand(part, base, at, found);
        }
        return;
    }
    let end = text.find(|c| !is_word_part(c)).unwrap_or(text.len());
    let path = joined(&text[..end]);
    match text[end..].strip_prefix("::") {
        Some(rest) => expand(rest, &path, at, found),
        None => found.push((at, path)),
    }
}

/// The parts between the commas of a group, up to its closing brace.
fn parts_of_group(inside: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                parts.push(&inside[from..at]);
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// The code with every `cfg(test)` item blank.
fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(at) = out.find("#[cfg(test)]") {
        let end = at + end_of_item(&out[at..]);
        let blanked: String = out[at..end].chars().map(blank).collect();
        out.replace_range(at..end, &blanked);
    }
    out
}

/// Where an item ends: at its semicolon, or at the brace that closes its first one.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Blanks comments and what stands inside string and character literals. Every blanked character
/// is one blank, so lines and the order of things stay.
fn without_comments_and_strings(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_quiet(&chars, at);
        if end > at {
            out.extend(chars[at..end].iter().copied().map(blank));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment or literal that begins at `at` ends; `at` itself if there is none.
fn end_of_quiet(chars: &[char], at: usize) -> usize {
    let is = |from: usize, text: &str| {
        text.chars()
            .enumerate()
            .all(|(nth, c)| chars.get(from + nth) == Some(&c))
    };
    let until = |from: usize, text: &str| {
        let found = (from..chars.len()).find(|&from| is(from, text));
        found.map_or(chars.len(), |found| found + text.chars().count())
    };
    let word_before = at > 0 && is_word_part(chars[at - 1]);
    match chars[at] {
        '/' if is(at, "//") => until(at, "\n") - 1,
        '/' if is(at, "/*") => until(at, "*/"),
        '"' => end_of_string(chars, at),
        'r' if !word_before || chars[at - 1] == 'b' => {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            if chars.get(at + 1 + hashes) == Some(&'"') {
                until(at + 2 + hashes, &format!("\"{}", "#".repeat(hashes)))
            } else {
                at
            }
        }
        '\'' if is(at + 1, "\\") => until(at + 3, "'"),
        '\'' if is(at + 2, "'") => at + 3,
        _ => at,
    }
}

fn end_of_string(chars: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != '"' {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(chars.len())
}
