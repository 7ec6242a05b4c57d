//! The command that starts a program on another host, such as ssh. Pure: the words of `--rsh` in, those of a command
//! out.

/// What stands for the host.
const HOST: &str = "{host}";

/// A command, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rsh(Vec<String>);

impl Default for Rsh {
    fn default() -> Self {
        // Nobody is asked for a password: nobody could say for which of many hosts.
        Self(["ssh", "-x", "-o", "BatchMode=yes"].map(String::from).into())
    }
}

impl Rsh {
    /// Parses it as a shell would split it into words; nothing else of a shell is understood.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words = shell_words::split(text)
            .map_err(|error| format!("{error}; expected a command such as 'ssh -p 2222'"))?;
        match words.first() {
            Some(first) if first.contains(HOST) => {
                Err("the command itself cannot be the host; expected such as 'podman exec -i {host}'"
                    .to_owned())
            }
            Some(_) => Ok(Self(words)),
            None => Err("expected a command such as 'ssh -p 2222'".to_owned()),
        }
    }

    /// The command that starts `program` on `host`.
    ///
    /// Where it names the host itself, the program's words follow as they are. Else they follow after the host, as ssh
    /// and its like have it, which hand them to a shell: so they are quoted for one.
    pub(crate) fn command(&self, host: &str, program: &[&str]) -> Vec<String> {
        let named = self.0.iter().any(|word| word.contains(HOST));
        let mut words: Vec<String> = self.0.iter().map(|word| word.replace(HOST, host)).collect();
        if named {
            words.extend(program.iter().map(|word| (*word).to_owned()));
        } else {
            words.push(host.to_owned());
            words.extend(program.iter().map(|word| shell_words::quote(word).into_owned()));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(rsh: &str, program: &[&str]) -> Vec<String> {
        Rsh::parse(rsh).unwrap().command("n1", program)
    }

    #[test]
    fn the_host_is_where_it_stands_or_follows() {
        assert_eq!(command("ssh -p 22", &["prog", "x"]), ["ssh", "-p", "22", "n1", "prog", "x"]);
        assert_eq!(command("podman exec -i {host}", &["prog"]), ["podman", "exec", "-i", "n1", "prog"]);
        assert_eq!(command("in 'a b' me@{host}:{host}", &["p"]), ["in", "a b", "me@n1:n1", "p"]);
        assert_eq!(Rsh::parse("ssh -x -o BatchMode=yes"), Ok(Rsh::default()));
    }

    #[test]
    fn only_a_shell_sees_quotes() {
        assert_eq!(command("ssh", &["/my prog", "$x"]), ["ssh", "n1", "'/my prog'", "'$x'"]);
        assert_eq!(command("in {host}", &["/my prog", "$x"]), ["in", "n1", "/my prog", "$x"]);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for wrong in ["", "  ", "ssh 'x", "{host} run"] {
            assert!(Rsh::parse(wrong).unwrap_err().contains("expected"), "{wrong:?}");
        }
    }
}
