//! `ringworld bench`: how fast messages and collectives are, here and now.
//!
//! Started plainly, it starts itself as ranks, as `ringworld run` would; with `--join` it is one rank of
//! the world that the environment describes, which is also how to measure between hosts:
//! `ringworld run -n 1 --nnodes 2 --master n0:29500 -- ringworld bench --join`.
//! Neighbours: `measure` times, `table` prints. Comparisons with other libraries are in `benches/peers`.

mod measure;
mod table;

use crate::cli::{Assignment, BenchOptions, Operation, Part, RunOptions, Stdin};
use crate::exit::{Failure, Status};
use crate::style;
use measure::Measure;
use ringworld::World;
use std::ffi::OsString;
use table::{Row, Table};

/// Measures, and prints on rank 0.
pub(crate) fn bench(options: &BenchOptions) -> Status {
    let result = check(options).and_then(|()| if options.join { join(options) } else { start(options) });
    match result {
        Ok(status) => status,
        Err(Failure { status, message }) => {
            style::err("bench", &message);
            status
        }
    }
}

fn check(options: &BenchOptions) -> Result<(), Failure> {
    if options.min > options.max {
        let (min, max) = (table::bytes(options.min), table::bytes(options.max));
        return Err(Failure::usage(format!(
            "--min {min} is above --max {max}, so there is nothing to measure"
        )));
    }
    Ok(())
}

/// Refuses what so many ranks cannot do.
fn check_ranks(options: &BenchOptions, ranks: usize) -> Result<(), Failure> {
    let pair = |op: &&Operation| matches!(op, Operation::PingPong | Operation::Stream);
    match options.ops.iter().find(pair) {
        Some(pair) if ranks < 2 => {
            Err(Failure::usage(format!("{pair} needs 2 ranks; give -n 2, or --ops all-reduce")))
        }
        _ => Ok(()),
    }
}

/// Starts this program again, once per rank.
fn start(options: &BenchOptions) -> Result<Status, Failure> {
    // Before anything starts: each rank would say the same, and the launcher that it ended.
    check_ranks(options, options.n)?;
    let myself =
        std::env::current_exe().map_err(|error| Failure::system("cannot find this program", error))?;
    let ops: Vec<String> = options.ops.iter().map(|op| op.to_string()).collect();
    let mut program: Vec<OsString> = vec![myself.into()];
    let arguments = [
        "bench".to_owned(),
        "--join".to_owned(),
        format!("--ops={}", ops.join(",")),
        format!("--min={}", options.min),
        format!("--max={}", options.max),
        format!("--budget={}ms", options.budget.as_millis()),
        format!("--format={}", options.format),
    ];
    program.extend(arguments.into_iter().map(OsString::from));
    program.extend(options.each.then(|| "--each".into()));
    let first = Part { n: Some(options.n), env: colours(), program, ..Part::default() };
    Ok(crate::run::run(&RunOptions { stdin: Stdin::None, ..RunOptions::of(first) }))
}

/// The ranks write into pipes; whether colours are wanted is seen here. One variable speaks for both of a rank's
/// streams, so neither may be a file.
fn colours() -> Vec<Assignment> {
    use anstream::{AutoStream, ColorChoice};
    let plain = |choice| choice == ColorChoice::Never;
    match plain(AutoStream::choice(&std::io::stdout())) || plain(AutoStream::choice(&std::io::stderr())) {
        true => Vec::new(),
        false => vec![Assignment { key: "CLICOLOR_FORCE".to_owned(), value: "1".to_owned() }],
    }
}

/// Measures as one rank.
fn join(options: &BenchOptions) -> Result<Status, Failure> {
    let failed = |error: ringworld::Error| Failure { status: Status::SYSTEM, message: error.to_string() };
    let world = World::from_env().map_err(failed)?;
    check_ranks(options, world.size())?;
    let table = Table::new(options.format, options.each, world.rank() == 0);
    let rows = options.ops.len() * sizes(options.min, options.max).len();
    table.begin(&world, rows, options.budget)?;
    let measure = Measure::new(&world, options.budget, options.each);
    for &op in &options.ops {
        for bytes in sizes(options.min, options.max) {
            let times = match op {
                Operation::PingPong => measure.ping_pong(bytes),
                Operation::Stream => measure.stream(bytes),
                Operation::AllReduce => measure.all_reduce(bytes),
            };
            let times = times.map_err(failed)?;
            if let Some(wrong) = times.wrong {
                return Err(Failure { status: Status::SYSTEM, message: wrong });
            }
            table.row(&Row::new(op, bytes, world.size(), times))?;
        }
    }
    table.end()?;
    Ok(Status::SUCCESS)
}

/// `min`, then every power of two above it, up to `max`, which is measured too.
fn sizes(min: usize, max: usize) -> Vec<usize> {
    let mut sizes = vec![min];
    let mut next = min.saturating_add(1).checked_next_power_of_two();
    while let Some(size) = next.filter(|&size| size < max) {
        sizes.push(size);
        next = size.checked_mul(2);
    }
    if max > min {
        sizes.push(max);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn both_bounds_and_the_powers_of_two_between_are_measured() {
        assert_eq!(sizes(8, 64), [8, 16, 32, 64]);
        assert_eq!(sizes(12, 40), [12, 16, 32, 40]);
        assert_eq!(sizes(4, 4), [4]);
        assert_eq!(sizes(usize::MAX - 1, usize::MAX), [usize::MAX - 1, usize::MAX]);
    }
}
