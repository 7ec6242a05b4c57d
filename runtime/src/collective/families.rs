//! The collectives that have several ways to be called, in one table: what each takes, what its plan is made of, whose
//! memory it needs, and what the ways are called.
//!
//! A way is a macro that makes a call of each row, with its documentation: [`owned`](super::owned),
//! [`scoped`](super::scoped) and [`persistent`](super::persistent). Blocking calls, which are more, stand by hand in
//! `blocking.rs`, as the reference to which the others' documentation refers; the barrier, which takes nothing, stands
//! by hand everywhere. To add a collective, add its plan and a row.
//!
//! ```text
//! name(arguments)
//!     owned       alias of MPI, name
//!     persistent  alias of MPI, name           (in a scope it has its own name, and no alias)
//!     plan        function of `plan.rs` (arguments)
//!     memory      in_place(data) | apart(input, output) | at_root(data, root): in place there, only read elsewhere
//!     example     arguments => what a world of one gets
//! ```

/// Calls the macro `$way!` with all rows.
macro_rules! collectives {
    ($way:ident) => {
        $way! {
            broadcast(data, root)
                owned #[doc(alias("MPI_Ibcast", "Ibcast", "immediate_broadcast_into"))] start_broadcast
                persistent #[doc(alias("MPI_Bcast_init", "Bcast_init"))] prepare_broadcast
                plan plan_broadcast(data.len(), root)
                memory in_place(data)
                example "vec![1f32, 2.0], 0" => "[1.0, 2.0]";

            reduce(data, op, root)
                owned #[doc(alias("MPI_Ireduce", "Ireduce", "immediate_reduce_into_root"))] start_reduce
                persistent #[doc(alias("MPI_Reduce_init", "Reduce_init"))] prepare_reduce
                plan plan_reduce(data.len(), &op, root, true)
                memory at_root(data, root)
                example "vec![1i32, 2], Op::Sum, 0" => "[1, 2]";

            all_reduce(data, op)
                owned #[doc(alias("MPI_Iallreduce", "Iallreduce"))]
                    #[doc(alias = "immediate_all_reduce_into")] start_all_reduce
                persistent #[doc(alias("MPI_Allreduce_init", "Allreduce_init"))] prepare_all_reduce
                plan plan_all_reduce(data.len(), &op, true)
                memory in_place(data)
                example "vec![1f32, 2.0], Op::Sum" => "[1.0, 2.0]";

            reduce_scatter(input, output, op)
                owned #[doc(alias("MPI_Ireduce_scatter_block", "Ireduce_scatter_block"))]
                    #[doc(alias = "immediate_reduce_scatter_block_into")] start_reduce_scatter
                persistent #[doc(alias = "MPI_Reduce_scatter_block_init")]
                    #[doc(alias = "Reduce_scatter_block_init")] prepare_reduce_scatter
                plan plan_reduce_scatter(input.len(), output.len(), &op, false)
                memory apart(input, output)
                example "vec![1f32, 2.0], vec![0.0; 2], Op::Sum" => "[1.0, 2.0]";

            reduce_scatter_varied(input, output, counts, op)
                owned #[doc(alias("MPI_Ireduce_scatter", "Ireduce_scatter"))] start_reduce_scatter_varied
                persistent #[doc(alias = "MPI_Reduce_scatter_init")]
                    #[doc(alias = "Reduce_scatter_init")] prepare_reduce_scatter_varied
                plan plan_reduce_scatter_varied(input.len(), output.len(), counts, &op)
                memory apart(input, output)
                example "vec![1f32, 2.0], vec![0.0; 2], &[2], Op::Sum" => "[1.0, 2.0]";

            all_gather(input, output)
                owned #[doc(alias("MPI_Iallgather", "Iallgather"))]
                    #[doc(alias = "immediate_all_gather_into")] start_all_gather
                persistent #[doc(alias("MPI_Allgather_init", "Allgather_init"))] prepare_all_gather
                plan plan_all_gather(Some(input.len()), output.len())
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2]" => "[1, 2]";

            all_gather_varied(input, output, counts)
                owned #[doc(alias("MPI_Iallgatherv", "Iallgatherv"))]
                    #[doc(alias = "immediate_all_gather_varcount_into")] start_all_gather_varied
                persistent #[doc(alias("MPI_Allgatherv_init", "Allgatherv_init"))] prepare_all_gather_varied
                plan plan_all_gather_varied(input.len(), output.len(), counts)
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2], &[2]" => "[1, 2]";

            gather(input, output, root)
                owned #[doc(alias("MPI_Igather", "Igather", "immediate_gather_into_root"))] start_gather
                persistent #[doc(alias("MPI_Gather_init", "Gather_init"))] prepare_gather
                plan plan_gather(input.len(), output.len(), root)
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2], 0" => "[1, 2]";

            gather_varied(input, output, counts, root)
                owned #[doc(alias("MPI_Igatherv", "Igatherv"))]
                    #[doc(alias = "immediate_gather_varcount_into_root")] start_gather_varied
                persistent #[doc(alias("MPI_Gatherv_init", "Gatherv_init"))] prepare_gather_varied
                plan plan_gather_varied(input.len(), output.len(), counts, root)
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2], &[2], 0" => "[1, 2]";

            scatter(input, output, root)
                owned #[doc(alias("MPI_Iscatter", "Iscatter", "immediate_scatter_into_root"))] start_scatter
                persistent #[doc(alias("MPI_Scatter_init", "Scatter_init"))] prepare_scatter
                plan plan_scatter(input.len(), output.len(), root)
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2], 0" => "[1, 2]";

            scatter_varied(input, counts, output, root)
                owned #[doc(alias("MPI_Iscatterv", "Iscatterv"))]
                    #[doc(alias = "immediate_scatter_varcount_into_root")] start_scatter_varied
                persistent #[doc(alias("MPI_Scatterv_init", "Scatterv_init"))] prepare_scatter_varied
                plan plan_scatter_varied(input.len(), counts, output.len(), root)
                memory apart(input, output)
                example "vec![1u8, 2], &[2], vec![0; 2], 0" => "[1, 2]";

            all_to_all(input, output)
                owned #[doc(alias("MPI_Ialltoall", "Ialltoall"))]
                    #[doc(alias = "immediate_all_to_all_into")] start_all_to_all
                persistent #[doc(alias("MPI_Alltoall_init", "Alltoall_init"))] prepare_all_to_all
                plan plan_all_to_all(Some(input.len()), output.len())
                memory apart(input, output)
                example "vec![1u8, 2], vec![0; 2]" => "[1, 2]";

            all_to_all_varied(input, send_counts, output, recv_counts)
                owned #[doc(alias("MPI_Ialltoallv", "Ialltoallv"))]
                    #[doc(alias = "immediate_all_to_all_varcount_into")] start_all_to_all_varied
                persistent #[doc(alias("MPI_Alltoallv_init", "Alltoallv_init"))] prepare_all_to_all_varied
                plan plan_all_to_all_varied((input.len(), send_counts), (output.len(), recv_counts))
                memory apart(input, output)
                example "vec![1u8, 2], &[2], vec![0; 2], &[2]" => "[1, 2]";

            scan(data, op)
                owned #[doc(alias("MPI_Iscan", "Iscan", "immediate_scan_into"))] start_scan
                persistent #[doc(alias("MPI_Scan_init", "Scan_init"))] prepare_scan
                plan plan_scan(data.len(), &op, false, true)
                memory in_place(data)
                example "vec![1u64, 2], Op::Sum" => "[1, 2]";

            exclusive_scan(data, op)
                owned #[doc(alias("MPI_Iexscan", "Iexscan"))]
                    #[doc(alias = "immediate_exclusive_scan_into")] start_exclusive_scan
                persistent #[doc(alias("MPI_Exscan_init", "Exscan_init"))] prepare_exclusive_scan
                plan plan_scan(data.len(), &op, true, true)
                memory in_place(data)
                example "vec![1u64, 2], Op::Sum" => "[1, 2]";
        }
    };
}

/// The type of an argument that is the same in all ways, by its name.
macro_rules! argument {
    (op $T:ident) => { impl Reduction<$T> };
    (root $T:ident) => { usize };
    (counts $T:ident) => { &[usize] };
    (send_counts $T:ident) => { &[usize] };
    (recv_counts $T:ident) => { &[usize] };
}

pub(super) use {argument, collectives};
