//! What ranks tell one another by way of the master: about themselves when they join, and while they measure.
//!
//! Invariant: what comes from another rank is checked before it is used or printed: lengths, numbers, names.

use std::net::IpAddr;

use ringworld_bootstrap::{Interface, Member, Settings, interfaces};
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// The name under which a rank publishes its [`Facts`], beside which a world would have those of transports.
pub(super) const NAME: &str = "check";
/// Bytes of a reason that are told; the rest is cut.
const REASON: usize = 2000;
/// Interfaces and transports of a rank that are believed.
const MOST: usize = 256;

/// What a rank says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Interfaces that carry traffic, as `eth0 10.0.0.1/24`.
    pub(super) interfaces: Vec<String>,
    /// Transports that the settings allow, best first; why one cannot be used here.
    pub(super) transports: Vec<(String, Option<String>)>,
    /// Files that a process may open at most (the hard limit, to which worlds raise the other); `None`: any number.
    pub(super) files: Option<u64>,
    /// Bytes that a process may lock in memory; `None`: any number.
    pub(super) locked: Option<u64>,
}

impl Facts {
    /// Of this process, whose transports have been tried out.
    pub(super) fn here(
        settings: &Settings,
        local: &[IpAddr],
        transports: &[(&'static str, Result<(), String>)],
    ) -> Self {
        let found = interfaces::enumerate().unwrap_or_default();
        let carries = |interface: &&Interface| local.contains(&interface.addr);
        let interfaces = match &settings.advertise[..] {
            [] => found.iter().filter(carries).map(ToString::to_string).collect(),
            others => others.iter().map(|address| format!("advertised {address}")).collect(),
        };
        let clipped = |why: &String| printable(why);
        Self {
            interfaces,
            transports: transports
                .iter()
                .map(|(name, open)| ((*name).to_owned(), open.as_ref().err().map(clipped)))
                .collect(),
            files: getrlimit(Resource::Nofile).maximum,
            locked: getrlimit(Resource::Memlock).current,
        }
    }

    /// As they are published.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Of strings and numbers, which can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Those that a member has published; `None` when it is no `ringworld check`.
    pub(super) fn of(member: &Member) -> Option<Self> {
        let (_, bytes) = member.addresses.iter().find(|(name, _)| name == NAME)?;
        let facts: Self = serde_json::from_slice(bytes).ok()?;
        let fits = facts.interfaces.len() <= MOST && facts.transports.len() <= MOST;
        fits.then(|| Self {
            interfaces: facts.interfaces.iter().map(|text| printable(text)).collect(),
            transports: facts
                .transports
                .iter()
                .map(|(name, why)| (printable(name), why.as_deref().map(printable)))
                .collect(),
            ..facts
        })
    }

    /// Whether this transport can be used there.
    pub(super) fn has(&self, transport: &str) -> bool {
        self.transports.iter().any(|(name, against)| name == transport && against.is_none())
    }
}

/// Cut to what may be told, and fit to be printed on one line.
pub(super) fn printable(text: &str) -> String {
    let mut length = 0;
    let fits = |c: &char| {
        length += c.len_utf8();
        length <= REASON
    };
    text.chars().take_while(fits).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What came out for a pair and a transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Found {
    /// It works, so fast.
    Measured(Measured),
    /// The two could never use it, and why: such as shared memory that is not shared.
    NoRoute(String),
    /// They could, and it does not work: why.
    Failed(String),
}

/// How fast a pair is; *there* is from the lower rank to the higher.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Half of the median round trip of 8 bytes, in seconds.
    pub(super) latency_s: f64,
    /// Bytes per second.
    pub(super) there_bytes_per_s: f64,
    /// Bytes per second.
    pub(super) back_bytes_per_s: f64,
    /// The higher rank's clock less the lower's, in seconds.
    pub(super) clock_offset_s: f64,
    /// By how much that may be wrong at most: half of the shortest round trip.
    pub(super) clock_error_s: f64,
}

impl Measured {
    /// The better of two measurements, number by number: what else goes on makes a link slower and never faster.
    fn or(self, other: Self) -> Self {
        let closer = if other.clock_error_s < self.clock_error_s { other } else { self };
        Self {
            latency_s: self.latency_s.min(other.latency_s),
            there_bytes_per_s: self.there_bytes_per_s.max(other.there_bytes_per_s),
            back_bytes_per_s: self.back_bytes_per_s.max(other.back_bytes_per_s),
            ..closer
        }
    }
}

impl Found {
    /// What is known after the same has been measured once more.
    pub(super) fn and(self, again: Self) -> Self {
        match (self, again) {
            (Self::Measured(one), Self::Measured(other)) => Self::Measured(one.or(other)),
            (first, _) => first,
        }
    }

    /// What another rank says, made fit to be printed and reckoned with.
    pub(super) fn checked(self) -> Self {
        match self {
            Self::Measured(it) => {
                let positive = [it.latency_s, it.there_bytes_per_s, it.back_bytes_per_s];
                let sound = positive.iter().all(|number| number.is_finite() && *number > 0.0)
                    && it.clock_offset_s.is_finite()
                    && it.clock_error_s.is_finite();
                let nonsense =
                    || Self::Failed(format!("the rank that measured it said what cannot be: {it:?}"));
                if sound { Self::Measured(it) } else { nonsense() }
            }
            Self::NoRoute(why) => Self::NoRoute(printable(&why)),
            Self::Failed(why) => Self::Failed(printable(&why)),
        }
    }
}

/// From one rank to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Word {
    /// Where the sender is reached for this step; or why it is not.
    Offer { step: u64, offer: Result<Vec<u8>, String> },
    /// To rank 0: what came out of a step.
    Found { step: u64, found: Found },
    /// To rank 0: that was all.
    Done,
    /// From rank 0: this step once more, while nobody else measures.
    Again { step: u64 },
    /// From rank 0: all is over; how it went.
    End { well: bool },
}

impl Word {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Of strings and numbers, which can always be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_as_they_were_said_and_nothing_else_does() {
        let measured = Measured {
            latency_s: 1.25e-5,
            there_bytes_per_s: 1.17e8,
            back_bytes_per_s: 0.3,
            clock_offset_s: -2.5e-3,
            clock_error_s: 1e-6,
        };
        let words = [
            Word::Offer { step: 7, offer: Ok(vec![0, 255]) },
            Word::Offer { step: u64::MAX, offer: Err("no".into()) },
            Word::Found { step: 1, found: Found::Measured(measured) },
            Word::Found { step: 2, found: Found::NoRoute("é".into()) },
            Word::Done,
            Word::Again { step: 3 },
            Word::End { well: false },
        ];
        for word in words {
            assert_eq!(Word::from_bytes(&word.to_bytes()), Some(word));
        }
        assert_eq!(Word::from_bytes(b"{\"Offer\":{\"step\":-1}}"), None);
        assert_eq!(Word::from_bytes(&[0xff; 9]), None);
    }

    #[test]
    fn numbers_that_cannot_be_are_not_believed() {
        let measured = Measured {
            latency_s: 1e-5,
            there_bytes_per_s: 1e8,
            back_bytes_per_s: 1e8,
            clock_offset_s: 0.0,
            clock_error_s: 1e-6,
        };
        assert_eq!(Found::Measured(measured).checked(), Found::Measured(measured));
        for wrong in [
            Measured { latency_s: -1.0, ..measured },
            Measured { there_bytes_per_s: f64::INFINITY, ..measured },
            Measured { back_bytes_per_s: 0.0, ..measured },
            Measured { clock_offset_s: f64::NAN, ..measured },
        ] {
            assert!(matches!(Found::Measured(wrong).checked(), Found::Failed(_)), "{wrong:?}");
        }
    }

    #[test]
    fn of_two_measurements_the_better_numbers_count() {
        let numbers = |latency_s, there_bytes_per_s, back_bytes_per_s, clock_offset_s, clock_error_s| {
            Found::Measured(Measured {
                latency_s,
                there_bytes_per_s,
                back_bytes_per_s,
                clock_offset_s,
                clock_error_s,
            })
        };
        let (one, other) = (numbers(1e-5, 1e8, 3e8, 0.1, 1e-6), numbers(2e-5, 2e8, 2e8, 0.2, 1e-7));
        assert_eq!(one.clone().and(other), numbers(1e-5, 2e8, 3e8, 0.2, 1e-7));
        assert_eq!(one.clone().and(Found::Failed("late".into())), one);
    }

    #[test]
    fn reasons_are_cut_and_stay_on_their_line() {
        assert_eq!(printable("a\nb\u{1b}[31m"), "a b [31m");
        assert_eq!(printable(&"é".repeat(5000)).len(), REASON);
    }
}
