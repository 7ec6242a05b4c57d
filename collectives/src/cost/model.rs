//! The prices that a network and a processor ask.

/// What a network and a processor cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Seconds for a message, however short.
    pub alpha: f64,
    /// Seconds for each byte that is sent.
    pub beta: f64,
    /// Seconds for each byte that is reduced.
    pub gamma: f64,
    /// `alpha` and `beta` between ranks that share a host; `None`: as between any two.
    pub inside: Option<(f64, f64)>,
}

impl Model {
    /// The prices between ranks that share a host.
    pub(super) fn inside(self) -> Self {
        self.inside.map_or(self, |(alpha, beta)| Self { alpha, beta, ..self })
    }
}

/// Ten gigabits per second between hosts, 20 microseconds away from each other, that reduce 10 GB/s.
impl Default for Model {
    fn default() -> Self {
        Self { alpha: 20e-6, beta: 1.0 / 1.25e9, gamma: 1.0 / 10e9, inside: None }
    }
}
