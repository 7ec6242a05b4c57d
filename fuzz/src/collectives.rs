//! Random requests for the schedules, and broken schedules for their checker.
//!
//! Promises held here: whatever is selected or forced is proved right by the symbolic checker; a request
//! that cannot be met is an error; the checker does not panic on nonsense, and what it calls right *is*
//! right when it runs on real values in a random order.

use arbitrary::{Result, Unstructured};
use ringworld_collectives::check::{check, execute};
use ringworld_collectives::{
    Action, Algorithm, Choice, Collective, Request, Schedule, Span, Tuning, build, select,
};

/// A random request and tuning: what is selected, and what is forced, is right.
pub fn schedule(data: &[u8]) {
    let _ = schedules(&mut Unstructured::new(data));
}

/// Right schedules with some steps changed: the checker finds it, or it does no harm.
pub fn checker(data: &[u8]) {
    let _ = broken(&mut Unstructured::new(data));
}

fn schedules(input: &mut Unstructured<'_>) -> Result<()> {
    let (mut request, tuning) = (request(input)?, tuning(input)?);
    for choice in [Some(select(&request, &tuning)), forced(input, &request, &tuning)?].into_iter().flatten() {
        let schedules: Vec<_> = ranks(&request).map(|r| build(&r, &choice)).collect();
        match schedules.into_iter().collect::<std::result::Result<Vec<_>, _>>() {
            Ok(schedules) => {
                if let Err(fault) = check(&request, &schedules) {
                    panic!("{request:?}: {choice}: {fault}");
                }
            }
            Err(error) => panic!("{request:?}: {choice}: {error}"),
        }
    }
    // The same with nothing held back: an answer or an error, whatever is asked.
    request.rank = input.arbitrary()?;
    request.size = input.arbitrary()?;
    request.count = input.arbitrary()?;
    request.element = input.arbitrary()?;
    let _ = (request.layout(), request.bytes(), select(&request, &tuning));
    if request.validate().is_err() {
        assert!(build(&request, &select(&request, &tuning)).is_err(), "{request:?}");
    }
    Ok(())
}

fn broken(input: &mut Unstructured<'_>) -> Result<()> {
    let (request, tuning) = (request(input)?, tuning(input)?);
    let choice = forced(input, &request, &tuning)?.unwrap_or_else(|| select(&request, &tuning));
    let Ok(mut schedules) =
        ranks(&request).map(|r| build(&r, &choice)).collect::<std::result::Result<Vec<_>, _>>()
    else {
        return Ok(());
    };
    for _ in 0..input.int_in_range(1..=3)? {
        let rank = input.choose_index(schedules.len())?;
        let mut steps = schedules[rank].to_steps();
        if steps.is_empty() {
            return Ok(());
        }
        change(input, &mut steps)?;
        let old = &schedules[rank];
        let (size, layout, scratch) = (old.size(), old.layout(), old.scratch());
        match Schedule::from_steps(old.name(), rank, size, layout, scratch, steps) {
            Ok(schedule) => schedules[rank] = schedule,
            Err(_) => return Ok(()),
        }
    }
    if check(&request, &schedules).is_err() {
        return Ok(());
    }
    prove(&request, &schedules, input.arbitrary()?);
    Ok(())
}

/// Runs the schedules on values and compares with the promise.
fn prove(request: &Request, schedules: &[Schedule], seed: u64) {
    // Sums of these are different for different sets of contributions (unless one counts twice, which
    // doubles a bit), and concatenations of letters for different orders.
    let value = |rank: usize, element: usize| vec![(rank, element)];
    let inputs: Vec<Vec<Vec<(usize, usize)>>> = schedules
        .iter()
        .map(|schedule| (0..schedule.layout().input).map(|e| value(schedule.rank(), e)).collect())
        .collect();
    let join = |a: &Vec<(usize, usize)>, b: &Vec<(usize, usize)>| [a.as_slice(), b.as_slice()].concat();
    let results = match execute(request, schedules, &inputs, Vec::new(), join, seed) {
        Ok(results) => results,
        Err(fault) => panic!("{request:?}: the checker calls it right, but it does not run: {fault}"),
    };
    let all = |element: usize| (0..request.size).map(|rank| (rank, element)).collect::<Vec<_>>();
    for (rank, result) in results.into_iter().enumerate() {
        for (element, mut found) in result.into_iter().enumerate() {
            let expected = match request.collective {
                Collective::Barrier => continue,
                Collective::Broadcast { root } => value(root, element),
                Collective::AllGather => value(element / request.count, element % request.count),
                Collective::ReduceScatter => all(rank * request.count + element),
                Collective::Reduce { .. } | Collective::AllReduce => all(element),
            };
            if request.commutative {
                found.sort_unstable();
            }
            assert_eq!(found, expected, "{request:?}, rank {rank}, element {element}, seed {seed}");
        }
    }
}

fn change(input: &mut Unstructured<'_>, steps: &mut Vec<(Action, Vec<u32>)>) -> Result<()> {
    let index = input.choose_index(steps.len())?;
    match input.int_in_range(0..=4)? {
        0 => {
            let other = input.choose_index(steps.len())?;
            let (a, b) = (steps[index].0.clone(), steps[other].0.clone());
            (steps[index].0, steps[other].0) = (b, a);
        }
        1 => steps[index].1.clear(),
        2 => {
            let on = input.arbitrary::<u8>()?;
            steps[index].1.push(u32::from(on));
        }
        3 => {
            let again = steps[index].clone();
            steps.push(again);
        }
        _ => {
            let by = |input: &mut Unstructured<'_>| -> Result<usize> {
                Ok(match input.int_in_range(0..=9)? {
                    0 => input.arbitrary()?,
                    _ => input.int_in_range(0..=4)?,
                })
            };
            let amount = by(input)?;
            let which = input.int_in_range(0..=2)?;
            let bend = |span: &mut Span| match which {
                0 => span.offset = span.offset.wrapping_add(amount),
                1 => span.len = amount,
                _ => span.offset = span.offset.saturating_sub(amount),
            };
            match &mut steps[index].0 {
                Action::Send { to, from, tag } => match which {
                    0 => *to = amount,
                    1 => *tag = amount as u32,
                    _ => bend(from),
                },
                Action::Recv { from, into, tag } => match which {
                    0 => *from = amount,
                    1 => *tag = amount as u32,
                    _ => bend(into),
                },
                Action::Reduce { left, right, into } => match amount % 4 {
                    0 => std::mem::swap(left, right),
                    1 => bend(left),
                    2 => bend(right),
                    _ => bend(into),
                },
                Action::Copy { from, into } => bend(if amount % 2 == 0 { from } else { into }),
            }
        }
    }
    Ok(())
}

fn request(input: &mut Unstructured<'_>) -> Result<Request> {
    let size = input.int_in_range(1..=12)?;
    let count = input.int_in_range(0..=60)?;
    let root = input.choose_index(size)?;
    let collective = match input.int_in_range(0..=5)? {
        0 => Collective::Barrier,
        1 => Collective::Broadcast { root },
        2 => Collective::Reduce { root },
        3 => Collective::AllGather,
        4 => Collective::ReduceScatter,
        _ => Collective::AllReduce,
    };
    let (commutative, in_place) = (input.arbitrary()?, input.arbitrary()?);
    Ok(Request {
        collective,
        rank: 0,
        size,
        count,
        element: input.int_in_range(1..=16)?,
        commutative,
        in_place,
    })
}

/// Thresholds of a few bytes, so that every algorithm gets its turn at small counts.
fn tuning(input: &mut Unstructured<'_>) -> Result<Tuning> {
    Ok(Tuning {
        direct_bytes: input.int_in_range(0..=64)?,
        direct_ranks: input.int_in_range(0..=12)?,
        doubling_bytes: input.int_in_range(0..=128)?,
        halving_chunk: input.int_in_range(0..=64)?,
        tree_bytes: input.int_in_range(0..=128)?,
        gather_bytes: input.int_in_range(0..=2048)?,
        scatter_bytes: input.int_in_range(0..=64)?,
        segment: input.int_in_range(0..=200)?,
        shortest_segment: input.int_in_range(0..=64)?,
        in_flight: input.int_in_range(0..=5)?,
        most_segments: input.int_in_range(0..=100)?,
    })
}

fn forced(input: &mut Unstructured<'_>, request: &Request, tuning: &Tuning) -> Result<Option<Choice>> {
    let algorithm = *input.choose(Algorithm::ALL)?;
    Ok(Choice::forced(algorithm, request, tuning))
}

fn ranks(request: &Request) -> impl Iterator<Item = Request> + use<> {
    let request = *request;
    (0..request.size).map(move |rank| Request { rank, ..request })
}
