//! What settings promise: who wins, who conflicts, and that nothing is silently ignored.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use super::*;

mod launchers;
mod secrets;

fn load(env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    load_with(&[], env)
}

fn load_with(overrides: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect()
    };
    let env: BTreeMap<_, _> = owned(env).into_iter().collect();
    Settings::load(&owned(overrides), &env)
}

fn message(result: Result<Settings, SettingsError>) -> String {
    result.expect_err("should be refused").to_string()
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn source(settings: &Settings, key: &str) -> String {
    settings.sources().iter().find(|entry| entry.key == key).unwrap().source.clone()
}

#[test]
fn nothing_set_means_a_world_of_one() {
    let settings = load(&[]).unwrap();
    assert_eq!((settings.size(), settings.rank), (None, None));
    assert_eq!((settings.master_port, settings.timeout), (29500, Duration::from_secs(60)));
    assert!(settings.sources().iter().all(|entry| entry.source == "default"));
}

#[test]
fn a_silent_peer_is_waited_for_without_end_where_that_is_asked_for() {
    for (text, expected) in
        [("none", None), ("NONE", None), ("0", None), ("2s", Some(Duration::from_secs(2)))]
    {
        assert_eq!(load(&[("RINGWORLD_PEER_TIMEOUT", text)]).unwrap().peer_timeout, expected, "{text}");
    }
    let config = file("peer_timeout = 'none'");
    let of_file = load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())]).unwrap();
    assert_eq!(of_file.peer_timeout, None);
    assert_eq!(load_with(&[("peer_timeout", "none")], &[]).unwrap().peer_timeout, None);
    assert!(message(load(&[("RINGWORLD_PEER_TIMEOUT", "never")])).contains("or none"));
}

#[test]
fn common_names_are_heard() {
    let env = [
        ("MASTER_ADDR", "n0"),
        ("MASTER_PORT", "1234"),
        ("NUM_NODES", "2"),
        ("LOCAL_WORLD_SIZE", "4"),
        ("RANK", "5"),
        ("LOCAL_RANK", "1"),
    ];
    let s = load(&env).unwrap();
    assert_eq!(s.master_node.as_deref(), Some("n0"));
    assert_eq!((s.master_port, s.size(), s.rank, s.local_rank), (1234, Some(8), Some(5), Some(1)));
    assert_eq!(source(&s, "master_node"), "environment MASTER_ADDR");
}

#[test]
fn the_stronger_source_wins() {
    let config = file("timeout = 9\nmaster_node = 'file'\nworld_size = 3");
    let path = config.path().to_str().unwrap();
    let base = [("RINGWORLD_CONFIG", path), ("RINGWORLD_TIMEOUT", "500ms"), ("MASTER_NODE", "env")];
    let s = load(&base).unwrap();
    assert_eq!((s.master_node.as_deref(), s.size()), (Some("env"), Some(3)));
    assert_eq!(s.timeout, Duration::from_millis(500));
    let s = load_with(&[("timeout", "7s"), ("master_node", "code")], &base).unwrap();
    assert_eq!((s.master_node.as_deref(), s.timeout), (Some("code"), Duration::from_secs(7)));
    let both = [("RINGWORLD_RANK", "1"), ("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_NODE", "n")];
    assert_eq!(load(&both).unwrap().rank, Some(1));
}

#[test]
fn equally_strong_sources_that_disagree_are_both_named() {
    let text = message(load(&[("MASTER_NODE", "a"), ("MASTER_ADDR", "b"), ("WORLD_SIZE", "2")]));
    for part in ["MASTER_NODE", "says a", "MASTER_ADDR", "says b"] {
        assert!(text.contains(part), "{text}");
    }
    let text = message(load(&[
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("PMI_RANK", "2"),
        ("WORLD_SIZE", "4"),
        ("MASTER_NODE", "n"),
    ]));
    for part in ["OMPI_COMM_WORLD_RANK says 1", "PMI_RANK says 2", "RINGWORLD_RANK"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(load(&[("MASTER_NODE", "a"), ("MASTER_ADDR", "a"), ("WORLD_SIZE", "2")]).is_ok());
}

#[test]
fn slurm_node_lists_expand_to_their_first_host() {
    for (list, host) in [
        ("n7", "n7"),
        ("a,b", "a"),
        ("r[1-2]n[04,06]", "r1n04"),
        ("n[10-12]-ib", "n10-ib"),
        ("x.y[2],z", "x.y2"),
    ] {
        assert_eq!(parse::first_slurm_host(list).as_deref(), Ok(host), "{list}");
    }
    for list in ["", "n[", "n[]", "n]", ",a"] {
        assert!(parse::first_slurm_host(list).is_err(), "{list}");
    }
}

#[test]
fn a_larger_world_is_never_silently_one() {
    let text = message(load(&[("WORLD_SIZE", "4")]));
    assert!(text.contains("MASTER_NODE") && text.contains("environment WORLD_SIZE"), "{text}");
    assert!(message(load(&[("OMPI_COMM_WORLD_SIZE", "4")])).contains("MASTER_NODE"));
    assert!(message(load(&[("LOCAL_WORLD_SIZE", "4")])).contains("MASTER_NODE"));
    assert!(message(load(&[("MASTER_NODE", "n0")])).contains("NUM_NODES"));
    assert!(message(load(&[("RANK", "1")])).contains("WORLD_SIZE"));
    assert_eq!(load(&[("WORLD_SIZE", "1")]).unwrap().size(), Some(1));
}

#[test]
fn impossible_numbers_are_refused() {
    let text = message(load(&[("WORLD_SIZE", "4"), ("RANK", "4"), ("MASTER_NODE", "n")]));
    assert!(text.contains("rank 4") && text.contains("0 to 3"), "{text}");
    for (name, value) in [
        ("WORLD_SIZE", "0"),
        ("WORLD_SIZE", "two"),
        ("MASTER_PORT", "70000"),
        ("RINGWORLD_TIMEOUT", "soon"),
        ("RINGWORLD_TIMEOUT", "0"),
        ("RINGWORLD_TIMEOUT", "1e19"),
        ("RINGWORLD_PEER_TIMEOUT", "101years"),
        ("RINGWORLD_SPIN_US", "18446744073709551615"),
        ("RINGWORLD_WINDOW", "64X"),
        ("RINGWORLD_TRANSPORT", "tcp,^shm"),
        ("RINGWORLD_TCP_LANES", "0"),
        ("RINGWORLD_IB_GID_INDEX", "256"),
        ("RINGWORLD_MASTER_EXTERNAL", "maybe"),
    ] {
        let text = message(load(&[(name, value)]));
        assert!(text.contains(name) && text.contains(value) && text.contains("expected"), "{text}");
    }
    let text = message(load(&[("WORLD_SIZE", "2"), ("NUM_NODES", "3"), ("MASTER_NODE", "n")]));
    assert!(text.contains("2 ranks") && text.contains("3 hosts"), "{text}");
    assert!(
        message(load(&[("LOCAL_RANK", "2"), ("LOCAL_WORLD_SIZE", "2"), ("MASTER_NODE", "n")]))
            .contains("local rank 2")
    );
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    assert!(message(load(&[("RINGWORLD_IF_EXLUDE", "x")])).contains("RINGWORLD_IF_EXCLUDE"));
    let config = file("time_out = 9");
    let text = message(load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())]));
    assert!(text.contains("time_out") && text.contains("mean timeout"), "{text}");
    assert!(message(load_with(&[("worldsize", "2")], &[])).contains("world_size"));
    assert_eq!(load(&[("RINGWORLD_TEST_ANYTHING", "x")]).unwrap().warnings(), &[] as &[String]);
}

#[test]
fn names_that_are_nobodys_slip_of_the_pen_are_only_warned_of() {
    for name in ["RINGWORLD_ROOT", "RINGWORLD_HOME", "RINGWORLD_DIR", "RINGWORLD_VERSION", "RINGWORLD_PORT"] {
        let settings = load(&[(name, "4")]).unwrap();
        assert_eq!((settings.size(), settings.warnings().len()), (None, 1), "{name}");
        assert!(settings.warnings()[0].contains(name), "{:?}", settings.warnings());
    }
    for (name, meant) in [
        ("RINGWORLD_TIMOUT", "RINGWORLD_TIMEOUT"),
        ("RINGWORLD_RANKS", "RINGWORLD_RANK"),
        ("RINGWORLD_WORLDSIZE", "RINGWORLD_WORLD_SIZE"),
        ("RINGWORLD_Timeout", "RINGWORLD_TIMEOUT"),
        // However far it is from a name: who sets it does not mean to run without a secret.
        ("RINGWORLD_MY_SECRET_KEY", "RINGWORLD_SECRET"),
    ] {
        assert!(message(load(&[(name, "4")])).contains(meant), "{name}");
    }
}

#[test]
fn what_kubernetes_says_of_services_is_no_setting() {
    let links = [
        ("RINGWORLD_PORT", "tcp://10.0.0.1:29500"),
        ("RINGWORLD_SERVICE_HOST", "10.0.0.1"),
        ("RINGWORLD_SERVICE_PORT", "29500"),
        ("RINGWORLD_SERVICE_PORT_RENDEZVOUS", "29500"),
        ("RINGWORLD_PORT_29500_TCP", "tcp://10.0.0.1:29500"),
        ("RINGWORLD_PORT_29500_TCP_ADDR", "10.0.0.1"),
        ("RINGWORLD_PORT_29500_TCP_PROTO", "tcp"),
        ("RINGWORLD_MASTER_PORT", "tcp://10.0.0.1:29600"),
        ("RINGWORLD_MASTER_SERVICE_HOST", "10.0.0.1"),
        ("MASTER_PORT", "tcp://10.0.0.1:29700"),
    ];
    let settings = load(&links).unwrap();
    assert_eq!((settings.size(), settings.master_port), (None, 29500));
    assert_eq!(settings.warnings(), &[] as &[String]);
    // What says no service is read as ever.
    assert!(message(load(&[("MASTER_PORT", "10.0.0.1:29500")])).contains("from 1 to 65535"));
}

#[test]
fn a_size_that_is_stated_is_never_overruled() {
    let node = ("MASTER_NODE", "n");
    let size = |env: &[(&str, &str)]| load(env).map(|settings| (settings.size(), settings.num_nodes));
    // Hosts alone say how many ranks there are at least, not how many.
    assert_eq!(size(&[node, ("RINGWORLD_NUM_NODES", "2"), ("WORLD_SIZE", "8")]), Ok((Some(8), Some(2))));
    assert_eq!(size(&[node, ("RINGWORLD_LOCAL_WORLD_SIZE", "4"), ("WORLD_SIZE", "8")]), Ok((Some(8), None)));
    // With the ranks on each they do.
    let product = [("RINGWORLD_NUM_NODES", "2"), ("RINGWORLD_LOCAL_WORLD_SIZE", "3")];
    assert_eq!(size(&[&product[..], &[node, ("WORLD_SIZE", "8")]].concat()), Ok((Some(6), Some(2))));
    // What is weaker and cannot be does not count.
    assert_eq!(size(&[("NUM_NODES", "3"), ("RINGWORLD_WORLD_SIZE", "1")]), Ok((Some(1), None)));
    let alone =
        load(&[("RANK", "3"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "4"), ("RINGWORLD_WORLD_SIZE", "1")]);
    let alone = alone.unwrap();
    assert_eq!((alone.size(), alone.rank, alone.local_rank), (Some(1), None, None));
    assert_eq!(source(&alone, "rank"), "default");

    let equal = [node, ("WORLD_SIZE", "4"), ("NUM_NODES", "2"), ("LOCAL_WORLD_SIZE", "4")];
    for (env, parts) in [
        (&equal[..], ["4 ranks", "2 hosts", "4 ranks on each"]),
        (&[node, ("WORLD_SIZE", "2"), ("NUM_NODES", "3")], ["2 ranks", "3 hosts", "WORLD_SIZE"]),
        (&[node, ("WORLD_SIZE", "2"), ("LOCAL_WORLD_SIZE", "3")], ["2 ranks", "this host alone", "3"]),
        (
            &[node, ("WORLD_SIZE", "2"), ("RINGWORLD_NUM_NODES", "3")],
            ["2 ranks", "3 hosts", "RINGWORLD_NUM_NODES"],
        ),
    ] {
        let text = message(load(env));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn a_file_may_use_toml_types_and_must_exist() {
    let config =
        file("if_exclude = ['docker0', '10.0.0.0/8']\nwindow = '1M'\nmaster_external = true\nsecret = 's'");
    let s = load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())]).unwrap();
    assert_eq!(s.if_exclude, ["docker0", "10.0.0.0/8"]);
    assert_eq!((s.window, s.launcher, s.secret.expose()), (Some(1 << 20), true, &b"s"[..]));
    assert!(message(load(&[("RINGWORLD_CONFIG", "/nonexistent.toml")])).contains("/nonexistent.toml"));
    let broken = file("a = = 1");
    assert!(
        message(load(&[("RINGWORLD_CONFIG", broken.path().to_str().unwrap())])).contains("cannot be used")
    );
}

#[test]
fn the_masters_address_takes_every_usual_form() {
    for (text, host, port) in [
        ("n0", "n0", None),
        ("n0.example.org:80", "n0.example.org", Some(80)),
        ("10.0.0.1:80", "10.0.0.1", Some(80)),
        ("fd00::1", "fd00::1", None),
        ("[fd00::1]", "fd00::1", None),
        ("[fd00::1]:80", "fd00::1", Some(80)),
        ("fe80::1%eth0", "fe80::1%eth0", None),
    ] {
        assert_eq!(parse::node(text), Ok((host.to_string(), port)), "{text}");
    }
    for text in ["n0:", "n0:x", "n0:0", "[n0]", "[fd00::1]x", "a b", "http://n0", ":80"] {
        assert!(parse::node(text).is_err(), "{text}");
    }
    let s = load(&[("MASTER_NODE", "[fd00::1]:80"), ("WORLD_SIZE", "2")]).unwrap();
    assert_eq!((s.master_node.as_deref(), s.master_port), (Some("fd00::1"), 80));
    let text = message(load(&[("MASTER_NODE", "n0:80"), ("MASTER_PORT", "81"), ("WORLD_SIZE", "2")]));
    assert!(text.contains("80") && text.contains("81") && text.contains("MASTER_PORT"), "{text}");
}

#[test]
fn sizes_durations_and_transports_take_their_usual_forms() {
    assert_eq!(parse::size("64K"), Ok(65536));
    assert_eq!(parse::size("1MiB"), Ok(1 << 20));
    assert_eq!(parse::size("17"), Ok(17));
    assert!(parse::size("-1").is_err() && parse::size("99999999999999G").is_err());
    assert_eq!(parse::duration("30"), Ok(Duration::from_secs(30)));
    assert_eq!(parse::duration("0.25"), Ok(Duration::from_millis(250)));
    assert_eq!(parse::duration("2min"), Ok(Duration::from_secs(120)));
    assert!(parse::duration("-3").is_err() && parse::duration("inf").is_err());
    let only: TransportChoice = "tcp, shm".parse().unwrap();
    assert!(only.allows("tcp") && only.allows("shm") && !only.allows("ibverbs") && !only.is_exclusion());
    let except: TransportChoice = "^ibverbs".parse().unwrap();
    assert!(except.allows("tcp") && !except.allows("ibverbs") && except.is_exclusion());
    assert_eq!(load(&[("RINGWORLD_SPIN_US", "50")]).unwrap().spin, Some(Duration::from_micros(50)));
    assert_eq!(load(&[("RINGWORLD_OP_TIMEOUT", "none")]).unwrap().op_timeout, None);
    let forced = load(&[("RINGWORLD_ALGORITHMS", "all-reduce/ring, broadcast/chain")]).unwrap();
    assert_eq!(forced.algorithms, ["all-reduce/ring", "broadcast/chain"]);
    assert!(load(&[("RINGWORLD_REPRODUCIBLE", "1")]).unwrap().reproducible);
}

#[test]
fn the_gid_index_is_read_as_nccl_means_it_and_ours_wins() {
    let index = |env: &[(&str, &str)]| load(env).map(|settings| settings.ib_gid_index);
    assert_eq!(index(&[("NCCL_IB_GID_INDEX", "3")]), Ok(Some(3)));
    assert_eq!(index(&[("NCCL_IB_GID_INDEX", "-1")]), Ok(None));
    assert_eq!(index(&[("NCCL_IB_GID_INDEX", "3"), ("RINGWORLD_IB_GID_INDEX", "-1")]), Ok(None));
    for wrong in ["-2", "256", "one"] {
        let text = message(load(&[("NCCL_IB_GID_INDEX", wrong)]));
        assert!(text.contains("NCCL_IB_GID_INDEX") && text.contains("0 to 255"), "{text}");
    }
}

#[test]
fn the_number_of_queue_pairs_is_bounded_and_nccl_s_is_heard() {
    let pairs = |env: &[(&str, &str)]| load(env).map(|settings| settings.ib_queue_pairs);
    assert_eq!(pairs(&[]), Ok(None));
    assert_eq!(pairs(&[("NCCL_IB_QPS_PER_CONNECTION", "4")]), Ok(Some(4)));
    assert_eq!(
        pairs(&[("NCCL_IB_QPS_PER_CONNECTION", "4"), ("RINGWORLD_IB_QUEUE_PAIRS", "16")]),
        Ok(Some(16))
    );
    for wrong in ["0", "17", "-1", "two"] {
        let text = message(load(&[("RINGWORLD_IB_QUEUE_PAIRS", wrong)]));
        assert!(text.contains("RINGWORLD_IB_QUEUE_PAIRS") && text.contains("1 to 16"), "{text}");
    }
}

#[test]
fn ports_are_one_or_a_range_and_addresses_are_such_that_lead_somewhere() {
    let ports = |text| load(&[("RINGWORLD_TCP_PORTS", text)]).map(|settings| settings.tcp_ports);
    assert_eq!(load(&[]).unwrap().tcp_ports, None);
    assert_eq!(ports("30000-30100"), Ok(Some(30000..=30100)));
    assert_eq!(ports(" 30000 - 30100 "), Ok(Some(30000..=30100)));
    assert_eq!(ports("30000"), Ok(Some(30000..=30000)));
    for wrong in ["0", "0-5", "30100-30000", "30000-", "-30000", "30000-70000", "a-b", "1-2-3", "30000:30100"]
    {
        let text = message(load(&[("RINGWORLD_TCP_PORTS", wrong)]));
        assert!(text.contains("RINGWORLD_TCP_PORTS") && text.contains("30000-30100"), "{wrong}: {text}");
    }
    let told = |text| load(&[("RINGWORLD_ADVERTISE", text)]).map(|settings| settings.advertise);
    let both: Vec<IpAddr> = ["192.0.2.1", "fd00::1"].map(|ip| ip.parse().unwrap()).into();
    assert_eq!(told("192.0.2.1, fd00::1"), Ok(both));
    for wrong in ["n0", "192.0.2.1:80", "0.0.0.0", "::", "224.0.0.1", "192.0.2.1,x"] {
        let text = message(load(&[("RINGWORLD_ADVERTISE", wrong)]));
        assert!(text.contains("RINGWORLD_ADVERTISE") && text.contains("IP addresses"), "{wrong}: {text}");
    }
}

#[test]
fn including_and_excluding_interfaces_exclude_one_another() {
    let text = message(load(&[("RINGWORLD_IF_INCLUDE", "eth0"), ("RINGWORLD_IF_EXCLUDE", "eth1")]));
    assert!(text.contains("RINGWORLD_IF_INCLUDE") && text.contains("RINGWORLD_IF_EXCLUDE"), "{text}");
}

#[test]
fn the_manual_lists_every_knob_with_its_names_default_and_reason() {
    let manual = include_str!("../../../docs/settings.md");
    for knob in KNOBS {
        let names: Vec<_> =
            knob.aliases.iter().chain(knob.schedulers).map(|name| format!("`{name}`")).collect();
        let row = format!(
            "| `{}` | `{}` | {} | {} | {} | {} |",
            knob.key,
            knob.env(),
            names.join(", "),
            knob.form,
            knob.default,
            knob.why
        );
        assert!(manual.contains(&row), "docs/settings.md should have this row:\n{row}");
    }
}
