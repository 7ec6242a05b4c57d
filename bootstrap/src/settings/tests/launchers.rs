//! What launchers say: which is heard, of which world, and which job that makes it.

use super::*;

#[test]
fn open_mpi_is_understood() {
    let s = load(&[
        ("OMPI_COMM_WORLD_RANK", "3"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ("PMIX_RANK", "3"),
        ("MASTER_NODE", "n"),
    ])
    .unwrap();
    assert_eq!((s.rank, s.size(), s.local_rank, s.local_world_size), (Some(3), Some(4), Some(1), Some(2)));
}

#[test]
fn pmi_is_understood() {
    let s = load(&[
        ("PMI_RANK", "3"),
        ("PMI_SIZE", "4"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "2"),
        ("MASTER_NODE", "n"),
    ])
    .unwrap();
    assert_eq!((s.rank, s.size(), s.local_rank, s.local_world_size), (Some(3), Some(4), Some(1), Some(2)));
}

/// What `srun` tells task 3 of 8.
const STEP: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "42"),
    ("SLURM_STEP_ID", "3"),
    ("SLURM_PROCID", "3"),
    ("SLURM_LOCALID", "1"),
    ("SLURM_NTASKS", "8"),
    ("SLURM_STEP_NUM_TASKS", "8"),
    ("SLURM_NNODES", "4"),
    ("SLURM_STEP_NUM_NODES", "4"),
    ("SLURM_JOB_NODELIST", "a[1-9]"),
    ("SLURM_STEP_NODELIST", "gpu-[003-005,9],login"),
];

/// What a batch script of 6 tasks on 3 nodes hears.
const BATCH: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "42"),
    ("SLURM_PROCID", "0"),
    ("SLURM_LOCALID", "0"),
    ("SLURM_NTASKS", "6"),
    ("SLURM_NNODES", "3"),
    ("SLURM_JOB_NUM_NODES", "3"),
    ("SLURM_JOB_NODELIST", "n[0-2]"),
];

fn with<'a>(base: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let replaced = |name: &str| more.iter().any(|(other, _)| *other == name);
    let kept = base.iter().filter(|(name, _)| !replaced(name));
    kept.chain(more.iter().filter(|(_, value)| !value.is_empty())).copied().collect()
}

#[test]
fn a_step_of_slurm_needs_no_master_because_its_first_host_is_one() {
    let s = load(STEP).unwrap();
    assert_eq!(s.master_node.as_deref(), Some("gpu-003"));
    assert_eq!((s.rank, s.size(), s.local_rank, s.num_nodes), (Some(3), Some(8), Some(1), Some(4)));
}

#[test]
fn each_step_of_slurm_is_a_job_of_its_own_with_a_port_of_its_own() {
    let s = load(STEP).unwrap();
    assert_eq!((s.job.as_deref(), s.master_port), (Some("slurm-42.3"), 20_000 + 42 * 16 + 3));
    assert_eq!(source(&s, "job"), "environment SLURM_JOB_ID and SLURM_STEP_ID");
    assert!(source(&s, "master_port").contains("SLURM_STEP_ID"));
    let other = load(&with(STEP, &[("SLURM_JOB_ID", "43")])).unwrap();
    assert_eq!((other.job.as_deref(), other.master_port), (Some("slurm-43.3"), s.master_port + 16));
    let ports = [("SLURM_STEP_RESV_PORTS", "12009-12011")];
    assert_eq!(load(&with(STEP, &ports)).unwrap().master_port, 12009);

    // Whatever is said wins, from wherever.
    let said = load(&with(STEP, &[("MASTER_PORT", "7"), ("RINGWORLD_JOB", "mine")])).unwrap();
    assert_eq!((said.job.as_deref(), said.master_port), (Some("mine"), 7));
    let config = file("job = 'filed'\nmaster_port = 8");
    let said = load(&with(STEP, &[("RINGWORLD_CONFIG", config.path().to_str().unwrap())])).unwrap();
    assert_eq!((said.job.as_deref(), said.master_port), (Some("filed"), 8));
    let said = load(&with(STEP, &[("MASTER_NODE", "n0:9")])).unwrap();
    assert_eq!((said.job.as_deref(), said.master_port), (Some("slurm-42.3"), 9));
    for job in [1_u64, 562, 9_000, 4_294_967_295] {
        let port = load(&with(STEP, &[("SLURM_JOB_ID", &job.to_string())])).unwrap().master_port;
        assert!((20_000..29_000).contains(&port), "{job}: {port}");
    }
}

#[test]
fn a_world_that_is_not_the_step_has_no_job_and_no_ranks_from_it() {
    // One process for each of several steps, put together by hand.
    let one = with(STEP, &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]);
    let s = load(&with(&one, &[("WORLD_SIZE", "4"), ("RANK", "2"), ("MASTER_NODE", "n0")])).unwrap();
    assert_eq!((s.rank, s.job.as_deref(), s.master_port), (Some(2), None, 29500));
    // As large as the step: the step, whoever says so.
    let s = load(&with(STEP, &[("WORLD_SIZE", "8"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "5")])).unwrap();
    assert_eq!((s.rank, s.job.as_deref()), (Some(3), Some("slurm-42.3")));
    let alone = load(&with(STEP, &[("RINGWORLD_WORLD_SIZE", "1")])).unwrap();
    assert_eq!((alone.size(), alone.rank, alone.num_nodes), (Some(1), None, None));
    let text = message(load(&with(STEP, &[("WORLD_SIZE", "4")])));
    assert!(text.contains("MASTER_NODE"), "{text}");
}

#[test]
fn outside_a_step_slurm_says_that_there_are_others_and_not_which_this_is() {
    let interactive =
        [("SLURM_STEP_ID", "4294967290"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_STEP_NODELIST", "n0")];
    let shell = [("SLURM_PROCID", ""), ("SLURM_LOCALID", "")];
    for env in [with(BATCH, &[]), with(BATCH, &interactive), with(BATCH, &shell)] {
        let text = message(load(&env));
        for part in ["6 tasks", "SLURM_NTASKS", "srun", "RINGWORLD_WORLD_SIZE=1"] {
            assert!(text.contains(part), "{text}");
        }
    }
    let text = message(load(&with(BATCH, &[("SLURM_NTASKS", "")])));
    assert!(text.contains("3 nodes") && text.contains("SLURM_JOB_NUM_NODES"), "{text}");
    let one = [("SLURM_NTASKS", "1"), ("SLURM_NNODES", "1"), ("SLURM_JOB_NUM_NODES", "1")];
    assert_eq!(load(&with(BATCH, &one)).unwrap().size(), None);
    // Who says how large the world is does not hear of it.
    let alone = load(&with(BATCH, &[("RINGWORLD_WORLD_SIZE", "1")])).unwrap();
    assert_eq!((alone.size(), alone.rank, alone.num_nodes), (Some(1), None, None));
    let hosts = load(&with(BATCH, &[("MASTER_NODE", "n0"), ("NUM_NODES", "3")])).unwrap();
    assert_eq!((hosts.size(), hosts.rank, hosts.job.as_deref()), (Some(3), None, None));
}

#[test]
fn a_launcher_inside_slurm_is_closer_than_slurm() {
    let ompi = [
        ("OMPI_COMM_WORLD_RANK", "2"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ("PMIX_RANK", "2"),
        ("PMIX_NAMESPACE", "prterun-n0-7@1"),
    ];
    // On its own host it starts ranks outside of any step, elsewhere within one of its own.
    let daemon = with(STEP, &[("SLURM_JOB_NODELIST", "n[0-2]"), ("SLURM_STEP_NUM_TASKS", "2")]);
    let all: Vec<Settings> =
        [with(BATCH, &ompi), with(&daemon, &ompi)].iter().map(|env| load(env).unwrap()).collect();
    for s in &all {
        assert_eq!((s.rank, s.size(), s.local_rank), (Some(2), Some(4), Some(0)));
        assert_eq!((s.master_node.as_deref(), s.num_nodes), (Some("n0"), None));
        assert_eq!(s.job.as_deref(), Some("mpi-prterun-n0-7@1"));
        assert_eq!(s.master_port, all[0].master_port);
        assert!((20_000..29_000).contains(&s.master_port));
    }
    let hydra = [("PMI_RANK", "2"), ("PMI_SIZE", "16"), ("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "4")];
    let s = load(&with(STEP, &hydra)).unwrap();
    assert_eq!(
        (s.rank, s.size(), s.master_node.as_deref(), s.num_nodes),
        (Some(2), Some(16), Some("gpu-003"), None)
    );
    assert_eq!(s.job.as_deref(), Some("slurm-42.3"));
    // srun --mpi=pmi2 and --mpi=pmix
    let pmi2 = [("PMI_RANK", "3"), ("PMI_SIZE", "8"), ("PMI_JOBID", "42.3")];
    let pmix = [("PMIX_RANK", "3"), ("PMIX_NAMESPACE", "slurm.pmix.42.3")];
    for s in [with(STEP, &pmi2), with(STEP, &pmix)].iter().map(|env| load(env).unwrap()) {
        assert_eq!((s.rank, s.size(), s.local_rank, s.num_nodes), (Some(3), Some(8), Some(1), Some(4)));
        assert_eq!((s.master_node.as_deref(), s.job.as_deref()), (Some("gpu-003"), Some("slurm-42.3")));
    }
}

#[test]
fn ranks_that_are_all_on_one_host_meet_there() {
    let ompi = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
        ("PMIX_NAMESPACE", "prterun-vm-32003@1"),
    ];
    let s = load(&ompi).unwrap();
    assert_eq!((s.master_node.as_deref(), s.num_nodes), (Some("127.0.0.1"), Some(1)));
    assert_eq!(load(&with(BATCH, &ompi)).unwrap().master_node.as_deref(), Some("127.0.0.1"));
    let other = load(&with(&ompi, &[("PMIX_NAMESPACE", "prterun-vm-32004@1")])).unwrap();
    assert_ne!(other.master_port, s.master_port);
    assert_ne!(other.job, s.job);
    // MPICH names no job, but its process on this host does.
    let hydra = [("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "4")];
    let hydra = hydra.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let of = |proxy: &str| Settings::put_together(&[], &hydra, Some(proxy)).unwrap();
    let (s, other) = (of("hydra-7-1"), of("hydra-8-1"));
    assert_eq!((s.master_node.as_deref(), s.job.as_deref()), (Some("127.0.0.1"), Some("hydra-7-1")));
    assert!(other.job != s.job && other.master_port != s.master_port);
    // Over several hosts each has one of its own.
    let mut wide = hydra.clone();
    wide.insert("MPI_LOCALNRANKS".into(), "2".into());
    assert!(message(Settings::put_together(&[], &wide, Some("hydra-7-1"))).contains("MASTER_NODE"));
    // Two such jobs without names would mix.
    assert!(message(load(&with(&ompi, &[("PMIX_NAMESPACE", "")]))).contains("MASTER_NODE"));
}

#[test]
fn the_process_manager_is_asked_only_where_nothing_else_says_where_ranks_meet() {
    let two_hosts = [
        ("PMI_FD", "9"),
        ("PMI_RANK", "3"),
        ("PMI_SIZE", "4"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "2"),
    ];
    let asked = |env: &[(&str, &str)]| {
        load(env).unwrap().pmi.map(|pmi| (pmi.descriptor, pmi.rank, pmi.size, pmi.port))
    };
    assert_eq!(asked(&two_hosts), Some((9, 3, 4, None)));
    assert_eq!(asked(&with(&two_hosts, &[("MASTER_PORT", "5")])), Some((9, 3, 4, Some(5))));
    assert_eq!(asked(&with(&two_hosts, &[("WORLD_SIZE", "4"), ("RANK", "0")])), Some((9, 3, 4, None)));
    for more in [("MASTER_NODE", "n0"), ("RINGWORLD_WORLD_SIZE", "1"), ("SLURM_JOB_NODELIST", "n[0-2]")] {
        assert_eq!(asked(&with(&two_hosts, &[more])), None, "{more:?}");
    }
    // Of Slurm's, which speaks another dialect, the list of hosts is enough.
    assert_eq!(asked(&with(STEP, &with(&two_hosts, &[("PMI_SIZE", "8")]))), None);
    for (name, value) in [("PMI_FD", "nine"), ("PMI_FD", "-1"), ("PMI_RANK", "4"), ("PMI_RANK", "-1")] {
        let text = message(load(&with(&two_hosts, &[(name, value)])));
        assert!(text.contains(value) && text.contains(&format!("environment {name}")), "{text}");
    }
    // Not needed, not read.
    assert_eq!(asked(&with(&two_hosts, &[("PMI_FD", "nine"), ("MASTER_NODE", "n0")])), None);
    assert!(message(load(&with(&two_hosts, &[("PMI_FD", "")]))).contains("MASTER_NODE"));
}

#[test]
fn without_ranks_there_is_no_world_of_one() {
    // mpiexec -pmi-port
    let env = [("PMI_PORT", "n0:42595"), ("PMI_ID", "0"), ("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")];
    let text = message(load(&env));
    assert!(text.contains("-pmi-port") && text.contains("PMI_RANK"), "{text}");
    assert_eq!(load(&with(&env, &[("RINGWORLD_WORLD_SIZE", "1")])).unwrap().size(), Some(1));
}

#[test]
fn the_port_of_torchrun_is_its_stores() {
    let torch = [
        ("TORCHELASTIC_RUN_ID", "none"),
        ("TORCHELASTIC_RESTART_COUNT", "0"),
        ("MASTER_ADDR", "n0"),
        ("MASTER_PORT", "29500"),
        ("RANK", "1"),
        ("WORLD_SIZE", "4"),
        ("LOCAL_RANK", "1"),
        ("LOCAL_WORLD_SIZE", "4"),
    ];
    let s = load(&torch).unwrap();
    assert_eq!((s.rank, s.size(), s.master_node.as_deref()), (Some(1), Some(4), Some("n0")));
    assert_eq!(s.job.as_deref(), Some("torchrun-none-29500-0"));
    assert!((20_000..29_000).contains(&s.master_port));
    let again = load(&with(&torch, &[("TORCHELASTIC_RESTART_COUNT", "1")])).unwrap();
    assert_ne!(again.job, s.job);
    assert_eq!(load(&with(&torch, &[("RINGWORLD_MASTER_PORT", "5")])).unwrap().master_port, 5);
}

#[test]
fn an_index_of_kubernetes_alone_asks_how_many_there_are_and_takes_one_for_an_answer() {
    let text = message(load(&[("JOB_COMPLETION_INDEX", "2")]));
    assert!(text.contains("WORLD_SIZE") && text.contains("RINGWORLD_WORLD_SIZE=1"), "{text}");
    let s = load(&[("JOB_COMPLETION_INDEX", "2"), ("RINGWORLD_WORLD_SIZE", "1")]).unwrap();
    assert_eq!((s.size(), s.rank), (Some(1), None));
}

#[test]
fn a_kubernetes_index_is_the_rank_or_the_pod() {
    let base = [("JOB_COMPLETION_INDEX", "2"), ("MASTER_NODE", "job-0.svc"), ("WORLD_SIZE", "8")];
    assert_eq!(load(&base).unwrap().rank, Some(2));
    let mut several = base.to_vec();
    several.extend([("LOCAL_WORLD_SIZE", "2"), ("LOCAL_RANK", "1")]);
    assert_eq!(load(&several).unwrap().rank, Some(5));
    several.pop();
    assert_eq!(load(&several).unwrap().rank, None);
    assert!(message(load(&base[..1])).contains("WORLD_SIZE"));
}

#[test]
fn schedulers_do_not_speak_for_the_ranks_of_a_launcher_but_devices_are_as_they_are() {
    let env = [
        ("RINGWORLD_MASTER_EXTERNAL", "1"),
        ("NCCL_IB_HCA", "mlx5"),
        ("MASTER_NODE", "127.0.0.1"),
        ("WORLD_SIZE", "8"),
    ];
    let s = load(&with(STEP, &env)).unwrap();
    assert_eq!((s.rank, s.size(), s.launcher, s.job.as_deref()), (None, Some(8), true, None));
    assert_eq!(s.ib_hca.as_deref(), Some("mlx5"));
}

#[test]
fn hosts_and_ranks_on_each_outrank_a_scheduler_that_counts_tasks() {
    let env = [("NUM_NODES", "2"), ("MASTER_NODE", "n"), ("LOCAL_WORLD_SIZE", "3")];
    assert_eq!(load(&with(STEP, &env)).unwrap().size(), Some(6));
    // Hosts alone do not: two hosts may well have the eight tasks that were started.
    let s = load(&with(STEP, &env[..2])).unwrap();
    assert_eq!((s.size(), s.num_nodes, s.rank), (Some(8), Some(2), Some(3)));
    let text = message(load(&with(STEP, &[("NUM_NODES", "9"), ("MASTER_NODE", "n")])));
    assert!(text.contains("8 ranks") && text.contains("9 hosts"), "{text}");
    // Hosts of a step need not have the same number of tasks.
    let uneven = [("PMI_RANK", "3"), ("PMI_SIZE", "8"), ("MPI_LOCALNRANKS", "5")];
    assert_eq!(load(&with(STEP, &uneven)).unwrap().size(), Some(8));
}
