//! Which link is slow: a pure function of the matrix.
//!
//! The *usual* rate is the upper quartile of all rates, which one slow host of three, or half of all links, do not
//! change. A direction below a part of it is slow. The slowest is looked at first, together with all that are about as
//! slow: where those are all links of a host, or all that it sends, or receives, that is said of the host and not of
//! each; else it is said of the pair, or of the one direction. Then what is left is looked at.

/// Directions are about as slow as the slowest when they are not faster than so many times it, or are nearer to it than
/// to what is not slow, as ratios: a link may let the first bytes of a short measurement through much faster.
const ALIKE: f64 = 4.0;

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// All that this one sends.
    Sends(usize),
    /// All that this one receives.
    Receives(usize),
    /// All links of this one.
    Host(usize),
    /// Both directions between two.
    Pair(usize, usize),
    /// From the first to the second, and not back.
    Direction(usize, usize),
}

/// Something slow, and how slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slow {
    pub(super) what: What,
    /// The median rate of what it is said of.
    pub(super) rate: f64,
    /// That of others.
    pub(super) usual: f64,
}

/// The slowest first. `rates[from][to]`, `None` where nothing is known; what is below `part` of the usual is slow.
pub(super) fn slow(rates: &[Vec<Option<f64>>], part: f64) -> Vec<Slow> {
    let known: Vec<(usize, usize, f64)> = rates
        .iter()
        .enumerate()
        .flat_map(|(from, row)| {
            row.iter().enumerate().filter_map(move |(to, rate)| Some((from, to, (*rate)?)))
        })
        .filter(|(from, to, _)| from != to)
        .collect();
    let Some(usual) = usual(known.iter().map(|(.., rate)| *rate)) else { return Vec::new() };
    let mut left: Vec<(usize, usize, f64)> =
        known.iter().filter(|(.., rate)| *rate < usual * part).copied().collect();
    left.sort_by(|one, other| one.2.total_cmp(&other.2));
    let mut found: Vec<What> = Vec::new();
    while let Some(&(from, to, least)) = left.first() {
        let limit = (least * ALIKE).max((least * usual * part).sqrt()).min(usual * part);
        let fits = |what: &What, fewest: usize| {
            let mut concerned = known.iter().filter(|(from, to, _)| what.concerns(*from, *to)).peekable();
            concerned.clone().count() >= fewest && concerned.all(|(.., rate)| *rate < limit)
        };
        let explains = |what: &What| left.iter().filter(|(from, to, _)| what.concerns(*from, *to)).count();
        let pair = What::Pair(from.min(to), from.max(to));
        let hosts = [What::Host(from), What::Host(to)].into_iter().filter(|what| fits(what, 3));
        let sides = [What::Sends(from), What::Receives(to)].into_iter().filter(|what| fits(what, 2));
        let links = Some(pair).into_iter().filter(|what| fits(what, 2));
        let all = hosts.chain(sides).chain(links).chain([What::Direction(from, to)]);
        // Of those that explain as much, the first.
        let best = all.rev().max_by_key(explains).unwrap_or(pair);
        left.retain(|(from, to, _)| !best.concerns(*from, *to));
        found.push(best);
    }
    let rate = |what: What| {
        let mut rates: Vec<f64> =
            known.iter().filter(|(from, to, _)| what.concerns(*from, *to)).map(|(.., rate)| *rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(usual)
    };
    let mut all: Vec<Slow> = found.into_iter().map(|what| Slow { what, rate: rate(what), usual }).collect();
    all.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    all
}

impl What {
    /// Whether it is said of this direction.
    pub(super) fn concerns(self, from: usize, to: usize) -> bool {
        match self {
            Self::Sends(host) => from == host,
            Self::Receives(host) => to == host,
            Self::Host(host) => from == host || to == host,
            Self::Pair(one, other) => (from, to) == (one, other) || (to, from) == (one, other),
            Self::Direction(sender, receiver) => (from, to) == (sender, receiver),
        }
    }
}

/// The upper quartile.
pub(super) fn usual(rates: impl Iterator<Item = f64>) -> Option<f64> {
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    let index = (3 * rates.len().checked_sub(1)?).div_ceil(4);
    rates.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many, all links at about 10 but the given ones.
    fn matrix(size: usize, others: &[(usize, usize, f64)]) -> Vec<Vec<Option<f64>>> {
        let rate = |from: usize, to: usize| {
            let other = others.iter().find(|(f, t, _)| (*f, *t) == (from, to)).map(|(.., rate)| *rate);
            (from != to).then(|| other.unwrap_or(10.0 + ((3 * from + to) % 5) as f64 / 5.0))
        };
        (0..size).map(|from| (0..size).map(|to| rate(from, to)).collect()).collect()
    }

    fn found(size: usize, others: &[(usize, usize, f64)]) -> Vec<What> {
        slow(&matrix(size, others), 0.5).into_iter().map(|slow| slow.what).collect()
    }

    fn all_of(host: usize, size: usize, sends: bool, receives: bool) -> Vec<(usize, usize, f64)> {
        let peers = (0..size).filter(move |peer| *peer != host);
        peers
            .flat_map(|peer| {
                let out = sends.then_some((host, peer, 1.0));
                out.into_iter().chain(receives.then_some((peer, host, 1.0)))
            })
            .collect()
    }

    #[test]
    fn a_network_whose_links_are_about_alike_has_no_slow_one() {
        for size in 0..9 {
            assert_eq!(found(size, &[]), [], "{size}");
        }
        assert_eq!(found(4, &[(0, 1, 6.0), (2, 3, 7.0)]), [], "more than half is not slow");
    }

    #[test]
    fn a_slow_pair_and_a_slow_direction_are_told_apart() {
        for size in 3..9 {
            assert_eq!(found(size, &[(0, 2, 1.0), (2, 0, 1.2)]), [What::Pair(0, 2)], "{size}");
            assert_eq!(found(size, &[(2, 0, 1.0)]), [What::Direction(2, 0)], "{size}");
        }
        assert_eq!(found(2, &[(1, 0, 1.0)]), [What::Direction(1, 0)]);
        let both = [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 0.5)];
        assert_eq!(found(5, &both), [What::Direction(2, 3), What::Pair(0, 1)], "the slowest first");
    }

    #[test]
    fn a_host_whose_links_are_all_slow_is_named_and_its_links_are_not() {
        for size in 3..9 {
            for host in 0..size {
                assert_eq!(found(size, &all_of(host, size, true, true)), [What::Host(host)], "{size}");
                assert_eq!(found(size, &all_of(host, size, true, false)), [What::Sends(host)], "{size}");
                assert_eq!(found(size, &all_of(host, size, false, true)), [What::Receives(host)], "{size}");
            }
        }
        let mut links = all_of(1, 6, true, false);
        links.extend([(3, 4, 2.0), (4, 3, 2.0)]);
        assert_eq!(found(6, &links), [What::Sends(1), What::Pair(3, 4)]);
        let two: Vec<_> = [all_of(1, 6, true, true), all_of(4, 6, true, true)].concat();
        assert_eq!(found(6, &two), [What::Host(1), What::Host(4)]);
    }

    #[test]
    fn a_very_slow_link_of_a_host_that_is_somewhat_slow_is_told_apart() {
        // As it was measured on a busy machine.
        let links = [(1, 3, 0.01), (3, 1, 0.01), (3, 0, 4.3), (3, 2, 4.9)];
        assert_eq!(found(4, &links), [What::Pair(1, 3), What::Sends(3)]);
    }

    #[test]
    fn links_of_a_slow_host_that_differ_are_alike_beside_those_of_others() {
        // As it was measured on a busy machine: a token bucket that one of three found full.
        let links = [(2, 0, 0.0204), (2, 1, 0.00628), (2, 3, 0.00508)];
        assert_eq!(found(4, &links), [What::Sends(2)]);
    }

    #[test]
    fn rates_are_told_with_what_is_usual() {
        let slow = slow(&matrix(4, &all_of(2, 4, true, false)), 0.5);
        assert_eq!(slow.len(), 1);
        assert_eq!(slow[0].rate, 1.0);
        assert!((10.0..11.0).contains(&slow[0].usual));
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let mut rates = matrix(4, &all_of(2, 4, true, true));
        rates[2].fill(None);
        rates.iter_mut().for_each(|row| row[2] = None);
        assert_eq!(slow(&rates, 0.5), []);
        assert_eq!(slow(&vec![vec![None; 3]; 3], 0.5), []);
    }
}
