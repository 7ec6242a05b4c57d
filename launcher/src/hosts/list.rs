//! Which hosts there are, and which of them starts which ranks. Pure: the words of `--hosts` and of a host file in,
//! hosts with their ranks out.
//!
//! Ranks are given out in the order of the hosts, as many to each as it has slots, so that neighbours share a host. The
//! forms are those of Open MPI: `a:4,b:4` on the command line, `a slots=4` in a file; a host that is named again has
//! the slots of both.

/// Hosts, and how many ranks each may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots(Vec<(String, usize)>);

/// Ranks of one host: so many, from this one on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) host: String,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// More ranks than that are a typing error.
const MOST: usize = 1 << 24;

impl Slots {
    fn add(&mut self, host: String, slots: usize) -> Result<(), String> {
        let sum = self.0.iter().map(|(_, slots)| slots).sum::<usize>();
        if slots > MOST - sum.min(MOST) {
            return Err(format!("more than {MOST} ranks in all"));
        }
        match self.0.iter_mut().find(|(known, _)| *known == host) {
            Some((_, known)) => *known += slots,
            None => self.0.push((host, slots)),
        }
        Ok(())
    }

    /// Those of `a:4,b:4`.
    ///
    /// # Errors
    ///
    /// What was given instead, and what was expected.
    pub(crate) fn of_list(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for word in text.split(',') {
            let (host, slots) = entry(word.trim())?;
            all.add(host, slots.unwrap_or(1))?;
        }
        Ok(all)
    }

    /// Those of a file's text.
    ///
    /// # Errors
    ///
    /// The number of the line, from 1, and what is wrong there; line 0 where it is the whole.
    pub(crate) fn of_file(text: &str) -> Result<Self, (usize, String)> {
        let mut all = Self::default();
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(first) = words.next() else { continue };
            let added = of_line(first, words).and_then(|(host, slots)| all.add(host, slots));
            added.map_err(|why| (number + 1, why))?;
        }
        if all.0.is_empty() {
            return Err((0, "it names no host; expected lines such as `n0 slots=4`".to_owned()));
        }
        Ok(all)
    }

    /// Which host has which of `ranks`, or as many as there is room for; hosts without any are left out.
    ///
    /// # Errors
    ///
    /// When there is no room for so many.
    pub(crate) fn share(&self, ranks: Option<usize>) -> Result<Vec<Share>, String> {
        let room: usize = self.0.iter().map(|(_, slots)| slots).sum();
        let ranks = ranks.unwrap_or(room);
        if ranks > room {
            let hosts: Vec<String> = self.0.iter().map(|(host, slots)| format!("{host}:{slots}")).collect();
            return Err(format!(
                "{ranks} ranks are asked for, and there is room for {room} ({}); start fewer, or say how many each \
                 host may have: --hosts HOST:N, or slots=N in the file",
                hosts.join(", ")
            ));
        }
        let mut shares = Vec::new();
        let mut first = 0;
        for (host, slots) in &self.0 {
            let count = (ranks - first).min(*slots);
            if count > 0 {
                shares.push(Share { host: host.clone(), first, count });
            }
            first += count;
        }
        Ok(shares)
    }
}

/// How many hosts there are, if all have as many ranks.
pub(crate) fn alike(shares: &[Share]) -> Option<usize> {
    let first = shares.first()?.count;
    shares.iter().all(|share| share.count == first).then_some(shares.len())
}

/// A line of a file, without its comment.
fn of_line<'a>(first: &str, words: impl Iterator<Item = &'a str>) -> Result<(String, usize), String> {
    let (host, mut slots) = entry(first)?;
    let mut most = None;
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            format!("{word:?} is not understood; expected `{host} slots=4`, without blanks around `=`")
        })?;
        let number = count(value).ok_or_else(|| format!("{word}: expected a number, 1 or more"))?;
        let said = match key {
            "slots" => &mut slots,
            "max_slots" | "max-slots" => &mut most,
            _ => return Err(format!("{word:?} is not understood; expected slots=N or max_slots=N")),
        };
        if said.replace(number).is_some() {
            return Err(format!("the slots of {host} are said twice"));
        }
    }
    let slots = slots.unwrap_or(1);
    if let Some(most) = most.filter(|most| *most < slots) {
        return Err(format!("{host} has slots={slots}, which is more than max_slots={most}"));
    }
    Ok((host, slots))
}

/// `host` or `host:4`; an IPv6 address with a number stands in brackets.
fn entry(text: &str) -> Result<(String, Option<usize>), String> {
    let expected = "expected HOST or HOST:N, such as n0:4 or [2001:db8::1]:4";
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, after) =
            rest.split_once(']').ok_or_else(|| format!("{text:?}: the bracket is not closed; {expected}"))?;
        if inner.parse::<std::net::Ipv6Addr>().is_err() {
            return Err(format!("{inner:?} is no IPv6 address; {expected}"));
        }
        let slots = match after.strip_prefix(':') {
            Some(number) => {
                Some(count(number).ok_or_else(|| format!("{text:?} has no number of ranks; {expected}"))?)
            }
            None if after.is_empty() => None,
            None => return Err(format!("{text:?} is not understood; {expected}")),
        };
        return Ok((inner.to_owned(), slots));
    }
    let (host, slots) = match text.split_once(':') {
        Some((_, number)) if number.contains(':') => {
            return Err(format!("{text:?}: an IPv6 address must stand in brackets; {expected}"));
        }
        Some((host, number)) => {
            let slots = count(number)
                .ok_or_else(|| format!("{text:?} has no number of ranks, 1 or more; {expected}"))?;
            (host, Some(slots))
        }
        None => (text, None),
    };
    if host.is_empty() {
        return Err(format!("the name of a host is missing; {expected}"));
    }
    // Commands such as ssh would take it for an option of theirs.
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if host.starts_with('-') || host.contains(strange) {
        return Err(format!("{host:?} is no name of a host; {expected}"));
    }
    Ok((host.to_owned(), slots))
}

fn count(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| (1..=MOST).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(all: &[(&str, usize)]) -> Slots {
        Slots(all.iter().map(|(host, slots)| ((*host).to_owned(), *slots)).collect())
    }

    #[test]
    fn a_list_has_hosts_with_and_without_numbers() {
        assert_eq!(Slots::of_list("a:4,b").unwrap(), slots(&[("a", 4), ("b", 1)]));
        assert_eq!(Slots::of_list("a, user@b:2 ,a").unwrap(), slots(&[("a", 2), ("user@b", 2)]));
        assert_eq!(Slots::of_list("[::1]:2,[fe80::1]").unwrap(), slots(&[("::1", 2), ("fe80::1", 1)]));
        for wrong in
            ["", ",", "a:", "a:0", "a:x", "a:-1", ":4", "a:4:5", "-oProxyCommand=x", "a b", "[::1", "[x]:1"]
        {
            let told = Slots::of_list(wrong).unwrap_err();
            assert!(told.contains("expected HOST"), "{wrong:?}: {told}");
        }
        assert!(Slots::of_list("a:16777216,b").unwrap_err().contains("more than 16777216"));
    }

    #[test]
    fn a_file_is_read_as_open_mpi_reads_it() {
        let text = "# two hosts\n\n n0 slots=4 # fat\nn1\tmax_slots=2\nn1\nn2:3\r\n";
        assert_eq!(Slots::of_file(text).unwrap(), slots(&[("n0", 4), ("n1", 2), ("n2", 3)]));
    }

    #[test]
    fn what_a_file_says_wrong_is_told_with_its_line() {
        for (text, line, part) in [
            ("", 0, "names no host"),
            ("# only this\n", 0, "names no host"),
            ("a\nb slots=x\n", 2, "slots=x: expected a number"),
            ("a slots = 4", 1, "without blanks around"),
            ("a cpus=4", 1, "expected slots=N"),
            ("a:2 slots=4", 1, "said twice"),
            ("a slots=4 max_slots=2", 1, "more than max_slots=2"),
            ("a\n\n-v", 3, "no name of a host"),
        ] {
            let (at, told) = Slots::of_file(text).unwrap_err();
            assert!(at == line && told.contains(part), "{text:?}: {at}: {told}");
        }
    }

    #[test]
    fn ranks_fill_one_host_after_the_other() {
        let hosts = slots(&[("a", 4), ("b", 4), ("c", 1)]);
        let shared = |ranks| {
            let shares = hosts.share(ranks).unwrap();
            shares.iter().map(|share| (share.host.clone(), share.first, share.count)).collect::<Vec<_>>()
        };
        let of = |all: &[(&str, usize, usize)]| {
            all.iter().map(|(host, first, count)| ((*host).to_owned(), *first, *count)).collect::<Vec<_>>()
        };
        assert_eq!(shared(None), of(&[("a", 0, 4), ("b", 4, 4), ("c", 8, 1)]));
        assert_eq!(shared(Some(6)), of(&[("a", 0, 4), ("b", 4, 2)]));
        assert_eq!(shared(Some(1)), of(&[("a", 0, 1)]));
        assert_eq!(alike(&hosts.share(Some(8)).unwrap()), Some(2));
        assert_eq!(alike(&hosts.share(Some(6)).unwrap()), None);
        let told = hosts.share(Some(10)).unwrap_err();
        assert!(told.contains("10 ranks") && told.contains("room for 9 (a:4, b:4, c:1)"), "{told}");
    }

    #[test]
    fn every_rank_is_on_one_host() {
        for sizes in [&[1, 1, 1][..], &[3, 1, 2], &[5]] {
            let hosts = Slots(sizes.iter().enumerate().map(|(i, n)| (format!("h{i}"), *n)).collect());
            for ranks in 1..=sizes.iter().sum() {
                let shares = hosts.share(Some(ranks)).unwrap();
                let all: Vec<usize> =
                    shares.iter().flat_map(|share| share.first..share.first + share.count).collect();
                assert_eq!(all, (0..ranks).collect::<Vec<_>>(), "{sizes:?}");
            }
        }
    }
}
