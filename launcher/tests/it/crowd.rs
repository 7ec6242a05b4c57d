//! Many ranks come at once, while the launcher has no time for them.

use crate::common::{Running, command};
use rustix::process::Signal;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// More than fit the queue that a system's library asks for where nobody says otherwise, 128.
const CROWD: usize = 400;

#[test]
fn ranks_that_come_all_at_once_need_not_come_again() {
    let length = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    if length.trim().parse::<usize>().unwrap() <= CROWD {
        eprintln!("SKIPPED: this system's queues have room for {}", length.trim());
        return;
    }
    let mut job =
        Running::start(&mut command(&["-n", "1", "--", "sh", "-c", "echo $MASTER_PORT; exec sleep 60"]));
    let port: u16 = job.lines(1)[0].parse().unwrap();
    job.signal(Signal::STOP);
    let begin = Instant::now();
    let address = ([127, 0, 0, 1], port).into();
    // What finds no room is tried again by the kernel after a second.
    let connect = |index| {
        TcpStream::connect_timeout(&address, Duration::from_millis(900))
            .unwrap_or_else(|error| panic!("connection {index} after {:?}: {error}", begin.elapsed()))
    };
    let crowd: Vec<TcpStream> = (0..CROWD).map(connect).collect();
    job.signal(Signal::CONT);
    drop(crowd);
}
