//! Who gives its state to whom: a function of what all have, so that every rank finds the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Communicator;

/// What [`Communicator::share_state`] has found and done; the same on every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedState {
    /// The version that all ranks have now; `None` when nobody had a state.
    pub version: Option<u64>,
    /// The rank whose state it is: the lowest that had this version.
    pub source: Option<usize>,
    /// The ranks that had an older state.
    pub older: Vec<usize>,
    /// The ranks that had none.
    pub newcomers: Vec<usize>,
    /// A digest of the state: XXH3 (64 bits) over its bytes and lengths.
    pub digest: Option<u64>,
}

impl SharedState {
    /// Whether `rank` has been given the state by another.
    ///
    /// ```
    /// # let world = ringworld::testing::alone();
    /// let shared = world.share_state(&mut Some(3), &mut "state".to_owned(), &mut [])?;
    /// assert!(!shared.was_given_to(world.rank()));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn was_given_to(&self, rank: usize) -> bool {
        self.source.is_some() && (self.older.contains(&rank) || self.newcomers.contains(&rank))
    }
}

/// What a rank has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Offer {
    /// `None`: no state.
    pub(super) version: Option<u64>,
    /// Of the state.
    pub(super) digest: Option<u64>,
    /// Of each vector: the code of its elements, and their size.
    pub(super) elements: Vec<(u8, u64)>,
    /// Why its value cannot be written.
    pub(super) refusal: Option<String>,
}

/// Why nobody gives anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disagreement {
    /// A value cannot be written.
    Refused { rank: usize, why: String },
    /// Ranks give different kinds of vectors.
    Vectors { detail: String },
    /// Ranks have different states of the same version.
    Differ { detail: String },
}

pub(super) fn decide(offers: &[Offer]) -> Result<SharedState, Disagreement> {
    let ranks = || offers.iter().enumerate();
    if let Some((rank, why)) = ranks().find_map(|(rank, offer)| Some((rank, offer.refusal.clone()?))) {
        return Err(Disagreement::Refused { rank, why });
    }
    let first = offers.first().map(|offer| &offer.elements);
    if let Some((rank, other)) = ranks().find(|(_, offer)| Some(&offer.elements) != first) {
        let ours = first.map(Vec::as_slice).unwrap_or_default();
        let detail = format!(
            "rank 0 gives {}, but rank {rank} gives {}; all must give the same vectors in the same order",
            vectors(ours),
            vectors(&other.elements)
        );
        return Err(Disagreement::Vectors { detail });
    }
    let mut versions: BTreeMap<u64, BTreeMap<Option<u64>, Vec<usize>>> = BTreeMap::new();
    for (rank, offer) in ranks() {
        if let Some(version) = offer.version {
            versions.entry(version).or_default().entry(offer.digest).or_default().push(rank);
        }
    }
    // The newest first, where it matters most.
    if let Some((version, digests)) = versions.iter().rev().find(|(_, digests)| digests.len() > 1) {
        return Err(Disagreement::Differ { detail: differ(*version, digests) });
    }
    let version = versions.keys().next_back().copied();
    let source = ranks().find(|(_, offer)| version.is_some() && offer.version == version);
    let those = |wanted: &dyn Fn(Option<u64>) -> bool| {
        ranks().filter(|(_, offer)| wanted(offer.version)).map(|(rank, _)| rank).collect()
    };
    Ok(SharedState {
        version,
        source: source.map(|(rank, _)| rank),
        older: those(&|theirs| theirs.is_some() && theirs < version),
        newcomers: those(&|theirs| theirs.is_none()),
        digest: source.and_then(|(_, offer)| offer.digest),
    })
}

fn vectors(elements: &[(u8, u64)]) -> String {
    let each: Vec<_> =
        elements.iter().map(|(code, size)| format!("{size} bytes (type {code:02x})")).collect();
    match each.as_slice() {
        [] => "no vectors".to_owned(),
        each => format!("vectors of elements of {}", each.join(", ")),
    }
}

fn differ(version: u64, digests: &BTreeMap<Option<u64>, Vec<usize>>) -> String {
    // By the lowest rank that has it.
    let mut each: Vec<_> =
        digests.iter().map(|(digest, ranks)| (ranks, digest.unwrap_or_default())).collect();
    each.sort();
    let each: Vec<_> =
        each.iter().map(|(ranks, digest)| format!("{} {digest:016x}", ranks_in_words(ranks))).collect();
    format!(
        "the states of version {version} differ: {}; ranks that make the same steps must come to the same state, \
         bit for bit",
        each.join(", ")
    )
}

fn ranks_in_words(ranks: &[usize]) -> String {
    match ranks {
        [one] => format!("rank {one} has"),
        many => {
            let all: Vec<_> = many.iter().map(ToString::to_string).collect();
            format!("ranks {} have", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a version has the digest of that number, unless another is given.
    fn offers(versions: &[Option<u64>]) -> Vec<Offer> {
        let offer = |version: &Option<u64>| Offer { version: *version, digest: *version, ..Offer::default() };
        versions.iter().map(offer).collect()
    }

    #[test]
    fn the_lowest_of_the_newest_gives_to_all_others_whatever_the_order() {
        let choices = [None, Some(0), Some(1), Some(2), Some(u64::MAX)];
        for number in 0..choices.len().pow(4) {
            let versions: Vec<_> =
                (0..4).map(|rank| choices[number / choices.len().pow(rank) % choices.len()]).collect();
            let shared = decide(&offers(&versions)).unwrap();
            let newest = versions.iter().copied().max().flatten();
            assert_eq!((shared.version, shared.digest), (newest, newest), "{versions:?}");
            assert_eq!(
                shared.source,
                newest.and_then(|_| versions.iter().position(|it| *it == newest)),
                "{versions:?}"
            );
            for (rank, version) in versions.iter().enumerate() {
                let needs = newest.is_some() && *version != newest;
                assert_eq!(shared.was_given_to(rank), needs, "{versions:?}");
                assert_eq!(shared.newcomers.contains(&rank), version.is_none(), "{versions:?}");
                assert_eq!(shared.older.contains(&rank), needs && version.is_some(), "{versions:?}");
            }
        }
    }

    #[test]
    fn states_of_one_version_that_differ_are_named_with_their_ranks() {
        let mut offers = offers(&[Some(7), Some(7), None, Some(7), Some(6), Some(6)]);
        offers[1].digest = Some(0xbad);
        offers[5].digest = Some(0xdead);
        let expected = "the states of version 7 differ: ranks 0, 3 have 0000000000000007, rank 1 has \
                        0000000000000bad; ranks that make the same steps must come to the same state, bit for bit";
        assert_eq!(decide(&offers), Err(Disagreement::Differ { detail: expected.to_owned() }));
        // Also of a version that has been left behind: somebody has computed something else.
        offers[1].digest = Some(7);
        let Err(Disagreement::Differ { detail }) = decide(&offers) else { panic!("{offers:?}") };
        assert!(detail.contains("version 6 differ: rank 4 has 0000000000000006, rank 5 has"), "{detail}");
    }

    #[test]
    fn other_vectors_and_values_that_cannot_be_written_are_found_first() {
        let mut offers = offers(&[Some(7), Some(8), None]);
        offers[2].elements = vec![(10, 4), (3, 8)];
        let expected = "rank 0 gives no vectors, but rank 2 gives vectors of elements of 4 bytes (type 0a), 8 bytes \
                        (type 03); all must give the same vectors in the same order";
        assert_eq!(decide(&offers), Err(Disagreement::Vectors { detail: expected.to_owned() }));
        offers[1].refusal = Some("no".to_owned());
        assert_eq!(decide(&offers), Err(Disagreement::Refused { rank: 1, why: "no".to_owned() }));
    }
}
