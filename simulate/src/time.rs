//! Virtual time: whole picoseconds, so that sums are exact and every run gives the same digits.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A moment, or a length of time, in picoseconds. 64 bits hold 213 days; sums beyond that stay there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);
    /// The longest that can be told.
    pub const MAX: Self = Self(u64::MAX);

    /// So many picoseconds.
    #[must_use]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// So many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1_000))
    }

    /// So many microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000_000))
    }

    /// So many seconds, rounded to picoseconds; nothing when they are negative or no number.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Self {
        // The conversion ends at the bounds of the integer.
        Self((seconds * 1e12).round() as u64)
    }

    /// How long `bytes` take at so many bytes per second, rounded down; no time at all when there is no limit
    /// (`None`).
    ///
    /// ```
    /// use ringworld_simulate::Time;
    /// assert_eq!(Time::of_bytes(1000, Some(1_250_000_000)), Time::from_nanos(800));
    /// assert_eq!(Time::of_bytes(1000, None), Time::ZERO);
    /// ```
    #[must_use]
    pub fn of_bytes(bytes: u64, per_second: Option<u64>) -> Self {
        match per_second {
            None => Self::ZERO,
            Some(rate) => {
                let picos = u128::from(bytes) * 1_000_000_000_000 / u128::from(rate.max(1));
                Self(u64::try_from(picos).unwrap_or(u64::MAX))
            }
        }
    }

    /// In picoseconds.
    #[must_use]
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// In seconds, rounded.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Add for Time {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Never below zero.
impl Sub for Time {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Time {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

/// Four digits in the unit that suits, such as `20.00 us`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.pad("0"),
            1..1_000_000 => (1e3, "ns"),
            1_000_000..1_000_000_000 => (1e6, "us"),
            1_000_000_000..1_000_000_000_000 => (1e9, "ms"),
            _ => (1e12, "s"),
        };
        let value = self.0 as f64 / unit;
        let digits = match value {
            ..10.0 => 3,
            ..100.0 => 2,
            ..1000.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{value:.digits$} {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_the_unit_that_suits() {
        let shown = |picos| Time::from_picos(picos).to_string();
        assert_eq!(shown(0), "0");
        assert_eq!(shown(20_000_000), "20.00 us");
        assert_eq!(shown(123_456_789_000), "123.5 ms");
        assert_eq!(shown(5_000_000_000_000_000), "5000 s");
    }

    #[test]
    fn the_end_of_time_is_an_end_and_not_a_wrap() {
        assert_eq!(Time::MAX + Time::from_nanos(1), Time::MAX);
        assert_eq!(Time::of_bytes(u64::MAX, Some(1)), Time::MAX);
        assert_eq!(Time::ZERO - Time::from_nanos(1), Time::ZERO);
    }
}
