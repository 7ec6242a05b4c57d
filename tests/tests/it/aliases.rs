//! Who searches the library's pages for a name that others have for a call finds ours, and finds it first.
//!
//! Reads the sources as text; needs no build. `mpi_table` reads them, too, and the page.

use std::collections::BTreeSet;

use super::mpi_table::{code, defined, page, sources, words};

/// Names of MPI that are no names of calls of ours, or are found by another.
const NO_ALIAS: [&str; 6] =
    ["MPI_X", "MPI_Ix", "MPI_X_init", "MPI_Wtime", "MPI_Isendrecv", "MPI_Isendrecv_replace"];

/// What newcomers from MPI, mpi4py, rsmpi and torch.distributed search for, and the item of ours that must come first.
#[rustfmt::skip]
const SEARCHED: &[(&str, &[&str])] = &[
    ("all_reduce", &["all_reduce", "Allreduce", "allreduce", "MPI_Allreduce", "ncclAllReduce", "MPI_IN_PLACE"]),
    ("all_reduce_into", &["all_reduce_into"]),
    ("all_reduce_many", &["all_reduce_coalesced"]),
    ("start_all_reduce", &["Iallreduce", "MPI_Iallreduce", "immediate_all_reduce_into"]),
    ("prepare_all_reduce", &["Allreduce_init", "MPI_Allreduce_init"]),
    ("broadcast", &["broadcast", "Bcast", "bcast", "MPI_Bcast", "broadcast_into"]),
    ("start_broadcast", &["Ibcast", "immediate_broadcast_into"]),
    ("broadcast_object", &["broadcast_object_list"]),
    ("barrier", &["barrier", "Barrier", "MPI_Barrier", "monitored_barrier"]),
    ("start_barrier", &["Ibarrier", "immediate_barrier"]),
    ("reduce", &["reduce", "Reduce", "MPI_Reduce"]),
    ("reduce_into", &["reduce_into_root"]),
    ("start_reduce", &["Ireduce", "immediate_reduce_into_root"]),
    ("reduce_scatter", &["reduce_scatter", "Reduce_scatter_block", "reduce_scatter_tensor"]),
    ("reduce_scatter_varied", &["MPI_Reduce_scatter"]),
    ("start_reduce_scatter", &["Ireduce_scatter_block", "immediate_reduce_scatter_block_into"]),
    ("all_gather", &["all_gather", "Allgather", "MPI_Allgather", "all_gather_into", "all_gather_into_tensor"]),
    ("all_gather_varied", &["Allgatherv", "MPI_Allgatherv", "all_gather_varcount_into"]),
    ("start_all_gather", &["Iallgather", "immediate_all_gather_into"]),
    ("gather", &["gather", "Gather", "MPI_Gather", "gather_into_root"]),
    ("gather_varied", &["Gatherv", "MPI_Gatherv", "gather_varcount_into_root"]),
    ("start_gather", &["Igather", "immediate_gather_into_root"]),
    ("scatter", &["scatter", "Scatter", "MPI_Scatter", "scatter_into_root"]),
    ("scatter_varied", &["Scatterv", "MPI_Scatterv", "scatter_varcount_into_root"]),
    ("start_scatter", &["Iscatter", "immediate_scatter_into_root"]),
    ("scatter_objects", &["scatter_object_list"]),
    ("all_to_all", &["all_to_all", "Alltoall", "MPI_Alltoall", "all_to_all_into", "all_to_all_single"]),
    ("all_to_all_varied", &["Alltoallv", "MPI_Alltoallv", "all_to_all_varcount_into"]),
    ("start_all_to_all", &["Ialltoall", "immediate_all_to_all_into"]),
    ("scan", &["Scan", "MPI_Scan"]),
    ("scan_into", &["scan_into"]),
    ("exclusive_scan", &["Exscan", "exscan", "MPI_Exscan"]),
    ("exclusive_scan_into", &["exclusive_scan_into"]),

    ("send", &["send", "Send", "MPI_Send", "ready_send"]),
    ("send_sync", &["Ssend", "MPI_Ssend", "synchronous_send"]),
    ("start_send", &["Isend", "isend", "MPI_Isend", "immediate_send", "buffered_send"]),
    ("start_send_sync", &["Issend", "immediate_synchronous_send"]),
    ("recv", &["recv", "Recv", "MPI_Recv", "receive", "receive_into", "process_at_rank"]),
    ("recv_vec", &["receive_vec"]),
    ("start_recv", &["Irecv", "irecv", "MPI_Irecv", "immediate_receive_into", "MPI_Imrecv"]),
    ("send_recv", &["Sendrecv", "MPI_Sendrecv", "send_receive", "send_receive_into"]),
    ("send_recv_replace", &["Sendrecv_replace", "MPI_Sendrecv_replace"]),
    ("probe", &["Probe", "MPI_Probe"]),
    ("try_probe", &["Iprobe", "MPI_Iprobe", "immediate_probe"]),
    ("probe_matched", &["Mprobe", "mprobe", "MPI_Mprobe", "matched_probe"]),
    ("try_probe_matched", &["improbe", "MPI_Improbe"]),
    ("scope", &["batch_isend_irecv", "P2POp"]),
    ("Any", &["ANY_SOURCE", "ANY_TAG", "any_process"]),
    ("RecvFrom", &["PROC_NULL"]),
    ("Status", &["MPI_Status", "Get_source"]),
    ("elements", &["Get_count", "MPI_Get_count"]),
    ("wait_all", &["Waitall", "waitall", "MPI_Waitall"]),
    ("wait_any", &["Waitany", "MPI_Waitany", "MPI_Waitsome"]),
    ("test_any", &["MPI_Testany"]),
    ("is_done", &["is_completed", "MPI_Test"]),
    ("start", &["Startall", "MPI_Start"]),
    ("Pending", &["Work", "async_op"]),

    ("from_env", &["init_process_group", "initialize", "MPI_Init", "Universe", "mpiexec", "torchrun"]),
    ("finish", &["destroy_process_group", "Finalize", "MPI_Finalize"]),
    ("World", &["COMM_WORLD", "MPI.COMM_WORLD", "MPI_COMM_WORLD"]),
    ("Communicator", &["ProcessGroup", "MPI_Comm"]),
    ("rank", &["Get_rank", "get_rank", "MPI_Comm_rank", "this_process"]),
    ("size", &["Get_size", "get_world_size", "MPI_Comm_size"]),
    ("local_rank", &["LOCAL_RANK", "get_node_local_rank"]),
    ("host", &["Get_processor_name", "MPI_Get_processor_name"]),
    ("split", &["Split", "MPI_Comm_split", "split_by_color", "new_group"]),
    ("split_by_host", &["Split_type", "MPI_Comm_split_type", "new_subgroups"]),
    ("create", &["Create", "Create_group", "MPI_Comm_create", "split_by_subgroup_collective"]),
    ("duplicate", &["Dup", "MPI_Comm_dup", "duplicate"]),
    ("group", &["Get_group", "MPI_Comm_group"]),
    ("ranks", &["get_process_group_ranks", "get_global_rank"]),
    ("rank_of", &["get_group_rank", "MPI_Group_rank"]),
    ("include", &["Incl", "MPI_Group_incl"]),
    ("exclude", &["Excl", "MPI_Group_excl"]),
    ("Cartesian", &["Create_cart", "CartesianCommunicator"]),
    ("coordinates", &["Get_coords", "MPI_Cart_coords", "rank_to_coordinates"]),
    ("rank_at", &["Get_cart_rank", "MPI_Cart_rank", "coordinates_to_rank"]),
    ("dims", &["Compute_dims", "MPI_Dims_create"]),
    ("abort", &["Abort", "MPI_Abort"]),
    ("route", &["get_backend"]),
    ("Op", &["ReduceOp", "SystemOperation", "MPI_Op"]),
    ("Average", &["AVG"]),
    ("LogicalAnd", &["MPI_LAND"]),
    ("scaled", &["PREMUL_SUM"]),
    ("bytemuck", &["Equivalence"]),
];

/// An attribute that gives an item other names to be found by.
struct Aliases<'a> {
    names: Vec<&'a str>,
    /// The first line below the attributes.
    item: &'a str,
    /// Whether it stands on its own, not within an `impl`, an `enum` or the table of collectives.
    is_outermost: bool,
}

impl Aliases<'_> {
    /// What the item is called.
    fn item_name(&self) -> &str {
        let item = self.item.split(['(', '<', ';', ',', '{', '=']).next().unwrap_or_default();
        words(item).last().unwrap_or_default()
    }
}

fn aliases(source: &str) -> Vec<Aliases<'_>> {
    const BEGIN: &str = "#[doc(alias";
    let mut found = Vec::new();
    for (at, _) in source.match_indices(BEGIN) {
        let (names, mut rest) = source[at + BEGIN.len()..].split_once(']').unwrap();
        loop {
            rest = rest.trim_start();
            let skipped = if rest.starts_with("///") {
                rest.split_once('\n')
            } else {
                rest.strip_prefix("#[").and_then(|attribute| attribute.split_once(']'))
            };
            match skipped {
                Some((_, below)) => rest = below,
                None => break,
            }
        }
        found.push(Aliases {
            names: names.split('"').skip(1).step_by(2).collect(),
            item: rest.lines().next().unwrap_or_default(),
            is_outermost: at == 0 || source[..at].ends_with('\n'),
        });
    }
    found
}

/// As rustdoc compares names: neither case nor `_` counts.
fn normalized(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

#[test]
fn aliases_are_read_whatever_they_stand_on() {
    let planted = "#[doc(alias(\n    \"a\",\n    \"A b\"\n))]\npub use x::Y;\nimpl Z {\n    #[doc(alias = \"c\")]\n    \
                   #[must_use]\n    /// Doc.\n    pub const fn d<T>(self) -> E {\n}\n\
                   owned #[doc(alias = \"f\")]\n    #[doc(alias = \"g\")] start_h\n";
    let read = aliases(planted);
    let read: Vec<_> =
        read.iter().map(|read| (read.names.join("+"), read.item_name(), read.is_outermost)).collect();
    let expected =
        [("a+A b", "Y", true), ("c", "d", false), ("f", "start_h", false), ("g", "start_h", false)];
    assert_eq!(read, expected.map(|(names, item, outermost)| (names.to_owned(), item, outermost)));
}

#[test]
fn every_name_of_mpi_that_has_one_of_ours_is_an_alias_of_it() {
    let sources = sources();
    let all = sources.iter().flat_map(|source| aliases(source));
    let known: BTreeSet<&str> = all.flat_map(|alias| alias.names).collect();
    let mut seen = 0;
    for line in page().lines().filter(|line| line.starts_with('|') && !line.contains("left out")) {
        let theirs = line.trim_matches('|').split('|').next().unwrap_or_default().to_owned();
        for name in code(&theirs).flat_map(words).filter(|word| word.starts_with("MPI_")) {
            seen += 1;
            assert!(
                known.contains(name) || NO_ALIAS.contains(&name),
                "docs/mpi.md: `{name}` is nobody's alias; write `#[doc(alias = \"{name}\")]` before what it is called \
                 here, or add it to NO_ALIAS in this test"
            );
        }
    }
    assert!(seen > 100, "only {seen} names: the page is no longer read rightly");
}

/// Rustdoc's order of what has just that name: first what is called so itself, then by aliases, and of these the one
/// with the shortest name. So an alias of more than one item must mean the one with the shortest.
#[test]
fn newcomers_find_what_they_search_for_and_find_it_first() {
    let sources = sources();
    let defined = defined(&sources);
    let all: Vec<Aliases<'_>> = sources.iter().flat_map(|source| aliases(source)).collect();
    let mut wrong = Vec::new();
    for (ours, names) in SEARCHED {
        for name in *names {
            let wanted = normalized(name);
            if wanted == normalized(ours) && defined.contains(*ours) {
                continue;
            }
            let with_alias =
                all.iter().filter(|alias| alias.names.iter().any(|name| normalized(name) == wanted));
            let mut answers: Vec<_> = with_alias.map(Aliases::item_name).collect();
            answers.sort_unstable_by_key(|answer| (answer.len(), *answer));
            if answers.first() != Some(ours) {
                wrong.push(format!("{name} should lead to {ours} first, but leads to {answers:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Aliases of items themselves. All modules of the library are private, so readers see such an item where it is
/// re-exported, and rustdoc keeps no alias but that of the `pub use`; on methods and variants it keeps them.
fn dropped(source: &str) -> Vec<String> {
    let outermost = aliases(source).into_iter().filter(|alias| alias.is_outermost);
    let lost = outermost.filter(|alias| !alias.item.starts_with("pub use "));
    lost.map(|alias| format!("{:?} of {}", alias.names, alias.item)).collect()
}

#[test]
fn no_alias_stands_where_rustdoc_drops_it() {
    let planted = "#[doc(alias = \"kept\")]\n#[doc(inline)]\npub use a::A;\n#[doc(alias = \"lost\")]\n/// B.\n\
                   pub struct B;\n\
                   impl B {\n    #[doc(alias = \"a method's\")]\n    pub fn b() {}\n}\n";
    assert_eq!(dropped(planted), ["[\"lost\"] of pub struct B;"]);
    let sources = sources();
    let found: Vec<String> = sources.iter().flat_map(|source| dropped(source)).collect();
    assert!(
        found.is_empty(),
        "rustdoc drops the alias of an item that is re-exported; write it before the `pub use` in runtime/src/lib.rs: \
         {found:?}"
    );
}
