//! What is found at the master's address, for `ringworld info`: asked without taking a place.
//!
//! The question is an authenticated one of its own, so that a world that is forming is not disturbed, and is told apart
//! from an unauthenticated connection by the master.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::Error;
use crate::frames::{FrameReader, FrameWriter};
use crate::handshake::{self, HandshakeError};
use crate::interfaces::Interface;
use crate::settings::Settings;
use crate::wire::{EARLY_LIMIT, ToMaster, ToRank};

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found at the master's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Where the master's name leads; empty if it cannot be resolved.
    pub addresses: Vec<IpAddr>,
    /// One of these addresses is this host's, so the first rank started here would serve.
    pub here: bool,
    /// Who answered.
    pub answer: Answer,
}

/// Who answers at the master's address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The name cannot be resolved, and why.
    Unknown(String),
    /// Nobody, and how that shows.
    Nobody(String),
    /// A ringworld master, whose world is forming.
    Forming {
        /// Ranks that have joined.
        joined: usize,
        /// Ranks that it waits for.
        size: usize,
    },
    /// A ringworld master, whose world has formed.
    Running {
        /// Ranks that have not left.
        alive: usize,
        /// Ranks that there were.
        size: usize,
    },
    /// A ringworld master that does not know the secret of this process, or this process not its.
    Secret(String),
    /// Something else, or another version.
    Other(String),
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(why) => write!(f, "the name cannot be resolved ({why})"),
            Self::Nobody(why) => write!(f, "nobody answers ({why})"),
            Self::Forming { joined, size } => {
                write!(f, "a ringworld master answers; {joined} of {size} ranks have joined")
            }
            Self::Running { alive, size } => {
                write!(
                    f,
                    "a ringworld master answers; its world is running, with {alive} of {size} ranks left"
                )
            }
            Self::Secret(why) => write!(f, "a ringworld master answers, but {why}"),
            Self::Other(why) => write!(f, "something answers, but {why}"),
        }
    }
}

impl Sighting {
    /// Resolves `node` and asks at each address, for at most two seconds each, until somebody answers.
    ///
    /// # Errors
    ///
    /// When the system gives no event queue.
    pub fn of(settings: &Settings, node: &str, interfaces: &[Interface]) -> Result<Self, Error> {
        let found: Vec<SocketAddr> = match (node, settings.master_port).to_socket_addrs() {
            Ok(found) => found.collect(),
            Err(error) => {
                let answer = Answer::Unknown(error.to_string());
                return Ok(Self { addresses: Vec::new(), here: false, answer });
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::system("asking the master", error))?;
        let mut answer = Answer::Nobody("the name has no address".into());
        for address in &found {
            let asked = async { timeout(PATIENCE, ask(*address, settings)).await };
            answer = runtime.block_on(asked).unwrap_or_else(|_| Answer::Nobody("no answer".into()));
            if !matches!(answer, Answer::Nobody(_)) {
                break;
            }
        }
        let mine = |address: IpAddr| {
            address.is_loopback() || interfaces.iter().any(|interface| interface.addr == address)
        };
        let mut addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
        addresses.dedup();
        let here = addresses.iter().any(|address| mine(*address));
        Ok(Self { addresses, here, answer })
    }
}

async fn ask(address: SocketAddr, settings: &Settings) -> Answer {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    match question(address, settings, &ToMaster::Inquire, EARLY_LIMIT).await {
        Ok(ToRank::State { present, size, formed: false }) => {
            Answer::Forming { joined: number(present), size: number(size) }
        }
        Ok(ToRank::State { present, size, formed: true }) => {
            Answer::Running { alive: number(present), size: number(size) }
        }
        Ok(_) => Answer::Other("it said something out of turn".into()),
        Err(answer) => answer,
    }
}

/// Asks a master one question; its answer, of at most so many bytes, or who else is there.
pub(crate) async fn question(
    address: SocketAddr,
    settings: &Settings,
    question: &ToMaster,
    limit: usize,
) -> Result<ToRank, Answer> {
    let mut stream = TcpStream::connect(address).await.map_err(|error| Answer::Nobody(error.to_string()))?;
    if let (Ok(local), Ok(peer)) = (stream.local_addr(), stream.peer_addr())
        && local == peer
    {
        // On one host, connecting to a port from the ephemeral range can meet itself.
        return Err(Answer::Nobody("nobody listens".into()));
    }
    let silent = |error: &dyn std::fmt::Display| Answer::Other(format!("it does not speak ({error})"));
    let session = match handshake::connect(&mut stream, &settings.secret).await {
        Ok((_, session)) => session,
        Err(HandshakeError::Secret(why)) => return Err(Answer::Secret(why.into())),
        Err(error @ (HandshakeError::Io(_) | HandshakeError::Silent)) => return Err(silent(&error)),
        Err(error) => return Err(Answer::Other(error.to_string())),
    };
    let (reading, writing) = stream.split();
    let asked = FrameWriter::new(writing, session.sealer).write(question).await;
    asked.map_err(|error| silent(&error))?;
    let answer = FrameReader::new(reading, session.opener).read::<ToRank>(limit).await;
    answer.map(|(answer, _)| answer).map_err(|error| silent(&error))
}
