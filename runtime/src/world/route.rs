//! Which transport serves a peer, and why.
//!
//! Both ends of a pair must choose the same one, and neither asks the other. So the choice depends on nothing but what
//! both have published at the rendezvous: the first transport, best first, that both have opened and whose two
//! addresses can talk to one another. Invariant: [`route`] gives the same answer on both ends, as long as both are
//! there and [`Transport::connect`] judges two addresses alike from either side. Neighbours: `transports.rs` opens
//! them.

use ringworld_transport::{Address, Transport};

use crate::{Error, Result};

/// Which transport carries what goes to a rank, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// As in `RINGWORLD_TRANSPORT`; `self` for the rank that asks.
    pub transport: &'static str,
    /// What decided: for each better transport, why it cannot serve this rank.
    pub why: String,
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.transport, self.why)
    }
}

impl Route {
    /// That of the rank that asks.
    pub(crate) fn to_self() -> Self {
        Self { transport: "self", why: "this rank".into() }
    }
}

/// A transport that this rank does without.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) name: &'static str,
    pub(crate) why: String,
    /// How many of those that it has are better.
    pub(crate) behind: usize,
}

/// The first transport that both ranks have and whose addresses can talk to one another. Where that fails because
/// nobody is there, `gone` is asked whether that rank has left: nothing goes to it any more, so any common one serves.
pub(crate) fn route(
    rank: usize,
    who: &str,
    transports: &mut [(&'static str, Box<dyn Transport>)],
    closed: &[Closed],
    theirs: &[(String, Vec<u8>)],
    gone: impl Fn(usize) -> bool,
) -> Result<(usize, Route)> {
    let mut against = Vec::new();
    let missing = |place: usize| {
        let here = closed.iter().filter(move |closed| closed.behind == place);
        here.map(|Closed { name, why, .. }| format!("no {name} here: {why}"))
    };
    let mut nobody = None;
    for (index, (name, transport)) in transports.iter_mut().enumerate() {
        against.extend(missing(index));
        let Some((_, bytes)) = theirs.iter().find(|(their, _)| their == name) else {
            against.push(format!("{who} offers no {name}"));
            continue;
        };
        match transport.connect(rank, &Address::new(bytes.clone())) {
            Ok(()) => {
                let best = || "the best, and both ranks have it".to_owned();
                let why = if against.is_empty() { best() } else { against.join("; ") };
                return Ok((index, Route { transport: name, why }));
            }
            Err(error) => {
                against.push(format!("{name} does not lead to {who}: {}", error.reason));
                if error.nobody {
                    nobody = nobody.or(Some((index, *name)));
                }
            }
        }
    }
    if let Some((index, transport)) = nobody
        && gone(rank)
    {
        return Ok((index, Route { transport, why: "it has left before it was looked for".into() }));
    }
    against.extend(missing(transports.len()));
    let theirs: Vec<_> = theirs.iter().map(|(name, _)| name.as_str()).collect();
    Err(Error::Bootstrap(format!(
        "{who} offers the transports [{}], none of which serves here ({}); set RINGWORLD_TRANSPORT alike on all hosts",
        theirs.join(", "),
        against.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use ringworld_transport::{
        Capabilities, Cause, ConnectError, Event, Operation, Placer, Posted, RecvMemory, Refused, RemoteKey,
        Token,
    };

    use super::*;

    /// A wire that reaches the addresses that begin as its own does, and carries nothing.
    struct Fake(&'static [u8]);

    impl Transport for Fake {
        fn capabilities(&self) -> &Capabilities {
            unreachable!("routes depend on addresses only")
        }

        fn address(&self) -> Address {
            Address::new(self.0.to_vec())
        }

        fn connect(&mut self, peer: usize, address: &Address) -> std::result::Result<(), ConnectError> {
            let reached = address.as_bytes().first() == self.0.first();
            let nobody = address.as_bytes().first() == Some(&b'-');
            let error = || ConnectError { peer, transport: "fake", reason: "another network".into(), nobody };
            reached.then_some(()).ok_or_else(error)
        }

        fn post(&mut self, operation: Operation) -> std::result::Result<Posted, Refused> {
            Err(Refused::Busy(operation))
        }

        fn expose(&mut self, _: usize, _: RecvMemory, _: Token) -> std::result::Result<RemoteKey, Cause> {
            unreachable!("nothing is sent")
        }

        fn poll(&mut self, _: &mut dyn Placer, _: &mut Vec<Event>) -> bool {
            false
        }

        fn disconnect(&mut self, _: usize, _: Cause) {}

        fn close(&mut self) {}

        fn abort(&mut self) {}
    }

    /// The transports of a rank: of each name an address, or none.
    type Has = [(&'static str, Option<&'static [u8]>); 2];

    fn chosen(mine: &Has, theirs: &Has) -> std::result::Result<Route, String> {
        let mut transports = Vec::new();
        let mut closed = Vec::new();
        for (name, address) in mine {
            match address {
                Some(address) => transports.push((*name, Box::new(Fake(address)) as Box<dyn Transport>)),
                None => {
                    closed.push(Closed { name, why: "no such device".into(), behind: transports.len() });
                }
            }
        }
        let published: Vec<(String, Vec<u8>)> = theirs
            .iter()
            .filter_map(|(name, address)| Some(((*name).to_owned(), address.as_ref()?.to_vec())))
            .collect();
        let found = route(1, "rank 1 on b", &mut transports, &closed, &published, |_| true);
        found.map(|(_, route)| route).map_err(|error| error.to_string())
    }

    #[test]
    fn both_ends_choose_the_same_transport_whatever_each_has() {
        let addresses: [Option<&'static [u8]>; 3] = [None, Some(b"x1"), Some(b"y1")];
        let all: Vec<Has> = addresses
            .iter()
            .flat_map(|fast| addresses.iter().map(|slow| [("fast", *fast), ("slow", *slow)]))
            .collect();
        let name = |route: std::result::Result<Route, String>| route.ok().map(|route| route.transport);
        let mut kinds = std::collections::BTreeSet::new();
        for (here, there) in all.iter().flat_map(|here| all.iter().map(move |there| (here, there))) {
            let (one, other) = (name(chosen(here, there)), name(chosen(there, here)));
            assert_eq!(one, other, "{here:?} {there:?}");
            kinds.insert(one);
        }
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [None, Some("fast"), Some("slow")]);
    }

    #[test]
    fn a_route_says_why_no_better_transport_serves() {
        let both: Has = [("fast", Some(b"x")), ("slow", Some(b"x"))];
        let without: Has = [("fast", None), ("slow", Some(b"x"))];
        let elsewhere: Has = [("fast", Some(b"y")), ("slow", Some(b"x"))];
        assert_eq!(chosen(&both, &both).unwrap().to_string(), "fast (the best, and both ranks have it)");
        let why = |mine, theirs| chosen(mine, theirs).unwrap().to_string();
        assert_eq!(why(&both, &without), "slow (rank 1 on b offers no fast)");
        assert_eq!(why(&without, &both), "slow (no fast here: no such device)");
        let fast: Has = [("fast", Some(b"x")), ("slow", None)];
        assert_eq!(
            why(&fast, &both),
            "fast (the best, and both ranks have it)",
            "that slow is not here is no reason"
        );
        assert!(
            why(&both, &elsewhere).starts_with("slow (fast does not lead to rank 1 on b: another network")
        );
        let left: Has = [("fast", Some(b"-")), ("slow", None)];
        assert_eq!(chosen(&both, &left).unwrap().to_string(), "fast (it has left before it was looked for)");
        let neither = chosen(&without, &[("fast", Some(b"x")), ("slow", None)]).unwrap_err();
        assert!(neither.contains("[fast]") && neither.contains("RINGWORLD_TRANSPORT"), "{neither}");
    }
}
