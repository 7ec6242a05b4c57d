use ringworld_collectives::*;
use ringworld_simulate::*;
fn main() {
    let a: Vec<usize> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    for c in [
        Collective::Barrier,
        Collective::Broadcast { root: 0 },
        Collective::Reduce { root: 0 },
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
    ] {
        let request = Request {
            collective: c,
            rank: 0,
            size: a[0],
            counts: Counts::Same(a[1]),
            element: 4,
            order: Order::Free,
            in_place: !matches!(c, Collective::AllGather | Collective::ReduceScatter),
        };
        for alg in request.algorithms() {
            let choice = Choice::forced(alg, &request, &Tuning::default()).unwrap();
            let t = std::time::Instant::now();
            let v = simulate(&request, &choice, &Fabric::default(), &Budget::default());
            let hwm = std::fs::read_to_string("/proc/self/status")
                .unwrap()
                .lines()
                .find(|l| l.starts_with("VmHWM"))
                .unwrap()
                .to_owned();
            println!("{} {:?} {v:?} {hwm}", alg.path(), t.elapsed());
        }
    }
}
