//! Settings from hostile environments and files.
//!
//! Promises held here: no panic; the same words give the same settings; whatever is accepted is
//! consistent; a secret is never shown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt as _;

use ringworld_bootstrap::{KNOBS, Settings, SettingsError};

/// What a secret is in these inputs, so that it can be looked for in everything that is printed.
const SECRET: &str = "correct-horse-battery";

/// Lines of `NAME=VALUE` as an environment; a line that begins with `+` is set in code instead.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut overrides = Vec::new();
    let mut env = BTreeMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        // Knobs that name files would read this machine's; `toml` below has one of its own.
        let name = name.trim();
        if ["config", "secret_file"].iter().any(|file| name.to_lowercase().ends_with(file)) {
            continue;
        }
        match name.strip_prefix('+') {
            Some(key) => overrides.push((key.to_owned(), value.to_owned())),
            None => _ = env.insert(name.to_owned(), value.to_owned()),
        }
    }
    judge(&overrides, &env);
    env.insert("RINGWORLD_SECRET".into(), SECRET.into());
    judge(&overrides, &env);
}

/// The bytes as the file that `RINGWORLD_CONFIG` names; then with a secret in it, well written and not.
pub fn toml(data: &[u8]) {
    if data.windows(4).any(|word| word.eq_ignore_ascii_case(b"file")) || data.contains(&b'\\') {
        // A key that names another file, perhaps an endless one.
        return;
    }
    let in_file = |text: &[u8], more: &[(&str, &str)]| {
        let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
        if file.write_all(text).is_err() {
            return;
        }
        let Some(path) = file.path().to_str() else { return };
        let mut env = BTreeMap::from([("RINGWORLD_CONFIG".to_owned(), path.to_owned())]);
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        judge(&[], &env);
    };
    in_file(data, &[]);
    in_file(data, &[("RINGWORLD_SECRET", SECRET)]);
    for line in
        ["secret = '#'", "secret = #", "secret = { '#' = '#' }", "secret = '#", "secret = ['#', { a = '#' }]"]
    {
        let line = line.replace('#', SECRET);
        in_file(&[data, b"\n", line.as_bytes()].concat(), &[]);
        in_file(&[line.as_bytes(), b"\n", data].concat(), &[]);
    }
}

/// The bytes as the secret itself, as the system passes it on: it is never lost, whatever it is.
pub fn secret(data: &[u8]) {
    let env = [("RINGWORLD_SECRET".into(), OsString::from_vec(data.to_vec()))];
    let text = std::str::from_utf8(data).ok().map(str::trim_ascii).filter(|text| !text.is_empty());
    match Settings::load_os(&[], env) {
        Ok(settings) => assert_eq!(Some(settings.secret.expose()), text.map(str::as_bytes)),
        Err(_) => assert_eq!(text, None, "a good secret is refused"),
    }
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(data).is_err() {
        return;
    }
    let path = file.path().as_os_str().to_owned();
    match Settings::load_os(&[], [("RINGWORLD_SECRET_FILE".into(), path)]) {
        Ok(settings) => assert_eq!(settings.secret.expose(), data.trim_ascii()),
        Err(_) => assert!(data.trim_ascii().is_empty(), "a good secret is refused"),
    }
}

fn judge(overrides: &[(String, String)], env: &BTreeMap<String, String>) {
    let read = || Settings::load(overrides, env);
    let settings = match read() {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains(SECRET), "{text}");
            assert_eq!(Err::<(), _>(&error), read().as_ref().map(|_| ()), "an answer that changes");
            if let SettingsError::UnknownKey { nearest, .. } = &error {
                assert!(!nearest.is_empty());
            }
            return;
        }
        Ok(settings) => settings,
    };
    let shown = format!("{settings:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert_eq!(
        Some(&shown),
        read().ok().map(|again| format!("{again:?}")).as_ref(),
        "an answer that changes"
    );
    assert_eq!(settings.sources().len(), KNOBS.len());
    if let Some(size) = settings.size() {
        assert!(size > 0, "{shown}");
        assert!(size == 1 || settings.master_node.is_some(), "nobody knows where to meet: {shown}");
        assert!(settings.rank.is_none_or(|rank| rank < size), "{shown}");
    } else {
        assert!(settings.master_node.is_none() && settings.rank.is_none(), "silently alone: {shown}");
    }
    assert!(settings.if_include.is_empty() || settings.if_exclude.is_empty(), "{shown}");
    assert!(settings.master_port > 0, "{shown}");
}
