//! `ringworld explain`: what an algorithm does, so that a person can see it.

use std::path::PathBuf;

use crate::exit::Status;
use crate::network::{self, Network, Question};

/// `ringworld explain`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) question: Question,
    /// Ranks, each on a host of its own
    #[arg(short = 'n', long, value_name = "N", default_value = "6", value_parser = network::ranks)]
    pub(crate) ranks: usize,
    #[command(flatten)]
    pub(crate) network: Network,
    /// This algorithm instead of the one that would be chosen
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<String>,
    /// Draw the schedule in space and time
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

pub(crate) fn explain(_options: &Options) -> Status {
    Status::SUCCESS
}
