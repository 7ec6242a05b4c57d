//! Schedules on real values, in an order drawn from a seed.

use super::engine::{Order, Run};
use super::memory::Memory;
use super::requests::for_schedules;
use super::{Fault, Requests, matching};
use crate::Schedule;

/// Any possible event next; half of the sends are eager.
struct Shuffled(fastrand::Rng);

impl Order for Shuffled {
    fn pick(&mut self, len: usize) -> usize {
        self.0.usize(..len)
    }

    fn eager(&mut self) -> bool {
        self.0.bool()
    }
}

/// Runs the schedules of all ranks in this process and returns the result of each rank.
///
/// Ready steps are taken in an order drawn from `seed`, sends are eager or wait for their receive at random, and
/// messages move at any moment that the schedule allows. `inputs` holds the input of each rank (see
/// [`crate::Request::layout`]); `fill` is what outputs and scratch contain before. As for
/// [`check`](super::check()), each schedule states itself whether it is in place. `op` is all that is done: what may
/// follow the last reduction is the executor's.
///
/// ```
/// use ringworld_collectives::{Collective, Counts, Order, Request, Tuning, check::execute, schedule};
/// let request = |rank| Request {
///     collective: Collective::AllGather, rank, size: 2, counts: Counts::Same(1), element: 4,
///     order: Order::Free, in_place: false,
/// };
/// let schedules = [schedule(&request(0), &Tuning::default())?, schedule(&request(1), &Tuning::default())?];
/// let results = execute(&request(0), &schedules, &[vec!['a'], vec!['b']], '-', |a, _| *a, 7)?;
/// assert_eq!(results, [['a', 'b'], ['a', 'b']]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the schedules do not fit the request or each other, or do not come to an end.
pub fn execute<T: Clone>(
    request: &(impl Requests + ?Sized),
    schedules: &[Schedule],
    inputs: &[Vec<T>],
    fill: T,
    op: impl Fn(&T, &T) -> T,
    seed: u64,
) -> Result<Vec<Vec<T>>, Fault> {
    let memories = Memory::of_all(&for_schedules(request, schedules.len())?, schedules)?;
    let partners = matching::partners(schedules)?;
    let mut cells = Vec::with_capacity(memories.len());
    for (index, memory) in memories.iter().enumerate() {
        memory.check_spans(&schedules[index])?;
        let given = inputs.get(index).map_or(0, Vec::len);
        if given != memory.input().len() {
            let reason = format!("its input has {given} elements, expected {}", memory.input().len());
            return Err(Fault::Set { index, given: inputs.len(), reason });
        }
        let mut row = vec![fill.clone(); memory.cells()];
        row[memory.input()].clone_from_slice(&inputs[index]);
        cells.push(row);
    }
    let mut run = Run::new(schedules, &memories, &partners, cells);
    run.finish(&mut Shuffled(fastrand::Rng::with_seed(seed)), &mut |left, right, _| Ok(op(left, right)))?;
    let results = memories.iter().zip(&run.cells).map(|(memory, row)| row[memory.result()].to_vec());
    Ok(results.collect())
}
