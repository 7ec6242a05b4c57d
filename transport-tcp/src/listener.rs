//! Listening sockets, connecting sockets and their options, and addresses as bytes.
//!
//! Invariant: every socket made here is non-blocking, closed on exec, and has its buffers set before it
//! connects or listens, which is when TCP fixes the window's scale. Neighbours: `config.rs` says what to
//! set; `pending.rs` takes the sockets from here.
//!
//! An address is a version byte (1), then for each listener, best first: family (4 or 6), the IP
//! address, the port (both in network order).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use ringworld_transport::Address;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use crate::config::{BindError, Config};
use crate::kernel;

const ADDRESS_VERSION: u8 = 1;
/// Connections that the kernel completes while this process computes; the system caps it (usually 4096).
const BACKLOG: i32 = 4096;

/// Bytes that a lane which shares puts with others may hold without having sent them: what lies in the
/// buffer of a slow one is what all others wait for in the end. 24 MiB over 400 and 100 Mbit/s took 0.42 s
/// instead of 0.47 to 0.53.
const UNSENT: u32 = 64 << 10;

/// Socket options, checked once.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    buffer: Option<usize>,
    congestion: Option<String>,
    /// See [`Config::silence`].
    pub(crate) silence: Option<Duration>,
    unsent: Option<u32>,
    /// See [`Config::connect_timeout`].
    pub(crate) connect_timeout: Duration,
}

impl Options {
    /// Finds out what the system permits.
    pub(crate) fn probe(config: &Config) -> Result<Self, BindError> {
        let domain = config.listen.first().map_or(Domain::IPV4, domain);
        let socket = tcp(domain).map_err(|source| BindError::System { what: "make a socket", source })?;
        let congestion = match &config.congestion {
            Some(name) => {
                socket
                    .set_tcp_congestion(name.as_bytes())
                    .map_err(|source| BindError::Congestion { name: name.clone(), source })?;
                Some(name.clone())
            }
            None => Config::CONGESTION
                .into_iter()
                .find(|name| socket.set_tcp_congestion(name.as_bytes()).is_ok())
                .map(str::to_owned),
        };
        Ok(Self {
            buffer: config.socket_buffer,
            congestion,
            silence: config.silence,
            unsent: config.spread.then_some(UNSENT),
            connect_timeout: config.connect_timeout,
        })
    }

    fn before_connecting(&self, socket: &Socket) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        if let Some(bytes) = self.buffer {
            socket.set_send_buffer_size(bytes)?;
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(name) = &self.congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        if let Some(silence) = self.silence {
            socket.set_tcp_keepalive(&keepalive(silence))?;
        }
        socket.set_tcp_nodelay(true)
    }

    /// For sockets that carry data.
    pub(crate) fn once_established(&self, socket: &Socket) -> io::Result<()> {
        if let Some(bytes) = self.unsent {
            socket.set_tcp_notsent_lowat(bytes)?;
        }
        match self.silence {
            Some(silence) => kernel::bound_pauses(socket, silence / 8),
            None => Ok(()),
        }
    }

    /// Listens at `ip`, on the first of these ports that is free, or on one of the system's choice.
    pub(crate) fn listen(
        &self,
        ip: IpAddr,
        ports: Option<&RangeInclusive<u16>>,
    ) -> Result<(Socket, SocketAddr), BindError> {
        let any = 0..=0;
        let ports = ports.unwrap_or(&any);
        for port in ports.clone() {
            let address = SocketAddr::new(ip, port);
            match self.listen_at(address) {
                // Also by another rank of this host that has bound it at the same moment.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && port > 0 => {}
                done => return done.map_err(|source| BindError::Listen { address, source }),
            }
        }
        Err(BindError::Ports { ip, first: *ports.start(), last: *ports.end() })
    }

    fn listen_at(&self, address: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
        let socket = tcp(domain(&address.ip()))?;
        self.before_connecting(&socket)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // Connections of a job that has just ended linger, and would keep a port that was named from the next.
        socket.set_reuse_address(address.port() > 0)?;
        socket.bind(&SockAddr::from(address))?;
        socket.listen(BACKLOG)?;
        let bound = socket.local_addr()?.as_socket();
        Ok((socket, bound.ok_or(io::ErrorKind::AddrNotAvailable)?))
    }

    /// Begins a connection; the socket becomes writable when that has succeeded or failed.
    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<Socket> {
        let socket = tcp(domain(&address.ip()))?;
        self.before_connecting(&socket)?;
        match socket.connect(&SockAddr::from(address)) {
            Ok(()) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {
                Ok(socket)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a connection from a listener; it has inherited the buffers and the probes.
    pub(crate) fn accept(&self, listener: &Socket) -> io::Result<(Socket, SocketAddr)> {
        let (socket, from) = listener.accept()?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        Ok((socket, from.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?))
    }
}

/// The probes of idle connections, in the whole seconds that the system takes: from a quarter of the time on, and often
/// enough that one which is lost does not matter. Whoever polls judges by them first; where nobody does, the system
/// gives a connection up by itself after about twice the time.
fn keepalive(silence: Duration) -> TcpKeepalive {
    const MOST: u64 = 32_767;
    let seconds = |part: u32| Duration::from_secs((silence / part).as_secs().clamp(1, MOST));
    let (time, interval) = (seconds(4), seconds(8));
    let probes = (silence * 2).saturating_sub(time).as_secs() / interval.as_secs();
    TcpKeepalive::new().with_time(time).with_interval(interval).with_retries(probes.clamp(3, 127) as u32)
}

/// Which of this host's addresses the system would use towards `remote`; nothing is sent.
pub(crate) fn source(remote: IpAddr) -> Option<IpAddr> {
    let socket = Socket::new(domain(&remote), Type::DGRAM, Some(Protocol::UDP)).ok()?;
    // Any port will do: a datagram socket connects by looking up the route.
    socket.connect(&SockAddr::from(SocketAddr::new(remote, 9))).ok()?;
    socket.local_addr().ok()?.as_socket().map(|address| address.ip())
}

fn tcp(domain: Domain) -> io::Result<Socket> {
    Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
}

fn domain(ip: &IpAddr) -> Domain {
    if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 }
}

/// Whether this host does not have the address that it was to listen at: an interface that has gone, or an IPv6 address
/// of which it is still being found out whether somebody else has it.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    let absent = [rustix::io::Errno::ADDRNOTAVAIL, rustix::io::Errno::AFNOSUPPORT];
    absent.map(|errno| Some(errno.raw_os_error())).contains(&error.raw_os_error())
}

/// Where the others are told to connect to: where this process listens, or the same ports at the addresses `told`.
pub(crate) fn advertised(listeners: Vec<SocketAddr>, told: &[IpAddr]) -> Result<Vec<SocketAddr>, BindError> {
    if told.is_empty() {
        return Ok(listeners);
    }
    let mut all = Vec::new();
    for &ip in told {
        let mut any = false;
        for listener in listeners.iter().filter(|listener| listener.is_ipv4() == ip.is_ipv4()) {
            any = true;
            let address = SocketAddr::new(ip, listener.port());
            if !all.contains(&address) {
                all.push(address);
            }
        }
        if !any {
            return Err(BindError::Advertise(ip));
        }
    }
    Ok(all)
}

/// Addresses as bytes.
pub(crate) fn encode(addresses: &[SocketAddr]) -> Address {
    let mut bytes = vec![ADDRESS_VERSION];
    for address in addresses {
        match address.ip() {
            IpAddr::V4(ip) => {
                bytes.push(4);
                bytes.extend(ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes.push(6);
                bytes.extend(ip.octets());
            }
        }
        bytes.extend(address.port().to_be_bytes());
    }
    Address::new(bytes)
}

/// The reverse of [`encode`]; says what is wrong otherwise.
pub(crate) fn decode(address: &Address) -> Result<Vec<SocketAddr>, String> {
    fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
        let (taken, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(taken)
    }
    fn one(bytes: &mut &[u8]) -> Option<SocketAddr> {
        let ip = match take(bytes)? {
            [4] => IpAddr::from(*take::<4>(bytes)?),
            [6] => IpAddr::from(*take::<16>(bytes)?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(*take(bytes)?)))
    }
    let Some((&ADDRESS_VERSION, mut bytes)) = address.as_bytes().split_first() else {
        return Err("it is not an address of this version of the TCP transport".to_owned());
    };
    let mut addresses = Vec::new();
    while !bytes.is_empty() {
        addresses.push(one(&mut bytes).ok_or("it is cut short or damaged")?);
    }
    if addresses.is_empty() { Err("it names no listener".to_owned()) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_encoding_in_order() {
        let addresses: Vec<SocketAddr> =
            vec!["10.1.2.3:65535".parse().unwrap(), "[fd00::1:2]:80".parse().unwrap()];
        assert_eq!(decode(&encode(&addresses)), Ok(addresses));
    }

    #[test]
    fn others_are_told_the_addresses_that_were_asked_for_with_the_ports_there_are() {
        let here: Vec<SocketAddr> =
            ["10.0.0.1:5", "10.1.0.1:6", "10.2.0.1:5"].map(|text| text.parse().unwrap()).into();
        let told = |ips: &[&str]| {
            let ips: Vec<IpAddr> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
            advertised(here.clone(), &ips).map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(told(&[]).unwrap(), ["10.0.0.1:5", "10.1.0.1:6", "10.2.0.1:5"]);
        assert_eq!(told(&["192.0.2.7"]).unwrap(), ["192.0.2.7:5", "192.0.2.7:6"]);
        let both = ["192.0.2.7:5", "192.0.2.7:6", "192.0.2.8:5", "192.0.2.8:6"];
        assert_eq!(told(&["192.0.2.7", "192.0.2.8"]).unwrap(), both);
        assert!(matches!(told(&["192.0.2.7", "fd00::1"]), Err(BindError::Advertise(ip)) if ip.is_ipv6()));
    }

    #[test]
    fn damaged_addresses_are_refused() {
        let whole = encode(&["10.1.2.3:5".parse().unwrap()]);
        for end in 0..whole.as_bytes().len() {
            assert!(decode(&Address::new(whole.as_bytes()[..end].to_vec())).is_err(), "{end}");
        }
        assert!(decode(&Address::new(vec![1, 5, 0, 0])).is_err());
        assert!(decode(&Address::new(vec![2, 4, 1, 2, 3, 4, 0, 1])).is_err());
    }
}
