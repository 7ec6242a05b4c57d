//! Prints what was measured: an aligned table for people, CSV or JSON lines for programs.
//!
//! *Algorithm bandwidth* is size over time; *bus bandwidth* is what one link had to carry, so that it can be
//! compared with the wire for any number of ranks: an all-reduce moves 2 (n - 1) / n of the size per rank.

use super::measure::{Times, WARM_UP};
use crate::cli::{Format, Operation};
use crate::exit::Failure;
use crate::{style, units};
use ringworld::World;
use std::time::Duration;

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    op: Operation,
    bytes: usize,
    calls: u64,
    /// Seconds.
    median: f64,
    least: f64,
    most: f64,
    /// Bytes per second.
    algorithm: f64,
    bus: f64,
}

impl Row {
    /// What these times mean for this operation in a world of `ranks`.
    pub(crate) fn new(op: Operation, bytes: usize, ranks: usize, times: Times) -> Self {
        let median = times.median();
        let algorithm = bytes as f64 / median;
        let share = match op {
            Operation::PingPong | Operation::Stream => 1.0,
            Operation::AllReduce => 2.0 * (ranks as f64 - 1.0) / ranks as f64,
        };
        let at = |index: Option<&f64>| index.copied().unwrap_or(f64::NAN);
        let (least, most) = (at(times.seconds.first()), at(times.seconds.last()));
        Self { op, bytes, calls: times.calls, median, least, most, algorithm, bus: algorithm * share }
    }

    fn text(&self) -> String {
        format!(
            "{:<10} {:>8} {:>9} {:>12} {:>12} {:>12} {:>10} {:>10}",
            self.op.to_string(),
            bytes(self.bytes),
            self.calls,
            micros(self.median),
            micros(self.least),
            micros(self.most),
            giga(self.algorithm),
            giga(self.bus),
        )
    }

    fn csv(&self) -> String {
        let Self { op, bytes, calls, median, least, most, algorithm, bus } = self;
        format!("{op},{bytes},{calls},{median:e},{least:e},{most:e},{algorithm:e},{bus:e}")
    }

    fn json(&self) -> String {
        let Self { op, bytes, calls, median, least, most, algorithm, bus } = self;
        format!(
            "{{\"op\":\"{op}\",\"bytes\":{bytes},\"calls\":{calls},\"median_s\":{median:e},\"least_s\":{least:e},\
             \"most_s\":{most:e},\"algorithm_bytes_per_s\":{algorithm:e},\"bus_bytes_per_s\":{bus:e}}}"
        )
    }
}

/// Prints rows, on the one rank that speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    format: Format,
    /// What was timed are single calls.
    each: bool,
    speaks: bool,
}

impl Table {
    pub(crate) fn new(format: Format, each: bool, speaks: bool) -> Self {
        Self { format, each, speaks }
    }

    /// The head: what the columns are, and what was measured.
    pub(crate) fn begin(&self, world: &World, rows: usize, budget: Duration) -> Result<(), Failure> {
        match self.format {
            Format::Table => {
                let cores = std::thread::available_parallelism().map_or(0, usize::from);
                let mut hosts: Vec<&str> = (0..world.size()).map(|rank| world.host(rank)).collect();
                hosts.dedup();
                self.print(&format!(
                    "ringworld {}, {} on {} ({} on the first)",
                    env!("CARGO_PKG_VERSION"),
                    units::counted(world.size(), "rank"),
                    hosts.join(", "),
                    units::counted(cores, "core"),
                ))?;
                let seconds = budget.as_secs_f64() * (1.0 + WARM_UP) * rows as f64;
                self.print(&style::faint(format!(
                    "{}, about {seconds:.0} s in all",
                    units::counted(rows, "line")
                )))?;
                self.print(&style::heading(format!(
                    "{:<10} {:>8} {:>9} {:>12} {:>12} {:>12} {:>10} {:>10}",
                    "", "size", "calls", "median us", "least us", "most us", "alg GB/s", "bus GB/s"
                )))
            }
            Format::Csv => {
                self.print("op,bytes,calls,median_s,least_s,most_s,algorithm_bytes_per_s,bus_bytes_per_s")
            }
            Format::Json => Ok(()),
        }
    }

    pub(crate) fn row(&self, row: &Row) -> Result<(), Failure> {
        self.print(&match self.format {
            Format::Table => row.text(),
            Format::Csv => row.csv(),
            Format::Json => row.json(),
        })
    }

    /// The foot: how to read the numbers.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.format == Format::Table {
            let what = if self.each { "single calls" } else { "batches" };
            self.print(&format!(
                "Median, least and most of {what}, slowest rank of each; ping-pong is half a round trip by rank 0's \
                 clock.",
            ))?;
            self.print(
                "alg GB/s: size by median time, in 10^9 bytes per second. bus GB/s: what each rank's link carried",
            )?;
            self.print(
                "for it, to be compared with the network's speed: of an all-reduce on n ranks 2 (n - 1) / n of the \
                 size.",
            )?;
        }
        Ok(())
    }

    fn print(&self, line: &str) -> Result<(), Failure> {
        match self.speaks {
            true => style::out(&format!("{line}\n")),
            false => Ok(()),
        }
    }
}

/// `64K` for 65536, as the options take it; plain bytes when it is no whole number of units.
pub(crate) fn bytes(bytes: usize) -> String {
    match bytes {
        0 => "0".to_owned(),
        b if b % (1 << 30) == 0 => format!("{}G", b >> 30),
        b if b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

fn micros(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e6)
}

fn giga(rate: f64) -> String {
    format!("{:.3}", rate / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: Operation, ranks: usize) -> Row {
        let times = Times { seconds: vec![1e-3, 2e-3, 4e-3], calls: 33, wrong: None };
        Row::new(op, 1 << 20, ranks, times)
    }

    #[test]
    fn bandwidths_follow_from_size_median_and_ranks() {
        let all_reduce = row(Operation::AllReduce, 4);
        assert_eq!(all_reduce.algorithm, 1048576.0 / 2e-3);
        assert_eq!(all_reduce.bus, all_reduce.algorithm * 1.5);
        let ping_pong = row(Operation::PingPong, 2);
        assert_eq!(ping_pong.bus, ping_pong.algorithm);
    }

    #[test]
    fn rows_are_aligned_and_programs_can_read_them() {
        let row = row(Operation::AllReduce, 2);
        assert_eq!(
            row.text(),
            "all-reduce       1M        33      2000.00      1000.00      4000.00      0.524      0.524"
        );
        assert_eq!(row.csv(), "all-reduce,1048576,33,2e-3,1e-3,4e-3,5.24288e8,5.24288e8");
        assert!(
            row.json()
                .starts_with("{\"op\":\"all-reduce\",\"bytes\":1048576,\"calls\":33,\"median_s\":2e-3,")
        );
    }

    #[test]
    fn sizes_are_shown_as_they_are_given() {
        for (size, text) in
            [(0, "0"), (8, "8"), (1000, "1000"), (65536, "64K"), (64 << 20, "64M"), (3 << 30, "3G")]
        {
            assert_eq!(bytes(size), text);
        }
    }
}
