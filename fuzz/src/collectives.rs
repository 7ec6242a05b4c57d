//! Random requests for the schedules, and broken schedules for their checker.
//!
//! Promises held here: whatever is selected or forced is proved right by the symbolic checker; a request
//! that cannot be met is an error; the checker does not panic on nonsense, and what it calls right *is*
//! right when it runs on real values in a random order.

use arbitrary::{Result, Unstructured};
use ringworld_collectives::check::{check, execute};
use ringworld_collectives::{
    Action, Algorithm, Choice, Collective, Counts, Order, Overrides, Placement, Request, Schedule, Span,
    Tuning, build, select,
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
    let (requests, tuning) = (requests(input)?, tuning(input)?);
    let first = &requests[0];
    let tuning = placed(input, tuning, first.size)?;
    for choice in [Some(select(first, &tuning)), forced(input, first, &tuning)?].into_iter().flatten() {
        match all(&requests, &choice) {
            Ok(schedules) => {
                if let Err(fault) = check(&requests, &schedules) {
                    panic!("{requests:?}: {choice}: {fault}");
                }
            }
            Err(error) => panic!("{requests:?}: {choice}: {error}"),
        }
    }
    // The same with nothing held back: an answer or an error, whatever is asked.
    let mut request = first.clone();
    request.rank = input.arbitrary()?;
    request.size = input.arbitrary()?;
    request.element = input.arbitrary()?;
    request.counts = wild(input)?;
    let _ = (request.layout(), request.bytes(), select(&request, &tuning));
    assert!(check(&request, &[]).is_err(), "{request:?}: no schedule is that of nobody");
    if request.validate().is_err() {
        assert!(build(&request, &select(&request, &tuning)).is_err(), "{request:?}");
    }
    Ok(())
}

fn broken(input: &mut Unstructured<'_>) -> Result<()> {
    let (requests, tuning) = (requests(input)?, tuning(input)?);
    let choice = forced(input, &requests[0], &tuning)?.unwrap_or_else(|| select(&requests[0], &tuning));
    let Ok(mut schedules) = all(&requests, &choice) else {
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
    if check(&requests, &schedules).is_err() {
        return Ok(());
    }
    prove(&requests, &schedules, input.arbitrary()?);
    Ok(())
}

/// Runs the schedules on values and compares with the promise.
fn prove(requests: &[Request], schedules: &[Schedule], seed: u64) {
    // Concatenations of contributions: different for different sets, and for different orders.
    let value = |rank: usize, element: usize| vec![(rank, element)];
    let inputs: Vec<Vec<Vec<(usize, usize)>>> = schedules
        .iter()
        .map(|schedule| (0..schedule.layout().input).map(|e| value(schedule.rank(), e)).collect())
        .collect();
    let join = |a: &Vec<(usize, usize)>, b: &Vec<(usize, usize)>| [a.as_slice(), b.as_slice()].concat();
    let results = match execute(requests, schedules, &inputs, Vec::new(), join, seed) {
        Ok(results) => results,
        Err(fault) => panic!("{requests:?}: the checker calls it right, but it does not run: {fault}"),
    };
    for (rank, result) in results.into_iter().enumerate() {
        let promised = promise(requests, rank);
        assert_eq!(result.len(), promised.len(), "{requests:?}, rank {rank}");
        for (element, (mut found, expected)) in result.into_iter().zip(promised).enumerate() {
            if requests[rank].order == Order::Free {
                found.sort_unstable();
            }
            assert_eq!(found, expected, "{requests:?}, rank {rank}, element {element}, seed {seed}");
        }
    }
}

/// What a rank should get, written down a second time, from the definitions alone.
fn promise(requests: &[Request], rank: usize) -> Vec<Vec<(usize, usize)>> {
    let size = requests.len();
    let count = requests[rank].counts.of(rank);
    let reduced = |ranks: usize, start: usize, count: usize| {
        (start..start + count).map(|at| (0..ranks).map(|from| (from, at)).collect()).collect()
    };
    let inputs =
        |from: usize, start: usize, count: usize| (start..start + count).map(move |at| vec![(from, at)]);
    let before = |of: &Request, rank: usize| (0..rank).map(|r| of.counts.of(r)).sum::<usize>();
    let gathered = || (0..size).flat_map(|from| inputs(from, 0, requests[from].counts.of(from))).collect();
    match requests[rank].collective {
        Collective::Barrier => Vec::new(),
        Collective::Broadcast { root } => inputs(root, 0, count).collect(),
        Collective::Reduce { root } => reduced(size, 0, if rank == root { count } else { 0 }),
        Collective::AllReduce => reduced(size, 0, count),
        Collective::ReduceScatter => reduced(size, before(&requests[rank], rank), count),
        Collective::Scan => reduced(rank + 1, 0, count),
        Collective::ExclusiveScan => reduced(rank, 0, if rank == 0 { 0 } else { count }),
        Collective::Gather { root } if rank != root => Vec::new(),
        Collective::AllGather | Collective::Gather { .. } => gathered(),
        Collective::Scatter { root } => inputs(root, before(&requests[root], rank), count).collect(),
        Collective::AllToAll => requests
            .iter()
            .enumerate()
            .flat_map(|(from, request)| inputs(from, before(request, rank), request.counts.of(rank)))
            .collect(),
    }
}

fn change(input: &mut Unstructured<'_>, steps: &mut Vec<(Action, Vec<u32>)>) -> Result<()> {
    let index = input.choose_index(steps.len())?;
    match input.int_in_range(0..=4)? {
        0 => {
            let other = input.choose_index(steps.len())?;
            let (a, b) = (steps[index].0, steps[other].0);
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
                Action::Reduce { left, right, into, last } => match amount % 5 {
                    0 => std::mem::swap(left, right),
                    1 => bend(left),
                    2 => bend(right),
                    3 => *last = !*last,
                    _ => bend(into),
                },
                Action::Copy { from, into } => bend(if amount % 2 == 0 { from } else { into }),
            }
        }
    }
    Ok(())
}

/// The requests of all ranks; counts differ where they may, half of the time.
fn requests(input: &mut Unstructured<'_>) -> Result<Vec<Request>> {
    let size = input.int_in_range(1..=12)?;
    let root = input.choose_index(size)?;
    let collective = *input.choose(&Collective::family(root))?;
    let order = *input.choose(&[Order::Free, Order::Rank, Order::Left])?;
    let (element, in_place) = (input.int_in_range(1..=16)?, input.arbitrary()?);
    let (count, uneven): (usize, bool) = (input.int_in_range(0..=60)?, input.arbitrary()?);
    let request =
        Request { collective, rank: 0, size, counts: Counts::Same(count), element, order, in_place };
    let mut list = |len: usize| (0..len).map(|_| input.int_in_range(0..=9)).collect::<Result<Vec<usize>>>();
    let counts: Vec<Counts> = match collective {
        Collective::AllGather | Collective::ReduceScatter if uneven => {
            vec![Counts::Each(list(size)?.into()); size]
        }
        Collective::Gather { .. } | Collective::Scatter { .. } if uneven => {
            let all = list(size)?;
            let of =
                |r: usize| if r == root { Counts::Each(all.clone().into()) } else { Counts::Own(all[r]) };
            (0..size).map(of).collect()
        }
        Collective::AllToAll if uneven => {
            let pairs = list(size * size)?;
            let of = |rank: usize| Counts::Pairs {
                send: pairs[rank * size..][..size].into(),
                recv: (0..size).map(|from| pairs[from * size + rank]).collect(),
            };
            (0..size).map(of).collect()
        }
        _ => vec![Counts::Same(count); size],
    };
    Ok(counts
        .into_iter()
        .enumerate()
        .map(|(rank, counts)| Request { rank, counts, ..request.clone() })
        .collect())
}

/// Counts of any form and any size.
fn wild(input: &mut Unstructured<'_>) -> Result<Counts> {
    Ok(match input.int_in_range(0..=3)? {
        0 => Counts::Same(input.arbitrary()?),
        1 => Counts::Own(input.arbitrary()?),
        2 => Counts::Each(input.arbitrary::<Vec<usize>>()?.into()),
        _ => Counts::Pairs {
            send: input.arbitrary::<Vec<usize>>()?.into(),
            recv: input.arbitrary::<Vec<usize>>()?.into(),
        },
    })
}

/// Thresholds of a few bytes, so that every algorithm gets its turn at small counts.
fn tuning(input: &mut Unstructured<'_>) -> Result<Tuning> {
    Ok(Tuning {
        direct_bytes: input.int_in_range(0..=64)?,
        direct_ranks: input.int_in_range(0..=12)?,
        ring_ranks: input.int_in_range(0..=12)?,
        exchange_ranks: input.int_in_range(0..=12)?,
        pair_bytes: input.int_in_range(0..=512)?,
        doubling_bytes: input.int_in_range(0..=128)?,
        halving_chunk: input.int_in_range(0..=64)?,
        ring_chunk: input.int_in_range(0..=128)?,
        tree_bytes: input.int_in_range(0..=128)?,
        chain_ranks: input.int_in_range(0..=12)?,
        pipeline_bytes: input.int_in_range(0..=128)?,
        gather_bytes: input.int_in_range(0..=2048)?,
        scatter_bytes: input.int_in_range(0..=64)?,
        rooted_bytes: input.int_in_range(0..=64)?,
        exchange_bytes: input.int_in_range(0..=64)?,
        fold_bytes: input.int_in_range(0..=64)?,
        transpose_part: input.int_in_range(0..=16)?,
        segment: input.int_in_range(0..=200)?,
        shortest_segment: input.int_in_range(0..=64)?,
        in_flight: input.int_in_range(0..=5)?,
        most_segments: input.int_in_range(0..=100)?,
        algorithms: Overrides::default(),
        leader_bytes: input.int_in_range(0..=128)?,
        pack_bytes: input.int_in_range(0..=64)?,
        pack_hosts: input.int_in_range(0..=4)?,
        pack_tiny: input.int_in_range(0..=16)?,
        show_ranks: input.int_in_range(0..=12)?,
        show_bytes: input.int_in_range(0..=64)?,
        show_operands: input.int_in_range(0..=256)?,
        hosts: None,
    })
}

/// The same for ranks that share hosts as it happens.
fn placed(input: &mut Unstructured<'_>, tuning: Tuning, size: usize) -> Result<Tuning> {
    let hosts = input.int_in_range(1..=size.max(1))?;
    let host = (0..size).map(|_| input.int_in_range(1..=hosts)).collect::<Result<Vec<_>>>()?;
    Ok(tuning.on_hosts(&Placement::new(host)))
}

fn forced(input: &mut Unstructured<'_>, request: &Request, tuning: &Tuning) -> Result<Option<Choice>> {
    let algorithm = *input.choose(Algorithm::ALL)?;
    Ok(Choice::forced(algorithm, request, tuning))
}

fn all(
    requests: &[Request],
    choice: &Choice,
) -> std::result::Result<Vec<Schedule>, ringworld_collectives::Error> {
    requests.iter().map(|request| build(request, choice)).collect()
}
