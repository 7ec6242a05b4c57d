//! The table of coverage in docs/mpi-programs.md, between two marks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::exports::{is_conversion, served};
use super::table::Function;

const BEGIN: &str = "<!-- coverage: made by `cargo xtask mpi` -->\n";
const END: &str = "<!-- end of coverage -->\n";

/// The page with its table as it is now.
pub(crate) fn page(page: &str, functions: &[Function], done: &[String]) -> Result<String, String> {
    let marks = || format!("docs/mpi-programs.md lacks the marks {} and {}", BEGIN.trim(), END.trim());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(functions, done)))
}

fn table(functions: &[Function], done: &[String]) -> String {
    let mut groups: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    let is_done =
        |function: &Function| is_conversion(&function.name) || served(function, functions, done).is_some();
    for function in functions {
        let (there, missing) = groups.entry(group(&function.name)).or_default();
        if is_done(function) { there } else { missing }.push(&function.name);
    }
    let there: usize = groups.values().map(|(there, _)| there.len()).sum();
    let mut text = format!(
        "\nOf the {} functions {there} are there; the others raise `MPI_ERR_UNSUPPORTED_OPERATION` with their name.\n\n\
         | | there | not there |\n|---|---|---|\n",
        functions.len()
    );
    for (group, (there, missing)) in groups {
        let total = there.len() + missing.len();
        // Cannot fail: a string takes everything.
        let _ = writeln!(
            text,
            "| {group} | {} of {total} | {} |",
            there.len(),
            missing_in_words(&there, &missing)
        );
    }
    text.push('\n');
    text
}

fn missing_in_words(there: &[&str], missing: &[&str]) -> String {
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match (there.len(), missing.len()) {
        (0, _) => "all".into(),
        (there_are, missing_are) if missing_are > 4 * there_are => format!("all but {}", listed(there)),
        _ => listed(missing),
    }
}

/// What a function is about, by its name.
fn group(name: &str) -> &'static str {
    let rest = name.trim_start_matches("MPI_");
    let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
    let contains = |words: &[&str]| words.iter().any(|word| rest.contains(word));
    if starts(&["T_"]) {
        "tools interface"
    } else if starts(&["File_", "Register_datarep"]) {
        "files"
    } else if starts(&[
        "Win_",
        "Put",
        "Get_accumulate",
        "Rput",
        "Rget",
        "Raccumulate",
        "Accumulate",
        "Fetch_and",
        "Compare_and",
    ]) || rest == "Get"
        || rest == "Get_c"
    {
        "one-sided"
    } else if contains(&[
        "spawn",
        "accept",
        "connect",
        "Comm_join",
        "_port",
        "publish",
        "Publish",
        "Lookup_name",
        "get_parent",
    ]) {
        "dynamic processes"
    } else if starts(&["Session_", "Comm_create_from_group", "Intercomm_create_from"])
        || contains(&["_from_session"])
    {
        "sessions"
    } else if starts(&["Type_", "Pack", "Unpack", "Get_address", "Aint_", "Get_count", "Get_elements"]) {
        "datatypes"
    } else if starts(&["Cart", "Graph", "Dist_graph", "Dims_", "Topo_"]) {
        "topologies"
    } else if starts(&["Neighbor", "Ineighbor"]) {
        "neighbourhood collectives"
    } else if starts(&[
        "Allgather",
        "Allreduce",
        "Alltoall",
        "Barrier",
        "Bcast",
        "Exscan",
        "Gather",
        "Reduce",
        "Scan",
        "Scatter",
        "Iallgather",
        "Iallreduce",
        "Ialltoall",
        "Ibarrier",
        "Ibcast",
        "Iexscan",
        "Igather",
        "Ireduce",
        "Iscan",
        "Iscatter",
    ]) {
        "collectives"
    } else if starts(&["Op_"]) {
        "operations"
    } else if starts(&["Comm_", "Intercomm_", "Attr_", "Keyval_"]) {
        "communicators and attributes"
    } else if starts(&["Group_"]) {
        "groups"
    } else if starts(&["Info_"]) {
        "info"
    } else if contains(&[
        "send", "Send", "recv", "Recv", "probe", "Probe", "Buffer_", "Pready", "Parrived", "Message_",
    ]) {
        "point to point"
    } else if starts(&["Wait", "Test", "Start", "Request_", "Cancel", "Grequest", "Status_"]) {
        "requests"
    } else {
        "environment"
    }
}
