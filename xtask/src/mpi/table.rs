//! The table of functions, read: declarations in C, one after the other.

/// One function, as C declares it.
pub(crate) struct Function {
    pub(crate) returns: String,
    pub(crate) name: String,
    /// As C has them: `void` where there are none.
    pub(crate) arguments: String,
    pub(crate) parameters: Vec<Parameter>,
}

/// One parameter: `const int sendcounts[]` has the type `const int []`.
#[derive(Clone)]
pub(crate) struct Parameter {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl Function {
    /// What it is called in Rust, for both widths of counts: without `MPI_`, in lower case.
    pub(crate) fn call(&self) -> String {
        self.name.trim_start_matches("MPI_").to_lowercase()
    }
}

/// All of them, in the order of the table.
pub(crate) fn functions(text: &str) -> Result<Vec<Function>, String> {
    let mut joined: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match joined.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => joined.push(line.to_owned()),
        }
    }
    joined
        .iter()
        .map(|line| function(line).ok_or_else(|| format!("no declaration of a function: {line}")))
        .collect()
}

fn function(line: &str) -> Option<Function> {
    let (head, rest) = line.split_once('(')?;
    let (returns, name) = head.rsplit_once(' ')?;
    let inside = rest.strip_suffix(')')?;
    let parameters = match inside {
        "" | "void" => Vec::new(),
        _ => inside.split(", ").filter(|text| *text != "...").map(parameter).collect::<Option<Vec<_>>>()?,
    };
    Some(Function {
        returns: returns.to_owned(),
        name: name.to_owned(),
        arguments: inside.to_owned(),
        parameters,
    })
}

fn parameter(text: &str) -> Option<Parameter> {
    let (before, array) = text.find('[').map_or((text, ""), |at| text.split_at(at));
    let at = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')? + 1;
    let (kind, name) = before.split_at(at);
    Some(Parameter { kind: format!("{kind}{array}").trim().to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_taken_apart() {
        let text = "# a comment\nint MPI_X(const int counts[], MPI_Comm *comm, int ranges[][3],\n    \
                    char ***argv, ...)\n";
        let read = functions(text).ok().and_then(|mut all| all.pop());
        let Some(Function { returns, name, arguments, parameters }) = read else {
            panic!("nothing was read")
        };
        let parameters: Vec<_> = parameters.iter().map(|p| (p.kind.as_str(), p.name.as_str())).collect();
        let expected = [
            ("const int []", "counts"),
            ("MPI_Comm *", "comm"),
            ("int [][3]", "ranges"),
            ("char ***", "argv"),
        ];
        assert_eq!((returns.as_str(), name.as_str(), &parameters[..]), ("int", "MPI_X", &expected[..]));
        assert_eq!(arguments, "const int counts[], MPI_Comm *comm, int ranges[][3], char ***argv, ...");
        assert!(functions("nonsense").is_err());
    }
}
