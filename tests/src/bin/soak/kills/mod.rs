//! Rounds of kills: a world of processes at work, one or two of them killed, and the survivors judged.

pub(crate) mod judge;
pub(crate) mod plan;
pub(crate) mod rank;

use std::time::Duration;

use ringworld_tests::clock;
use ringworld_tests::host::Network;
use ringworld_tests::job::{Job, clean};
use ringworld_tests::line::Line;
use ringworld_tests::proc;
use ringworld_tests::process::{End, Process};
use rustix::process::{Pid, kill_process};

use crate::round::{Finding, Frame, Outcome};
use crate::watch;
use crate::watch::Left;
use judge::{Kill, Survivor, judge};
use plan::{Mode, Plan, Start};

/// How long ranks wait for one that does not come.
const RENDEZVOUS: Duration = Duration::from_secs(3);
/// How long a world may take to form.
const FORMING: Duration = Duration::from_secs(25);

/// Runs the round of this seed.
pub(crate) fn run(seed: u64, frame: &Frame<'_>) -> Outcome {
    let mut plan = Plan::draw(seed, frame.mode.and_then(Mode::named));
    if plan.hosts.is_some() && !watch::networks() {
        plan.hosts = None;
    }
    let before = Left::now();
    let (mut findings, told) = if plan.start == Start::Launcher {
        launched(seed, &plan, frame)
    } else {
        by_environment(seed, &plan, frame)
    };
    let left = Left::now().but(&before);
    if !left.is_empty() {
        findings.push(Finding::new("something is left behind", left.join(", ")));
    }
    let story = format!("{plan:?}\n{told}");
    let place = if plan.hosts.is_some() { " over hosts" } else { "" };
    Outcome { seed, mode: format!("{}{place}", plan.mode.name()), findings, story }
}

fn arguments(seed: u64, plan: &Plan) -> Vec<String> {
    let mut words = ["victim", "--seed"].map(String::from).to_vec();
    words.extend([seed.to_string(), "--mode".into(), plan.mode.name()]);
    if let Some(ranks) = plan.ranks_per_host() {
        words.extend(["--ranks-per-host".into(), ranks.to_string()]);
    }
    words
}

/// Hosts with a cable each to one switch.
fn network(hosts: &[usize]) -> Network {
    let hosts = hosts.iter().max().map_or(0, |last| last + 1);
    let network = Network::new(hosts, 1);
    for host in 0..hosts {
        network.plug(host, "eth0", 0, &format!("10.81.0.{}/24", host + 1));
    }
    network
}

/// What was printed, the last of it where it was much.
fn transcripts(processes: &[Process]) -> String {
    let last = |process: &Process| {
        let text = process.transcript();
        let all = text.chars().count();
        text.chars().skip(all.saturating_sub(3000)).collect::<String>()
    };
    processes.iter().map(last).collect()
}

fn event(lines: &[Line], name: &str, rank: Option<usize>) -> Option<(u64, String)> {
    let mine =
        |line: &&Line| line.is(name) && rank.is_none_or(|rank| line.value("rank") == Some(&rank.to_string()));
    let line = lines.iter().find(mine)?;
    Some((line.number("at"), line.value("text").unwrap_or_default().to_owned()))
}

fn by_environment(seed: u64, plan: &Plan, frame: &Frame<'_>) -> (Vec<Finding>, String) {
    let myself = watch::myself();
    let mut job = Job::new(myself.to_str().expect("a path of text"), plan.size);
    for (name, value) in &plan.settings {
        job = job.with(name, Some(value));
    }
    if plan.forming {
        job = job.with("RINGWORLD_TIMEOUT", Some(&format!("{}s", RENDEZVOUS.as_secs())));
    }
    let arguments = arguments(seed, plan);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let network = plan.hosts.as_deref().map(network);
    if network.is_some() {
        job = job.with("MASTER_NODE", Some("10.81.0.1"));
    }
    let mut processes: Vec<Process> = (0..plan.size)
        .map(|index| {
            let rank = index.to_string();
            let mut given = Vec::new();
            if plan.start == Start::Given {
                given.push(("RANK", rank.as_str()));
            }
            if plan.apart.contains(&index) {
                given.push(("RINGWORLD_TRANSPORT", "^shm"));
            }
            let command = match (&network, &plan.hosts) {
                (Some(network), Some(hosts)) => {
                    job.dressed(network.host(hosts[index]).command(&myself), &given, &arguments)
                }
                _ => job.command(&given, &arguments),
            };
            Process::start(format!("rank {index}"), command)
        })
        .collect();
    if !plan.forming {
        let formed = |process: &Process| !process.events("formed").is_empty();
        if !watch::wait(FORMING, || processes.iter().all(formed)) {
            let finding = Finding::new("no world formed", format!("of {} ranks", plan.size));
            return (vec![finding], transcripts(&processes));
        }
    }
    std::thread::sleep(Duration::from_micros(plan.delay_us));
    let serves =
        |process: &Process| proc::listening(process.pid()).iter().any(|address| address.port() == job.port());
    let served = plan.forming || plan.victims.iter().any(|victim| serves(&processes[*victim]));
    let at = clock::now();
    for victim in &plan.victims {
        processes[*victim].signal(plan.signal);
    }
    let patience = frame.patience + if plan.forming { RENDEZVOUS } else { Duration::ZERO };
    let ends = watch::ends(&mut processes, patience);
    let rank_of = |index: usize| match plan.start {
        Start::Free => processes[index].events("formed").first().map(Line::rank),
        _ => Some(index),
    };
    // Of two, the second may have noticed the death of the first before its own came: then it is a survivor.
    let was_killed = |index: usize| ends[index].is_some_and(|end| end.signal == Some(plan.signal.as_raw()));
    let killed: Vec<usize> = plan.victims.iter().copied().filter(|victim| was_killed(*victim)).collect();
    let mut findings = Vec::new();
    if killed.is_empty() && !plan.forming {
        let detail = format!("the processes {:?}, which were to be killed, ended otherwise", plan.victims);
        findings.push(Finding::new("failed before the kill", detail));
    }
    let kill = Kill {
        at,
        victims: killed.iter().filter_map(|victim| rank_of(*victim)).collect(),
        served,
        forming: plan.forming.then_some(RENDEZVOUS),
        launched: false,
    };
    for (index, end) in ends.iter().enumerate().filter(|(index, _)| !killed.contains(index)) {
        let lines = processes[index].lines();
        let name = format!("rank {}", rank_of(index).unwrap_or(index));
        findings.extend(judge(&kill, &survivor(name, &lines, None, *end)));
    }
    (findings, format!("killed at {at}\n{}", transcripts(&processes)))
}

fn survivor(name: String, lines: &[Line], rank: Option<usize>, end: Option<End>) -> Survivor {
    let panic = lines.iter().find(|line| line.error && line.text.contains("panicked at"));
    Survivor {
        name,
        failed: event(lines, "failed", rank),
        refused: event(lines, "refused", rank),
        wrong: event(lines, "wrong", rank).map(|(_, text)| text),
        crashed: end.and_then(|end| end.signal),
        panicked: panic.map(|line| line.text.clone()),
        ended: end.is_some(),
    }
}

/// Under the launcher the job must end quickly, with the status of the rank killed, and leave nobody behind.
fn launched(seed: u64, plan: &Plan, frame: &Frame<'_>) -> (Vec<Finding>, String) {
    let myself = watch::myself();
    let mut command = clean(myself.with_file_name("launch"));
    command.envs(plan.settings.iter().copied());
    command.args(["run", "-n", &plan.size.to_string(), "--"]).arg(&myself).args(arguments(seed, plan));
    command.arg("--launched");
    let launcher = Process::start("ringworld run", command);
    let mut all = [launcher];
    // The launcher says nothing of its own on standard output; these are its ranks' lines.
    let wanted = if plan.forming { "begun" } else { "formed" };
    if !watch::wait(FORMING, || all[0].events(wanted).len() == plan.size) {
        let finding = Finding::new("no world formed", format!("of {} ranks under the launcher", plan.size));
        return (vec![finding], transcripts(&all));
    }
    std::thread::sleep(Duration::from_micros(plan.delay_us));
    let begun = all[0].events("begun");
    let pid_of = |rank: usize| {
        let line = begun.iter().find(|line| line.rank() == rank).expect("every rank has begun");
        i32::try_from(line.number("pid")).expect("a process id")
    };
    let mut findings = Vec::new();
    let at = clock::now();
    let over = all[0].ended().is_some();
    if over {
        findings.push(Finding::new("failed before the kill", "the launcher has ended"));
    } else {
        for victim in &plan.victims {
            let pid = Pid::from_raw(pid_of(*victim)).expect("a process id");
            let _ = kill_process(pid, plan.signal);
        }
    }
    let end = watch::ends(&mut all, frame.patience)[0];
    let took = clock::between(at, clock::now());
    let expected = 128 + plan.signal.as_raw();
    match end {
        _ if over => {}
        None => {
            findings.push(Finding::new("hang of the launcher", format!("it still runs after {took:.1?}")))
        }
        Some(end) if end.code != Some(expected) => {
            let detail = format!("the launcher ended with {end:?}, not with {expected}");
            findings.push(Finding::new("wrong status of the launcher", detail));
        }
        Some(_) if took > Duration::from_secs(3) => {
            findings.push(Finding::new("job ended too late", format!("{took:.1?} after the kill")));
        }
        Some(_) => {}
    }
    let lines = all[0].lines();
    let named = |victim: &usize| {
        let name = format!("rank {victim} ");
        lines
            .iter()
            .any(|line| line.error && line.text.contains(&name) && line.text.contains("was killed by signal"))
    };
    if !over && end.is_some() && !plan.victims.iter().any(named) {
        let detail = format!("no line of it names any of {:?}", plan.victims);
        findings.push(Finding::new("the launcher does not name the rank", detail));
    }
    let kill = Kill { at, victims: plan.victims.clone(), served: false, forming: None, launched: true };
    let kill = Kill { forming: plan.forming.then_some(RENDEZVOUS), ..kill };
    for rank in (0..plan.size).filter(|rank| !plan.victims.contains(rank)) {
        let name = format!("rank {rank}");
        let mut survivor = survivor(name, &lines, Some(rank), Some(End { code: None, signal: None }));
        // Without a world a rank does not know its number.
        survivor.refused = None;
        findings.extend(judge(&kill, &survivor));
    }
    let pids: Vec<u32> = begun.iter().filter_map(|line| line.number("pid").try_into().ok()).collect();
    let alive = |pids: &[u32]| pids.iter().copied().filter(|pid| proc::is_alive(*pid)).collect::<Vec<_>>();
    if !watch::wait(Duration::from_secs(2), || alive(&pids).is_empty()) {
        findings.push(Finding::new("orphans", format!("{:?} still run", alive(&pids))));
    }
    (findings, format!("killed at {at}\n{}", transcripts(&all)))
}
