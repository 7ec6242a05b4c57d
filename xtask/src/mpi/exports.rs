//! What both libraries export, as a file of Rust that each includes: every function of the table, under both its names.
//!
//! A function that `mpi/src/calls` has is a call of that, with each argument made what the semantic layer takes; any
//! other raises an error with its name. The two widths of counts are one call: where `MPI_X_c` differs from `MPI_X`
//! in a type, the argument says which it is.

use std::fmt::Write as _;

use super::table::{Function, Parameter};

const HEAD: &str = "\
// Every function of MPI, under both its names. Made by `cargo xtask mpi` from functions.txt; not to be edited.
//
// Included by each of the two libraries, whose module `c` says what handles and constants are there. That `MPI_X` is as
// strong a name as `PMPI_X` makes no difference to tools that wrap it: the first library in the order of the program
// wins.

#![allow(non_snake_case, reason = \"the names are C's\")]
#![allow(unused_variables, reason = \"functions that are not there look at none of their arguments\")]
#![allow(clippy::too_many_arguments, reason = \"they are MPI's\")]
#![allow(clippy::useless_conversion, reason = \"what is no conversion in one library is one in the other\")]
#![allow(trivial_numeric_casts, clippy::unnecessary_cast, reason = \"as above\")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = \"each argument is made by one\")]
#![allow(clippy::missing_safety_doc, reason = \"the standard says what each argument must be\")]
#![allow(clippy::suspicious_else_formatting, reason = \"lines end where they are full\")]

use std::ffi::{c_char, c_int, c_void};

use ringworld_mpi::arguments::{Address, Handles, IntOut, Ints, StatusOut, Text, TextOut};
use ringworld_mpi::kind::Kind;
use ringworld_mpi::standard::{Comm, Datatype, Errhandler, Group, Info, Message, Op, Request, Session};
use ringworld_mpi::{absent, calls, look_before_return, unsupported};

use super::c;

macro_rules! export {
    ($name:ident $profiled:ident ($($argument:ident: $type:ty),*) -> $returns:ty { $body:expr }) => {
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern \"C\" fn $profiled($($argument: $type),*) -> $returns {
            c::begin();
            // SAFETY: the program gives what the standard says of each argument.
            #[allow(unused_unsafe, reason = \"functions without pointers\")]
            let returned = unsafe { $body };
            look_before_return();
            returned
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern \"C\" fn $name($($argument: $type),*) -> $returns {
            // SAFETY: it is the same function.
            unsafe { $profiled($($argument),*) }
        }
    };
}

";

pub(crate) fn exports(functions: &[Function], done: &[String]) -> String {
    let mut text = HEAD.to_owned();
    for function in functions {
        // Cannot fail: a string takes everything.
        let _ = writeln!(text, "{}", export(function, functions, done));
    }
    text
}

/// The function of the other width, which is the same call.
fn twin<'a>(function: &Function, functions: &'a [Function]) -> Option<&'a Function> {
    let name = match function.name.strip_suffix("_c") {
        Some(narrow) => narrow.to_owned(),
        None => format!("{}_c", function.name),
    };
    let twin = functions.iter().find(|other| other.name == name)?;
    (twin.parameters.len() == function.parameters.len()).then_some(twin)
}

/// Which call serves it, if there is one.
pub(crate) fn served(function: &Function, functions: &[Function], done: &[String]) -> Option<String> {
    let own = function.call();
    let is_done = |call: &String| done.binary_search(call).is_ok();
    if is_done(&own) {
        return Some(own);
    }
    twin(function, functions)?;
    Some(own.strip_suffix("_c")?.to_owned()).filter(is_done)
}

/// Functions that only turn a handle into a number or back, which the tables of handles do.
pub(crate) fn is_conversion(name: &str) -> bool {
    name.ends_with("_toint") || name.ends_with("_fromint")
}

fn export(function: &Function, functions: &[Function], done: &[String]) -> String {
    let Function { returns, name, parameters, .. } = function;
    let declared: Vec<String> =
        parameters.iter().map(|p| format!("{}: {}", word(&p.name), rust(&p.kind))).collect();
    let body = if name.ends_with("_toint") {
        format!("c::to_int({} as usize)", word(&parameters[0].name))
    } else if name.ends_with("_fromint") {
        format!("c::from_int({}) as {}", word(&parameters[0].name), rust(returns))
    } else if let Some(call) = served(function, functions, done) {
        let twin = twin(function, functions);
        let arguments: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(place, p)| {
                argument(name, p, twin.is_some_and(|twin| twin.parameters[place].kind != p.kind))
            })
            .collect();
        let call = format!("calls::{call}({})", arguments.join(", "));
        match lacking(function) {
            Some(lacks) => format!("c::code(if {lacks} {{ absent({name:?}) }} else {{ {call} }})"),
            None if returns == "int" => format!("c::code({call})"),
            None => call,
        }
    } else {
        format!("c::code(unsupported({name:?}))")
    };
    let text =
        format!("export!({name} P{name} ({}) -> {} {{ {body} }});", declared.join(", "), rust(returns));
    wrapped(&text)
}

/// Whether the program has not said where to put a result.
fn lacking(function: &Function) -> Option<String> {
    let is_result = |p: &&Parameter| {
        let pointed = p.kind.strip_suffix('*').map(str::trim_end);
        let number = matches!(pointed, Some("int" | "MPI_Count" | "MPI_Aint"));
        (number || pointed.is_some_and(|pointed| handle(pointed).is_some()))
            && p.name != "argc"
            && !p.name.ends_with("weights")
    };
    let results: Vec<String> = function
        .parameters
        .iter()
        .filter(is_result)
        .map(|p| format!("{}.is_null()", word(&p.name)))
        .collect();
    (!results.is_empty()).then(|| results.join(" || "))
}

/// The text in lines of at most 120 columns.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > 116 {
            lines.push(std::mem::take(&mut line));
            line.push_str("   ");
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

/// A name that is no word of Rust's.
fn word(name: &str) -> String {
    match name {
        "type" | "ref" | "in" | "fn" | "where" => format!("r#{name}"),
        _ => name.to_owned(),
    }
}

const HANDLES: &[&str] = &[
    "Comm",
    "Group",
    "Datatype",
    "Op",
    "Request",
    "Message",
    "Info",
    "Errhandler",
    "Session",
    "Win",
    "File",
];

/// The kind of handle that a type of C's is, if it is one.
fn handle(kind: &str) -> Option<&str> {
    let name = kind.strip_prefix("MPI_")?;
    HANDLES.contains(&name).then_some(name)
}

/// A type of C's in Rust.
fn rust(kind: &str) -> String {
    let base = kind.trim_start_matches("const ").trim_end_matches("[]").trim();
    match kind {
        "int" | "const int" | "MPI_T_cb_safety" => return "c_int".into(),
        "double" => return "f64".into(),
        "MPI_Count" | "MPI_Offset" => return "i64".into(),
        "MPI_Aint" => return "isize".into(),
        "const char *" | "const char []" => return "*const c_char".into(),
        "char *" => return "*mut c_char".into(),
        "const void *" => return "*const c_void".into(),
        "int *" | "int []" => return "*mut c_int".into(),
        "const int *" | "const int []" => return "*const c_int".into(),
        "int [][3]" => return "*const c_int".into(),
        "MPI_Count *" | "MPI_Count []" | "MPI_Offset *" => return "*mut i64".into(),
        "const MPI_Count []" => return "*const i64".into(),
        "MPI_Aint *" | "MPI_Aint []" => return "*mut isize".into(),
        "const MPI_Aint []" => return "*const isize".into(),
        "MPI_Status *" => return "*mut c::MPI_Status".into(),
        "const MPI_Status *" => return "*const c::MPI_Status".into(),
        _ => {}
    }
    if handle(kind).is_some() {
        return format!("c::{kind}");
    }
    let pointed = base.trim_end_matches('*').trim();
    if handle(pointed).is_some() && base.matches('*').count() <= 1 {
        let constness = if kind.starts_with("const ") { "const" } else { "mut" };
        return format!("*{constness} c::{pointed}");
    }
    "*mut c_void".into()
}

/// What the semantic layer is given. `paired`: the function of the other width has another type there.
fn argument(function: &str, parameter: &Parameter, paired: bool) -> String {
    let Parameter { kind, name } = parameter;
    let x = word(name);
    let map = |of: &str| -> Option<&str> {
        Some(match of {
            "dest" | "source" | "root" | "rank" | "remote_leader" | "local_leader" => "rank",
            "rank_source" | "rank_dest" => "rank",
            "tag" | "sendtag" | "recvtag" => "tag",
            "keyval" | "comm_keyval" | "type_keyval" | "win_keyval" => "keyval",
            "required" | "provided" => "thread",
            "errorcode" | "errorclass" => "error",
            "split_type" => "split",
            "order" => "order",
            "combiner" => "combiner",
            "typeclass" => "typeclass",
            "array_of_distribs" | "array_of_dargs" => "distribute",
            "result" if function.ends_with("_compare") => "comparison",
            "status" if function == "MPI_Topo_test" => "topology",
            "ranks1" | "ranks2" => "rank",
            _ => return None,
        })
    };
    let mapped_in = |x: &str| map(name).map_or_else(|| x.to_owned(), |kind| format!("c::{kind}_in({x})"));
    match kind.as_str() {
        "int" | "const int" if paired => format!("i64::from({x})"),
        "int" | "const int" => mapped_in(&x),
        "MPI_Count" | "MPI_Offset" => x,
        "MPI_Aint" => format!("{x} as i64"),
        "const char *" | "const char []" => format!("Text::new({x})"),
        "char *" => format!("TextOut::new({x})"),
        "const void *" | "void *" => {
            let x = if kind == "const void *" { format!("{x}.cast_mut()") } else { x };
            if name.ends_with("buf") || name == "buffer" {
                format!("Address::new(c::buffer({x}))")
            } else {
                format!("Address::new({x})")
            }
        }
        "const int *" if name.ends_with("weights") => format!("Ints::narrow(c::weights({x}))"),
        "const int *" | "const int []" | "int [][3]" => match map(name) {
            Some(kind) => format!("Ints::mapped({x}, c::{kind}_in)"),
            None => format!("Ints::narrow({x})"),
        },
        "const MPI_Count []" => format!("Ints::wide({x})"),
        "const MPI_Aint []" => format!("Ints::wide({x}.cast())"),
        "int *" if name.ends_with("weights") => format!("IntOut::narrow(c::weights({x}).cast_mut())"),
        "int *" | "int []" => match map(name) {
            Some(kind) => format!("IntOut::mapped({x}, c::{kind}_in, c::{kind}_out)"),
            None => format!("IntOut::narrow({x})"),
        },
        "MPI_Count *" | "MPI_Count []" | "MPI_Offset *" => format!("IntOut::wide({x})"),
        "MPI_Aint *" | "MPI_Aint []" => format!("IntOut::wide({x}.cast())"),
        "MPI_Status *" => format!("StatusOut::new(c::status({x}))"),
        "const MPI_Status *" => format!("StatusOut::new(c::status({x}.cast_mut()))"),
        _ => {
            if let Some(handle) = handle(kind) {
                return format!("{handle}(c::handle_in(Kind::{handle}, {x} as usize))");
            }
            let pointed =
                kind.trim_start_matches("const ").trim_end_matches("[]").trim_end_matches('*').trim_end();
            match handle(pointed) {
                Some(handle) if kind.matches('*').count() <= 1 => {
                    let x = if kind.starts_with("const ") { format!("{x}.cast_mut()") } else { x };
                    format!("Handles::<{handle}>::new({x}.cast())")
                }
                _ => format!("Address::new({x})"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::functions;
    use super::*;

    #[test]
    fn both_widths_are_one_call_unless_each_has_its_own() {
        let table = "int MPI_X(int n)\nint MPI_X_c(MPI_Count n)\n\
                     int MPI_Op_create(F *f)\nint MPI_Op_create_c(G *f)\nint MPI_Y_c(int n)\n";
        let done: Vec<String> = ["op_create", "op_create_c", "x", "y"].map(Into::into).into();
        let functions = functions(table).unwrap_or_default();
        let calls: Vec<_> = functions.iter().map(|function| served(function, &functions, &done)).collect();
        assert_eq!(
            calls,
            [Some("x"), Some("x"), Some("op_create"), Some("op_create_c"), None]
                .map(|it| it.map(str::to_owned))
        );
    }
}
