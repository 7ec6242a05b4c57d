//! A secret is never lost on the way, and never shown.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_secret_is_read_from_a_file_and_never_shown() {
    let secret = file("hush\n");
    let path = secret.path().to_str().unwrap();
    let s = load(&[("RINGWORLD_SECRET_FILE", path)]).unwrap();
    assert_eq!(s.secret.expose(), b"hush");
    let s = load(&[("RINGWORLD_SECRET", "hush")]).unwrap();
    assert!(!format!("{s:?}").contains("hush"));
    assert!(
        message(load(&[("RINGWORLD_SECRET", "a"), ("RINGWORLD_SECRET_FILE", path)])).contains("only one")
    );
    assert!(message(load(&[("RINGWORLD_SECRET", "")])).contains("RINGWORLD_SECRET"));
    let empty = file("\n");
    assert!(message(load(&[("RINGWORLD_SECRET_FILE", empty.path().to_str().unwrap())])).contains("empty"));
}

#[test]
fn an_empty_secret_is_refused_wherever_it_is_said() {
    for key in ["secret", "secret_file"] {
        for empty in ["", "  ", "\n"] {
            let in_code = message(load_with(&[(key, empty)], &[]));
            assert!(in_code.contains("builder") && in_code.contains("unset it"), "{in_code}");
            // Not even over a good one.
            assert!(load_with(&[(key, empty)], &[("RINGWORLD_SECRET", "good")]).is_err());
            let config = file(&format!("{key} = {empty:?}"));
            let text = message(load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())]));
            assert!(text.contains(key) && text.contains("unset it"), "{text}");
            let name = format!("RINGWORLD_{}", key.to_ascii_uppercase());
            assert!(message(load(&[(&name, empty)])).contains(&name));
        }
    }
}

#[test]
fn a_setting_that_is_no_text_is_not_passed_over() {
    let os = |name: &str, value: &[u8]| (OsString::from(name), OsString::from_vec(value.to_vec()));
    for name in
        ["RINGWORLD_SECRET", "RINGWORLD_SECRET_FILE", "RINGWORLD_ANYTHING", "MASTER_NODE", "SLURM_PROCID"]
    {
        let text = Settings::load_os(&[], [os(name, b"hush\xff")]).unwrap_err().to_string();
        assert!(text.contains(name) && text.contains("UTF-8"), "{text}");
        assert_eq!(text.contains("hush"), name != "RINGWORLD_SECRET", "{text}");
    }
    let other = [os("LESS_TERMCAP", b"\xff"), (OsString::from_vec(vec![0xff]), OsString::from("x"))];
    assert_eq!(Settings::load_os(&[], other).unwrap().size(), None);
}

#[test]
fn the_same_text_is_the_same_secret_from_everywhere() {
    let secret = file(" hush \r\n");
    let config = file("secret = ' hush '");
    for env in [
        ("RINGWORLD_SECRET", " hush\n"),
        ("RINGWORLD_SECRET_FILE", secret.path().to_str().unwrap()),
        ("RINGWORLD_CONFIG", config.path().to_str().unwrap()),
    ] {
        assert_eq!(load(&[env]).unwrap().secret.expose(), b"hush", "{env:?}");
    }
}

#[test]
fn a_line_with_a_secret_is_not_quoted_when_it_is_wrong() {
    for text in [
        "secret = hush",
        "timeout = 3\nsecret = hush hush",
        "secret = { hush = 1 }",
        "secret = [ { hush = 'hush' } ]",
        "[job]\nsecret = 'hush'",
        "job = [ { secret = 'hush' } ]",
        "secret = 'hush",
        "secret = \"hush\\q\"",
        "secret = 'hush'\nsecret = 'hush'",
    ] {
        let config = file(text);
        let path = config.path().to_str().unwrap();
        let text = message(load(&[("RINGWORLD_CONFIG", path)]));
        assert!(!text.contains("hush") && text.contains(path), "{text}");
    }
    let config = file("timeout = 3\nwindow = = 1");
    assert!(message(load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())])).contains("line 2"));
}

#[test]
fn a_file_that_others_can_read_is_warned_of() {
    for (name, text) in [("RINGWORLD_SECRET_FILE", "hush"), ("RINGWORLD_CONFIG", "secret = 'hush'")] {
        let file = file(text);
        let path = file.path().to_str().unwrap();
        for (mode, warned) in [(0o600, false), (0o400, false), (0o640, true), (0o644, true)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            let settings = load(&[(name, path)]).unwrap();
            assert_eq!(settings.warnings().len(), usize::from(warned), "{mode:o}");
            assert!(settings.warnings().iter().all(|text| text.contains(path) && !text.contains("hush")));
        }
    }
    let config = file("timeout = 3");
    std::fs::set_permissions(config.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let settings = load(&[("RINGWORLD_CONFIG", config.path().to_str().unwrap())]).unwrap();
    assert_eq!(settings.warnings(), &[] as &[String]);
}
