use ringworld_collectives::*;
use ringworld_simulate::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let alg: Algorithm = a[2].parse().unwrap();
    let c = match alg.path().split('/').next().unwrap() {
        "all-gather" => Collective::AllGather,
        _ => Collective::ReduceScatter,
    };
    let request = Request {
        collective: c,
        rank: 0,
        size: a[0].parse().unwrap(),
        counts: Counts::Same(a[1].parse().unwrap()),
        element: 4,
        order: Order::Free,
        in_place: false,
    };
    let choice = Choice::forced(alg, &request, &Tuning::default()).unwrap();
    let t = std::time::Instant::now();
    if a.len() > 3 {
        for k in 1..6 {
            let t = std::time::Instant::now();
            let s = build(&Request { counts: Counts::Same(choice.segment * k), ..request.clone() }, &choice)
                .unwrap();
            println!("{k} {} {:?}", s.len(), t.elapsed());
        }
        return;
    }
    let v = simulate(&request, &choice, &Fabric::default(), &Budget::default());
    println!("{} {:?} {v:?}", alg.path(), t.elapsed());
}
