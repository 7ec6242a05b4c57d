//! How a running job stands, for whoever asks from outside: its ranks, what each of them does, and who is late.
//!
//! The master is asked as a joiner would be, by its address and with the secret of the job; no place is taken. On its
//! own host it can be asked by its process id as well ([`JobStatus::of_process`]): it then answers to the same user
//! only, who could look into the process by other means, and no secret is needed. Neighbours: `master/hub/explain` puts
//! the answer together, `master/local` is that second door.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as LocalAddr, UnixStream};
use std::time::Duration;

use crate::observe::JobStatus;
use crate::probe::{self, Answer};
use crate::settings::Settings;
use crate::wire::{MASTER_LIMIT, ToMaster, ToRank};

/// How long an answer may take: ranks that are stopped are waited for, not for long.
const PATIENCE: Duration = Duration::from_secs(8);

/// Where the process of this id answers on its own host.
pub(crate) fn local_address(pid: u32) -> io::Result<LocalAddr> {
    LocalAddr::from_abstract_name(format!("ringworld-master-{pid}"))
}

impl JobStatus {
    /// Asks the master that the settings name.
    ///
    /// # Errors
    ///
    /// Why there is no answer, as a sentence.
    pub fn of(settings: &Settings) -> Result<Self, String> {
        let Some(node) = &settings.master_node else {
            return Err("nothing says where the job meets: give --master HOST:PORT, or --pid of its launcher or of one \
                        of its ranks on this host"
                .into());
        };
        let port = settings.master_port;
        let found = (node.as_str(), port).to_socket_addrs();
        let found: Vec<SocketAddr> = found.map_err(|error| format!("{node}: {error}"))?.collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("asking the master: {error}"))?;
        let mut answer = Answer::Nobody("the name has no address".into());
        for address in &found {
            let question = probe::question(*address, settings, &ToMaster::AskStatus, MASTER_LIMIT);
            match runtime.block_on(async { tokio::time::timeout(PATIENCE, question).await }) {
                Ok(Ok(ToRank::Status(status))) => return Ok(status),
                Ok(Ok(_)) => answer = Answer::Other("it said something out of turn".into()),
                Ok(Err(other)) => answer = other,
                Err(_) => answer = Answer::Nobody("no answer".into()),
            }
            if !matches!(answer, Answer::Nobody(_)) {
                break;
            }
        }
        Err(format!("{node}, port {port}: {answer}"))
    }

    /// Asks the job that a process of this host belongs to: a launcher, or a rank.
    ///
    /// # Errors
    ///
    /// Why there is no answer, as a sentence.
    pub fn of_process(pid: u32) -> Result<Self, String> {
        if let Some(status) = ask_locally(pid)? {
            return Ok(status);
        }
        let env = environment(pid).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("there is no process {pid}"),
            io::ErrorKind::PermissionDenied => {
                format!("process {pid} is another user's: ask by --master HOST:PORT")
            }
            _ => format!("process {pid}: {error}"),
        })?;
        let parent = env.get("RINGWORLD_PARENT_PID").and_then(|text| text.parse().ok());
        if let Some(parent) = parent
            && let Some(status) = ask_locally(parent)?
        {
            return Ok(status);
        }
        // What came by a descriptor is not there any more.
        let settings = env.into_iter().filter(|(name, _)| name != "RINGWORLD_SECRET_FD").collect();
        let settings = Settings::load(&[], &settings).map_err(|error| format!("process {pid}: {error}"))?;
        Self::of(&settings)
            .map_err(|why| format!("process {pid} serves no job itself, and its job was not reached: {why}"))
    }
}

/// What a process was started with.
fn environment(pid: u32) -> io::Result<BTreeMap<String, String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ"))?;
    let pairs =
        bytes.split(|byte| *byte == 0).filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Asks at the door for the same user; `None`: that process has none.
fn ask_locally(pid: u32) -> Result<Option<JobStatus>, String> {
    let failed = |error: io::Error| format!("process {pid}: {error}");
    let mut stream = match UnixStream::connect_addr(&local_address(pid).map_err(failed)?) {
        Ok(stream) => stream,
        Err(_) => return Ok(None),
    };
    // Anybody may have taken that name, and would be believed.
    let theirs = rustix::net::sockopt::socket_peercred(&stream).map_err(|error| failed(error.into()))?;
    if theirs.uid != rustix::process::geteuid() && !theirs.uid.is_root() {
        return Err(format!(
            "process {pid} is another user's, who answers in its place: ask by --master HOST:PORT"
        ));
    }
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut length = [0; 4];
    let refused =
        |_| format!("process {pid} does not answer: its job is stopped or busy, or it is another user's");
    stream.read_exact(&mut length).map_err(refused)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MASTER_LIMIT {
        return Err(format!("process {pid} says something out of turn"));
    }
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body).map_err(refused)?;
    let read = postcard::from_bytes(&body);
    read.map(Some)
        .map_err(|_| format!("process {pid} is of another version of ringworld; use the same as the job"))
}
