//! Durations and sizes as operators write them.

use std::time::Duration;

/// Reads `"250ms"`, `"10s"`, `"5m"` or `"2h"`: a whole number and a unit, nothing
/// between them. `None` if `text` is anything else; what is too long to count is as
/// long as can be counted.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.saturating_mul(milliseconds)))
}

/// Reads `"20MiB"`, `"512KiB"` or `"1MB"`: a whole number and a unit of bytes,
/// nothing between them. `None` if `text` is anything else; what is too large to
/// count is as large as can be counted.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let bytes: u64 = match unit {
        "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    Some(number.saturating_mul(bytes))
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let (digits, unit) = text.split_at_checked(end)?;
    // Digits only, so the one way to fail besides having none is to be too large.
    match digits {
        "" => None,
        _ => Some((digits.parse().unwrap_or(u64::MAX), unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("10s", 10_000),
            ("5m", 300_000),
            ("24h", 86_400_000),
            ("0s", 0),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in [
            "",
            "10",
            "s",
            "10 s",
            "-1s",
            "1.5s",
            "10S",
            "10 seconds",
            "1m30s",
            "10d",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
        assert_eq!(
            duration("99999999999999999999h"),
            Some(Duration::from_millis(u64::MAX))
        );
    }

    #[test]
    fn sizes_are_a_number_and_a_unit() {
        for (text, bytes) in [
            ("20MiB", 20 << 20),
            ("512KiB", 512 << 10),
            ("1MB", 1_000_000),
            ("7B", 7),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "20", "MiB", "20 MiB", "20mib", "1.5MB", "1M", "-1KB"] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(size("99999999999999GiB"), Some(u64::MAX));
    }
}
