//! What is wrong with a configuration, all of it at once.

use std::cell::RefCell;

use thiserror::Error;

/// Everything that is wrong with a configuration.
///
/// `Display` gives one line per mistake, sorted by line, each with the file, the
/// line, the path of the key, what is wrong and what to write instead; then a line
/// with the count. Secrets are never part of it: of a value that came from the
/// environment it shows the placeholder, of a key nothing.
#[derive(Debug, Error)]
#[error("{}", self.render())]
pub struct Report {
    /// The file's name as it was given.
    file: String,
    mistakes: Vec<Finding>,
}

impl Report {
    /// A report on `file`; the mistakes may come in any order.
    pub(super) fn new(file: String, mut mistakes: Vec<Finding>) -> Self {
        // A stable sort: what concerns one line stays in the order of the checks.
        mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        Self { file, mistakes }
    }

    /// A report of one mistake that has no line.
    pub(super) fn single(file: &str, path: &str, text: String) -> Self {
        let mistake = Finding {
            line: None,
            column: None,
            path: path.to_owned(),
            text,
        };
        Self::new(file.to_owned(), vec![mistake])
    }

    /// How many mistakes there are; never 0.
    pub fn mistakes(&self) -> usize {
        self.mistakes.len()
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for mistake in &self.mistakes {
            text.push_str(&mistake.in_file(&self.file));
            text.push('\n');
        }
        let noun = if self.mistakes.len() == 1 {
            "mistake"
        } else {
            "mistakes"
        };
        text + &format!("{} {noun} in {}", self.mistakes.len(), self.file)
    }
}

/// One thing that the operator should know about one place of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Counted from 1; absent where the file as a whole is meant.
    pub(super) line: Option<usize>,
    /// Counted from 1 in characters; only for mistakes of syntax.
    pub(super) column: Option<usize>,
    /// The path of the key, such as `agents[0].upstream`; may be empty.
    pub(super) path: String,
    /// What is the matter and what to write instead.
    pub(super) text: String,
}

impl Finding {
    /// The finding as one line, without a line break at the end.
    pub(super) fn in_file(&self, file: &str) -> String {
        let mut place = vec![file.to_owned()];
        place.extend(
            [self.line, self.column]
                .into_iter()
                .flatten()
                .map(|number| number.to_string()),
        );
        let parts = [place.join(":"), self.path.clone(), self.text.clone()];
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ")
    }
}

/// Collects findings while a configuration is read. It is shared by all that read,
/// so that none of them has to stop at the first mistake or to pass mistakes up.
#[derive(Debug, Default)]
pub(super) struct Findings {
    mistakes: RefCell<Vec<Finding>>,
    warnings: RefCell<Vec<Finding>>,
}

impl Findings {
    /// Records what makes the configuration unusable.
    pub(super) fn mistake(&self, line: Option<usize>, path: &str, text: impl Into<String>) {
        let finding = Finding {
            line,
            column: None,
            path: path.to_owned(),
            text: text.into(),
        };
        self.mistakes.borrow_mut().push(finding);
    }

    /// Records what the operator should know although the configuration is usable.
    pub(super) fn warning(&self, line: usize, path: &str, text: impl Into<String>) {
        let finding = Finding {
            line: Some(line),
            column: None,
            path: path.to_owned(),
            text: text.into(),
        };
        self.warnings.borrow_mut().push(finding);
    }

    /// The warnings as lines for the operator, or the report if there is any
    /// mistake.
    pub(super) fn conclude(self, file: &str) -> Result<Vec<String>, Report> {
        let mistakes = self.mistakes.into_inner();
        if !mistakes.is_empty() {
            return Err(Report::new(file.to_owned(), mistakes));
        }
        let mut warnings = self.warnings.into_inner();
        warnings.sort_by_key(|warning| warning.line);
        Ok(warnings
            .iter()
            .map(|warning| warning.in_file(file))
            .collect())
    }
}

/// The end of a sentence that offers the candidate nearest to `word`, or nothing if
/// none is near: `; did you mean "openai"?`.
pub(super) fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
    quote: char,
) -> Option<String> {
    let word = word.to_lowercase();
    // A third of the word wrong is still a slip of the fingers; more is another word.
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!("; did you mean {quote}{candidate}{quote}?"))
}

/// The end of a sentence that offers the candidate nearest to `word`, or all of them:
/// `; there are "a" and "b"`. Empty if there are none.
pub(super) fn instead<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
    quote: char,
) -> String {
    did_you_mean(word, candidates.clone(), quote).unwrap_or_else(|| {
        let all = listed(candidates.clone(), quote);
        match candidates.into_iter().count() {
            0 => String::new(),
            1 => format!("; the only one is {all}"),
            _ => format!("; there are {all}"),
        }
    })
}

/// Candidates as a list: `"a", "b" and "c"`.
pub(super) fn listed<'c>(candidates: impl IntoIterator<Item = &'c str>, quote: char) -> String {
    let quoted: Vec<String> = candidates
        .into_iter()
        .map(|candidate| format!("{quote}{candidate}{quote}"))
        .collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `text` in quotes and short enough for one line, without control characters.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;

    let clean = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let short: String = text.chars().take(LONGEST).map(clean).collect();
    let more = if text.chars().count() > LONGEST {
        "..."
    } else {
        ""
    };
    format!("\"{short}{more}\"")
}
