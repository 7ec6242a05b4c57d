//! Sizes, times and rates as people write them, and back.

use std::time::Duration;

use ringworld_simulate::Time;

/// Bytes, optionally in units of 1024 (`K`), and so on up to `T`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let expected = "expected a number of bytes, such as 8, 64K, 1M or 2G (units of 1024)";
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let unit = text.chars().next_back().and_then(|last| {
        units.into_iter().find(|(name, _)| last.eq_ignore_ascii_case(name)).map(|(_, shift)| shift)
    });
    let digits = if unit.is_some() { text.get(..text.len() - 1) } else { Some(text) };
    let number = digits.and_then(|digits| digits.parse::<u64>().ok()).ok_or(expected)?;
    let bytes = number.checked_mul(1 << unit.unwrap_or(0));
    bytes.ok_or_else(|| format!("{text} is more bytes than any memory has; {expected}"))
}

/// A time to wait or to work: seconds, or a length with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds)
            .map_err(|_| "expected a length of time that is not negative, such as 90 or 1m30s".to_owned());
    }
    humantime::parse_duration(text)
        .map_err(|_| "expected seconds, or a length such as 500ms or 1m30s".to_owned())
}

/// A length of time with its unit.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    let expected = "expected a length of time with its unit, such as 20us, 1ms or 500ns";
    if text == "0" {
        return Ok(Time::ZERO);
    }
    let duration = humantime::parse_duration(text).map_err(|_| expected.to_owned())?;
    let nanos = u64::try_from(duration.as_nanos()).ok().filter(|nanos| *nanos <= 3_600_000_000_000);
    nanos.map(Time::from_nanos).ok_or_else(|| format!("{text} is more than an hour; {expected}"))
}

/// A rate in bits or bytes per second; decimal units, as networks are sold. `None`: without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) Option<u64>);

/// Reads `10Gbit/s`, `1.25GB/s`, `800Mb/s` or `none`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let expected = "expected a rate such as 10Gbit/s, 1.25GB/s or 800MB/s, or none for no limit";
    if text.eq_ignore_ascii_case("none") {
        return Ok(Rate(None));
    }
    let text = text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")).unwrap_or(text);
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or(expected)?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().map_err(|_| expected)?;
    let (scale, unit) = match unit.chars().next() {
        Some('k' | 'K') => (1e3, &unit[1..]),
        Some('M') => (1e6, &unit[1..]),
        Some('G') => (1e9, &unit[1..]),
        Some('T') => (1e12, &unit[1..]),
        _ => (1.0, unit),
    };
    let per = match unit {
        "B" => 1.0,
        "b" | "bit" | "bits" => 8.0,
        _ => return Err(expected.to_owned()),
    };
    let rate = number * scale / per;
    if !(1.0..1e18).contains(&rate) {
        return Err(format!("{text} per second is no rate of a network or a processor; {expected}"));
    }
    Ok(Rate(Some(rate.round() as u64)))
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("without limit"),
            Some(rate) if rate >= 1_000_000_000 => write!(f, "{} GB/s", rate as f64 / 1e9),
            Some(rate) => write!(f, "{} MB/s", rate as f64 / 1e6),
        }
    }
}

/// A size for people, with its unit: `1 byte`, `56 bytes`, `64 KiB`.
pub(crate) fn sized(bytes: u64) -> String {
    let short = short(bytes);
    match short.char_indices().next_back() {
        Some((end, unit)) if unit.is_ascii_alphabetic() => format!("{} {unit}iB", &short[..end]),
        _ if bytes == 1 => "1 byte".to_owned(),
        _ => format!("{short} bytes"),
    }
}

/// How many of something, in the singular or the plural.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Bytes in the largest unit that suits, with three digits at most: `64K`, `1.5M`.
pub(crate) fn short(bytes: u64) -> String {
    let units = [(50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let Some((shift, unit)) = units.into_iter().find(|(shift, _)| bytes >> shift > 0) else {
        return bytes.to_string();
    };
    let value = bytes as f64 / (1u64 << shift) as f64;
    let digits = if value.fract() == 0.0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_carry_a_unit() {
        for (text, seconds) in [("90", 90.0), ("0.5", 0.5), ("500ms", 0.5), ("1m30s", 90.0)] {
            assert_eq!(duration(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        for text in ["-1", "soon", "NaN", "inf", ""] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_take_binary_units_and_come_back() {
        for (text, expected) in
            [("8", 8), ("64K", 65_536), ("256m", 1 << 28), ("2G", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
            assert_eq!(short(expected).to_lowercase(), text.to_lowercase());
        }
        assert_eq!(short(1_500_000), "1.43M");
        assert_eq!(
            [0, 1, 56, 65_536, 1_500_000].map(sized),
            ["0 bytes", "1 byte", "56 bytes", "64 KiB", "1.43 MiB"]
        );
        assert_eq!([1, 2].map(|count| counted(count, "rank")), ["1 rank", "2 ranks"]);
        for text in ["", "K", "-8", "8 K", "1e9", "8é", "99999999999999G"] {
            assert!(bytes(text).unwrap_err().contains("expected a number"), "{text}");
        }
    }

    #[test]
    fn times_carry_a_unit_and_end_somewhere() {
        assert_eq!(time("20us"), Ok(Time::from_micros(20)));
        assert_eq!(time("0"), Ok(Time::ZERO));
        for text in ["", "20", "-1us", "soon", "2h"] {
            assert!(time(text).unwrap_err().contains("expected a length of time"), "{text}");
        }
    }

    #[test]
    fn rates_are_in_bits_or_bytes() {
        for text in ["10Gbit/s", "10Gbps", "1.25GB/s", "1250MB/s", "10Gb/s"] {
            assert_eq!(rate(text), Ok(Rate(Some(1_250_000_000))), "{text}");
        }
        assert_eq!(rate("none"), Ok(Rate(None)));
        assert_eq!(rate("10Gbit/s").unwrap().to_string(), "1.25 GB/s");
        for text in ["", "10", "fast", "0GB/s", "-1GB/s", "1GX/s", "1e30GB/s", "NaNGB/s"] {
            assert!(rate(text).unwrap_err().contains("expected a rate"), "{text}");
        }
    }
}
