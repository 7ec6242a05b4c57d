//! What the choice of interfaces promises, on made-up hosts.

use super::*;

fn interface(name: &str, address: &str) -> Interface {
    let (addr, prefix) = address.split_once('/').unwrap();
    let addr: IpAddr = addr.parse().unwrap();
    Interface {
        name: name.into(),
        addr,
        prefix: prefix.parse().unwrap(),
        loopback: addr.is_loopback(),
        up: true,
    }
}

fn host() -> Vec<Interface> {
    vec![
        interface("lo", "127.0.0.1/8"),
        interface("lo", "::1/128"),
        interface("docker0", "172.17.0.1/16"),
        interface("eth0", "fd00::2/64"),
        interface("eth0", "192.0.2.2/24"),
        interface("eth0", "fe80::2/64"),
        interface("ib0", "10.1.0.2/16"),
        interface("usb0", "169.254.1.2/16"),
        interface("veth12", "10.9.0.1/24"),
        interface("br-5f", "172.18.0.1/16"),
        interface("virbr0", "192.168.122.1/24"),
        interface("cni0", "10.244.0.1/24"),
        interface("flannel.1", "10.244.0.0/32"),
    ]
}

fn settings(include: &[&str], exclude: &[&str], nccl: Option<&str>) -> Settings {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_string()).collect();
    Settings {
        if_include: owned(include),
        if_exclude: owned(exclude),
        nccl_socket_ifname: nccl.map(Into::into),
        ..Settings::default()
    }
}

fn chosen(include: &[&str], exclude: &[&str], nccl: Option<&str>) -> Vec<String> {
    let choice = choose(&host(), &settings(include, exclude, nccl)).unwrap();
    assert_eq!(choice.chosen.len() + choice.excluded.len(), host().len(), "each once: {choice:?}");
    assert!(choice.chosen.iter().chain(&choice.excluded).all(|(_, why)| !why.is_empty()));
    choice.chosen.iter().map(|(interface, _)| interface.addr.to_string()).collect()
}

#[test]
fn by_default_only_interfaces_that_lead_out_are_used() {
    assert_eq!(chosen(&[], &[], None), ["192.0.2.2", "10.1.0.2", "fd00::2"]);
}

#[test]
fn loopback_serves_when_there_is_nothing_else() {
    let only = [interface("lo", "127.0.0.1/8"), interface("docker0", "172.17.0.1/16")];
    let choice = choose(&only, &Settings::default()).unwrap();
    assert_eq!(choice.chosen[0].0.name, "lo");
    assert_eq!(choice.chosen.len(), 1);
}

#[test]
fn inclusion_takes_names_prefixes_and_networks_in_their_order() {
    assert_eq!(chosen(&["ib0"], &[], None), ["10.1.0.2"]);
    assert_eq!(chosen(&["ib*", "192.0.2.0/24"], &[], None), ["10.1.0.2", "192.0.2.2"]);
    assert_eq!(chosen(&["fd00::/16"], &[], None), ["fd00::2"]);
    assert_eq!(chosen(&["docker0"], &[], None), ["172.17.0.1"]);
    assert_eq!(chosen(&["10.1.0.2"], &[], None), ["10.1.0.2"]);
    assert_eq!(chosen(&["lo"], &[], None), ["127.0.0.1", "::1"]);
}

#[test]
fn exclusion_adds_to_what_is_never_used() {
    assert_eq!(chosen(&[], &["ib0"], None), ["192.0.2.2", "fd00::2"]);
    assert_eq!(chosen(&[], &["eth*", "nosuch*"], None), ["10.1.0.2"]);
    assert_eq!(chosen(&[], &["192.0.2.0/24", "fd00::/64"], None), ["10.1.0.2"]);
}

#[test]
fn an_entry_that_matches_nothing_lists_what_there_is() {
    for settings in [
        settings(&["eth7"], &[], None),
        settings(&["eth0", "eth7"], &[], None),
        settings(&["10.200.0.0/16"], &[], None),
        settings(&["wl*"], &[], None),
        settings(&[], &["eth7"], None),
        settings(&[], &["10.200.0.0/16"], None),
    ] {
        let text = choose(&host(), &settings).unwrap_err().to_string();
        for part in ["RINGWORLD_IF_", "matches no interface", "ib0 10.1.0.2/16", "docker0"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn an_entry_that_is_no_network_is_called_so() {
    for settings in [settings(&["10.0.0.0/99"], &[], None), settings(&[], &["10.0.0/8"], None)] {
        let text = choose(&host(), &settings).unwrap_err().to_string();
        assert!(text.contains("is no network; give one such as"), "{text}");
    }
}

#[test]
fn what_is_left_is_known_to_be_loopback_alone_when_the_user_said_so() {
    let left_out = |include: &[&str], exclude: &[&str]| {
        choose(&host(), &settings(include, exclude, None)).unwrap().only_loopback()
    };
    let text = left_out(&[], &["eth0", "ib0"]).unwrap();
    assert!(text.contains("ib0 10.1.0.2/16 (RINGWORLD_IF_EXCLUDE names ib0)"), "{text}");
    assert!(left_out(&["lo"], &[]).unwrap().contains("RINGWORLD_IF_INCLUDE does not name it"));
    assert_eq!(left_out(&[], &["eth0"]), None);
    assert_eq!(left_out(&[], &[]), None);
    let only: Vec<_> = host().into_iter().filter(|interface| interface.loopback).collect();
    assert_eq!(choose(&only, &Settings::default()).unwrap().only_loopback(), None, "nobody said so");
}

#[test]
fn nothing_left_is_an_error_that_lists_what_there_is() {
    for settings in [
        settings(&["fe80::/10"], &[], None),
        settings(&[], &["eth0", "ib0", "lo"], None),
        settings(&[], &[], Some("wlan")),
        settings(&[], &[], Some("^eth,ib,lo")),
    ] {
        let text = choose(&host(), &settings).unwrap_err().to_string();
        assert!(text.contains("no interface is left") && text.contains("ib0 10.1.0.2/16"), "{text}");
    }
    let mut down = host();
    for interface in &mut down {
        interface.up = false;
    }
    assert!(choose(&down, &Settings::default()).is_err());
    assert!(choose(&[], &Settings::default()).unwrap_err().to_string().contains("none"));
}

#[test]
fn nccls_own_syntax_is_honoured_when_ours_is_unset() {
    assert_eq!(chosen(&[], &[], Some("ib")), ["10.1.0.2"]);
    assert_eq!(chosen(&[], &[], Some("nosuch,eth")), ["fd00::2", "192.0.2.2"]);
    assert_eq!(chosen(&[], &[], Some("=docker0")), ["172.17.0.1"]);
    assert_eq!(chosen(&[], &[], Some("^eth")), ["10.1.0.2"]);
    assert_eq!(chosen(&[], &[], Some("^=eth")), ["192.0.2.2", "10.1.0.2", "fd00::2"]);
    assert!(choose(&host(), &settings(&[], &[], Some("=eth"))).is_err(), "exact means exact");
    assert_eq!(chosen(&["eth0"], &[], Some("ib")), ["fd00::2", "192.0.2.2"]);
}

#[test]
fn this_host_can_be_listed_and_chosen_from() {
    let interfaces = enumerate().unwrap();
    assert!(interfaces.iter().any(|interface| interface.loopback));
    assert!(!choose(&interfaces, &Settings::default()).unwrap().chosen.is_empty());
}
