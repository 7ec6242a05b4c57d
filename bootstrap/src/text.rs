//! Texts of others: of bounded length, and fit to be printed.

/// Cuts a text to `limit` bytes, between characters.
pub(crate) fn clip(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
        text.truncate(end);
        // What is kept for long must not keep what was cut off.
        text.shrink_to_fit();
    }
    text
}

/// A text as it may be printed: of `limit` bytes at most, and without control characters.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let printable = text.chars().map(|c| if c.is_control() { '?' } else { c });
    clip(printable.take(limit).collect(), limit)
}
