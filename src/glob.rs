//! Patterns over names, as operators write them: `*` stands for any characters or none,
//! everything else for itself, in the same case.

/// Whether `name` as a whole fits `pattern`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    // Taking the earliest place for each piece leaves the most for the next, so there is never a
    // reason to go back.
    for piece in middle.split('*') {
        let Some((_, after)) = name.split_once(piece) else {
            return false;
        };
        name = after;
    }
    name.ends_with(last)
}
