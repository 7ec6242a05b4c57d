//! What a rank gives in an exchange, and what may come of looking for what it wants. Neighbour: `shown`.

use ringworld_collectives::{Personalized, Request, Schedule, Span as Elements};

use super::context::Disagreement;

/// What a rank gives in an exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What, and to which ranks of the world; none where it gives nothing.
    pub(super) gives: Option<(Elements, Box<[usize]>)>,
    /// Of how many others it wants something.
    pub(super) wants: usize,
    /// Of which blocks that they give; `None`: all of it.
    pub(super) blocks: Option<Personalized>,
}

impl Exchange {
    /// That of a schedule and what it was built for; `world` says which rank of the world one of the communicator is.
    #[must_use]
    pub fn of(schedule: &Schedule, request: &Request, world: impl Fn(usize) -> usize) -> Self {
        let gives = schedule.gives(request).map(|(span, to)| (span, to.into_iter().map(world).collect()));
        Self { gives, wants: schedule.receives(), blocks: request.personalized() }
    }
}

/// What has been seen that ends the world.
pub(crate) enum Trouble {
    /// Somebody has called something else: who, in which context.
    Disagree(usize, u64, Disagreement),
    /// A length that no call has.
    Wrong(String),
}

/// What comes of looking for what a step wants.
pub(super) enum Look {
    /// It is where it belongs.
    Taken,
    NotYet,
    Wrong(Trouble),
    /// It can only come as a message.
    Nowhere,
}
