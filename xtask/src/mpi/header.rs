//! Our header mpi.h for the standard's ABI: the table of constants in C, then every function under both its names.
//!
//! Numbers are macros and not enumerators, which the standard leaves open, because programs ask with `#ifdef` for what
//! an MPI has.

use std::fmt::Write as _;

use super::constants::{Entry, Kind, Section, Value};
use super::exports::wrapped;
use super::table::Function;

const HEAD: &str = "\
/* MPI 5.0 for programs in C (C99 and newer) and C++, in the standard's own ABI: link with -lmpi_abi.
 *
 * Made by `cargo xtask mpi` from mpi/constants.txt and mpi/functions.txt; not to be edited. Names, values and types are
 * the standard's. What ringworld leaves out is declared too, and raises MPI_ERR_UNSUPPORTED_OPERATION. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif
";

const END: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

pub(crate) fn header(sections: &[Section], functions: &[Function]) -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for section in sections {
        text.push_str(&in_c(section)?);
    }
    for (title, prefix) in [("every function", ""), ("the same, for programs that wrap functions", "P")] {
        // Cannot fail: a string takes everything.
        let _ = write!(text, "\n/* {title} */\n");
        for Function { returns, name, arguments, .. } in functions {
            let _ = writeln!(text, "{}", wrapped(&format!("{returns} {prefix}{name}({arguments});")));
        }
    }
    text.push_str(END);
    Ok(text)
}

fn in_c(section: &Section) -> Result<String, String> {
    let Section { kind, title, entries, .. } = section;
    let mut text = format!("\n/* {title} */\n");
    let lines: Vec<String> = match kind {
        Kind::Number | Kind::Size => each(entries, |entry| define(entry, None))?,
        Kind::Handle(name) => {
            let of = name.trim_start_matches("MPI_");
            let _ = writeln!(text, "typedef struct MPI_ABI_{of} *{name};");
            each(entries, |entry| define(entry, Some(name)))?
        }
        Kind::Enum(name) => {
            let values = each(entries, |entry| Ok(format!("    {} = {}", entry.name, entry.value)))?;
            vec![format!("typedef enum {name} {{\n{}\n}} {name};", values.join(",\n"))]
        }
        Kind::Type => each(entries, |entry| Ok(format!("typedef {} {};", entry.value, entry.name)))?,
        Kind::Struct(name) => {
            let fields = each(entries, |Entry { name, value, .. }| {
                let (kind, array) = value.find('[').map_or((value.as_str(), ""), |at| value.split_at(at));
                Ok(format!("    {kind} {name}{array};"))
            })?;
            vec![format!("typedef struct {name} {{\n{}\n}} {name};", fields.join("\n"))]
        }
        Kind::Callbacks => each(entries, |entry| callback(&entry.value))?,
    };
    text.extend(lines.iter().map(|line| format!("{line}\n")));
    Ok(text)
}

fn each(entries: &[Entry], line: impl Fn(&Entry) -> Result<String, String>) -> Result<Vec<String>, String> {
    entries.iter().map(line).collect()
}

fn define(entry: &Entry, handle: Option<&str>) -> Result<String, String> {
    let value = match (entry.value()?, handle) {
        (Value::Number(_), Some(handle)) => format!("(({handle}){})", entry.value),
        (Value::Number(value), None) if value < 0 => format!("({value})"),
        (Value::Number(_), None) => entry.value.clone(),
        (Value::Cast(kind, value), _) => format!("(({kind}){value})"),
        (Value::Same(name), _) => name.to_owned(),
    };
    let meaning = match entry.meaning.as_str() {
        "" => String::new(),
        meaning => format!(" /* {meaning} */"),
    };
    Ok(format!("#define {:<34} {value}{meaning}", entry.name))
}

/// The type of a function, from a declaration of one.
fn callback(declaration: &str) -> Result<String, String> {
    let parts = declaration.split_once('(').and_then(|(head, rest)| Some((head.rsplit_once(' ')?, rest)));
    let ((returns, name), rest) = parts.ok_or_else(|| format!("no declaration: {declaration}"))?;
    Ok(wrapped(&format!("typedef {returns} ({name})({rest};")))
}

#[cfg(test)]
mod tests {
    use super::super::constants::sections;
    use super::super::table::functions;
    use super::*;

    #[test]
    fn each_kind_of_section_is_written_as_c_has_it() {
        let table = "handle MPI_X: things\n    MPI_X_NULL 0x10\n    MPI_NO_X MPI_X_NULL\n\
                     number: numbers\n    MPI_ONE 1 first\n    MPI_LESS -1\n    MPI_AT (void*)1\n\
                     enum MPI_E: values\n    MPI_A 1\n    MPI_B 2\n\
                     type: types\n    MPI_N int\nstruct MPI_S: a struct\n    a int\n    b int[2]\n\
                     callbacks: functions\n    int MPI_F(int a, ...)\n";
        let functions = functions("double MPI_Wtime(void)\nint MPI_G(const int level, ...)\n");
        let text = sections(table).and_then(|sections| header(&sections, &functions?)).unwrap_or_default();
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "typedef struct MPI_ABI_X *MPI_X; #define MPI_X_NULL ((MPI_X)0x10) #define MPI_NO_X MPI_X_NULL",
            "#define MPI_ONE 1 /* first */ #define MPI_LESS (-1) #define MPI_AT ((void*)1)",
            "typedef enum MPI_E { MPI_A = 1, MPI_B = 2 } MPI_E;",
            "typedef int MPI_N;",
            "typedef struct MPI_S { int a; int b[2]; } MPI_S;",
            "typedef int (MPI_F)(int a, ...);",
            "double MPI_Wtime(void); int MPI_G(const int level, ...);",
            "double PMPI_Wtime(void); int PMPI_G(const int level, ...);",
        ] {
            assert!(squeezed.contains(expected), "{expected} is not in {text}");
        }
    }
}
