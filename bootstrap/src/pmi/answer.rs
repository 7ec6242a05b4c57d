//! What a process manager answers: one line of `key=value`, with blanks between. Pure.

/// A line without its end.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    line: &'a str,
}

impl<'a> Answer<'a> {
    /// Reads a line that must be the answer `expected`, and a good one.
    pub(super) fn read(line: &'a [u8], expected: &str) -> Result<Self, String> {
        let odd = || format!("expected cmd={expected}, heard {:?}", String::from_utf8_lossy(clip(line)));
        let line = std::str::from_utf8(line).map_err(|_| odd())?;
        let answer = Self { line: line.trim_end_matches('\r') };
        if answer.line.chars().any(char::is_control) || answer.value("cmd") != Some(expected) {
            return Err(odd());
        }
        match answer.value("rc") {
            None | Some("0") => Ok(answer),
            Some(code) => {
                let why = answer.value("msg").map(|text| format!(", {text}")).unwrap_or_default();
                Err(format!("it answers {expected} with error {code}{why}"))
            }
        }
    }

    /// The value of a key, which is there once.
    pub(super) fn value(&self, key: &str) -> Option<&'a str> {
        let mut found =
            self.line.split(' ').filter_map(|word| word.split_once('=')).filter(|(k, _)| *k == key);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    /// The value of a key that must be there.
    pub(super) fn word(&self, key: &str) -> Result<&'a str, String> {
        let word = self.value(key).filter(|word| !word.is_empty());
        word.ok_or_else(|| format!("expected {key}=… once in {:?}", self.line))
    }

    /// The same, as a number.
    pub(super) fn number(&self, key: &str) -> Result<usize, String> {
        self.word(key)?.parse().map_err(|_| format!("expected {key}=NUMBER in {:?}", self.line))
    }
}

/// As much of a line as an error may show.
pub(super) fn clip(line: &[u8]) -> &[u8] {
    line.get(..200).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_line_is_read_as_what_it_does_not_say(line in "[ -~]{0,40}(cmd|rc|value)?=?(x|0)?[ -~]{0,20}") {
            if let Ok(answer) = Answer::read(line.as_bytes(), "x") {
                prop_assert!(format!(" {line} ").contains(" cmd=x "), "{line:?}");
                for key in ["rc", "value"] {
                    let Some(value) = answer.value(key) else { continue };
                    prop_assert!(format!(" {line} ").contains(&format!(" {key}={value} ")), "{line:?}");
                }
            }
        }

        #[test]
        fn no_bytes_are_a_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Answer::read(&line, "response_to_init").is_err());
        }
    }

    #[test]
    fn mpich_and_intel_mpi_are_understood() {
        let lines = [
            "cmd=my_kvsname rc=0 kvsname=kvs_26589_0_2121317366_vm",
            "cmd=my_kvsname kvsname=kvs_26589_0_2121317366_vm",
            "cmd=my_kvsname  kvsname=kvs_26589_0_2121317366_vm rc=0 msg=success and more \r",
        ];
        for line in lines {
            let answer = Answer::read(line.as_bytes(), "my_kvsname").unwrap();
            assert_eq!(answer.word("kvsname"), Ok("kvs_26589_0_2121317366_vm"));
        }
        let maxes = b"cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024";
        assert_eq!(Answer::read(maxes, "maxes").unwrap().number("vallen_max"), Ok(1024));
        // A value may have an equals sign.
        assert_eq!(
            Answer::read(b"cmd=get_result rc=0 value=a=b", "get_result").unwrap().word("value"),
            Ok("a=b")
        );
    }

    #[test]
    fn anything_else_is_refused_and_shown() {
        let refused = |line: &[u8]| Answer::read(line, "get_result").unwrap_err();
        let error = refused(b"cmd=get_result rc=-1 msg=key_nix_not_found value=unknown");
        assert_eq!(error, "it answers get_result with error -1, key_nix_not_found");
        assert_eq!(refused(b"cmd=get_result rc=1"), "it answers get_result with error 1");
        for line in [
            &b"cmd=put_result rc=0"[..],
            b"",
            b"get_result",
            b"cmd",
            b"=get_result",
            b"cmd=get_result cmd=get_result",
            b"cmd=get_result value=\x01",
            b"cmd=get_result value=\xff",
            b"cmd=get_result\tvalue=7",
            b"HTTP/1.1 400 Bad Request",
        ] {
            assert!(refused(line).starts_with("expected cmd=get_result, heard \""), "{}", refused(line));
        }
        assert!(refused(&[b'x'; 5000]).len() < 300);
        let answer = Answer::read(b"cmd=get_result rc=0 value= n=1 n=2 size=-1", "get_result").unwrap();
        for key in ["value", "n", "other"] {
            assert!(answer.word(key).unwrap_err().starts_with(&format!("expected {key}=… once in \"cmd=")));
        }
        assert!(answer.number("size").unwrap_err().contains("size=NUMBER"));
    }
}
