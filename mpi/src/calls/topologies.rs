//! Topologies.

use std::sync::Arc;

use crate::arguments::{Handles, IntOut, Ints};
use crate::comms::{self, Comm as Object};
use crate::error::{Result, error, fail};
use crate::guard::{on_comm, on_none};
use crate::making;
use crate::standard::{
    CART, Comm, DIST_GRAPH, ERR_ARG, ERR_COMM, ERR_RANK, ERR_TOPOLOGY, GRAPH, Info, UNDEFINED, UNWEIGHTED,
    WEIGHTS_EMPTY,
};
use crate::topology::{Edges, Grid, Topology, dims};

/// The first ranks, which take part in a topology of so many.
#[track_caller]
fn first(comm: &Object, size: i64) -> Result<Option<Object>> {
    if comm.is_inter() {
        return fail(ERR_COMM, "an intercommunicator has no topology");
    }
    if size > comm.size() as i64 || size < 0 {
        return fail(ERR_ARG, format!("a topology of {size} ranks does not fit onto {}", comm.size()));
    }
    let joins = (comm.rank() as i64) < size;
    making::split(comm, joins.then_some(0), 0)
}

/// Gives the program a communicator with a topology.
fn give(newcomm: Handles<Comm>, made: Option<Object>, topology: impl FnOnce() -> Topology) {
    let made = made.map(|made| made.with(topology()));
    newcomm.set(made.map_or(Comm::NULL, comms::insert));
}

pub fn cart_create(
    comm_old: Comm,
    ndims: i32,
    dims: Ints,
    periods: Ints,
    _reorder: i32,
    comm_cart: Handles<Comm>,
) -> i32 {
    on_comm("MPI_Cart_create", comm_old, |comm| {
        comm_cart.set(Comm::NULL);
        let number = super::shared::number(ndims.into(), "ndims")?;
        let periodic = periods.vec(number).into_iter().map(|it| it != 0).collect();
        let grid = Grid::new(dims.vec(number), periodic)?;
        give(comm_cart, first(comm, grid.size())?, || Topology::Grid(grid));
        Ok(())
    })
}

pub fn cart_map(comm: Comm, ndims: i32, dims: Ints, periods: Ints, newrank: IntOut) -> i32 {
    on_comm("MPI_Cart_map", comm, |comm| {
        let number = super::shared::number(ndims.into(), "ndims")?;
        let periodic = periods.vec(number).into_iter().map(|it| it != 0).collect();
        mapped(comm, Grid::new(dims.vec(number), periodic)?.size(), newrank)
    })
}

fn mapped(comm: &Object, size: i64, newrank: IntOut) -> Result<()> {
    if size > comm.size() as i64 {
        return fail(ERR_ARG, format!("a topology of {size} ranks does not fit onto {}", comm.size()));
    }
    let rank = comm.rank() as i64;
    newrank.set(if rank < size { rank } else { UNDEFINED.into() });
    Ok(())
}

pub fn cartdim_get(comm: Comm, ndims: IntOut) -> i32 {
    on_comm("MPI_Cartdim_get", comm, |comm| {
        ndims.set(comm.topology()?.grid()?.dimensions.len() as i64);
        Ok(())
    })
}

pub fn cart_get(comm: Comm, maxdims: i32, dims: IntOut, periods: IntOut, coords: IntOut) -> i32 {
    on_comm("MPI_Cart_get", comm, |comm| {
        let grid = comm.topology()?.grid()?;
        let here = grid.coordinates(comm.rank() as i64);
        for (place, here) in here.iter().enumerate().take(maxdims.max(0) as usize) {
            dims.put(place, grid.dimensions[place]);
            periods.put(place, grid.periodic[place].into());
            coords.put(place, *here);
        }
        Ok(())
    })
}

pub fn cart_rank(comm: Comm, coords: Ints, rank: IntOut) -> i32 {
    on_comm("MPI_Cart_rank", comm, |comm| {
        let grid = comm.topology()?.grid()?;
        rank.set(grid.rank(&coords.vec(grid.dimensions.len()))?);
        Ok(())
    })
}

pub fn cart_coords(comm: Comm, rank: i32, maxdims: i32, coords: IntOut) -> i32 {
    on_comm("MPI_Cart_coords", comm, |comm| {
        let grid = comm.topology()?.grid()?;
        if rank < 0 || rank as usize >= comm.size() {
            return fail(ERR_RANK, format!("rank {rank} does not exist"));
        }
        let there = grid.coordinates(rank.into());
        there.iter().take(maxdims.max(0) as usize).enumerate().for_each(|(place, it)| coords.put(place, *it));
        Ok(())
    })
}

pub fn cart_shift(comm: Comm, direction: i32, disp: i32, rank_source: IntOut, rank_dest: IntOut) -> i32 {
    on_comm("MPI_Cart_shift", comm, |comm| {
        let (source, dest) = comm.topology()?.grid()?.shift(comm.rank() as i64, direction, disp)?;
        rank_source.set(source.into());
        rank_dest.set(dest.into());
        Ok(())
    })
}

pub fn cart_sub(comm: Comm, remain_dims: Ints, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Cart_sub", comm, |comm| {
        let grid = comm.topology()?.grid()?;
        let here = grid.coordinates(comm.rank() as i64);
        let (mut color, mut key) = (0, 0);
        let (mut dimensions, mut periodic) = (Vec::new(), Vec::new());
        for (place, here) in here.iter().enumerate() {
            let length = grid.dimensions[place];
            if remain_dims.get(place) == 0 {
                color = color * length + here;
            } else {
                key = key * length + here;
                dimensions.push(length);
                periodic.push(grid.periodic[place]);
            }
        }
        let made = making::split(comm, Some(color as i32), key as i32)?;
        give(newcomm, made, || Topology::Grid(Grid { dimensions, periodic }));
        Ok(())
    })
}

pub fn dims_create(nnodes: i32, ndims: i32, dims: IntOut) -> i32 {
    on_none("MPI_Dims_create", || {
        let number = super::shared::number(ndims.into(), "ndims")?;
        let given: Vec<i64> = (0..number).map(|place| dims.get(place)).collect();
        if number == 0 {
            return Ok(());
        }
        let made = self::dims(nnodes.into(), &given)?;
        made.into_iter().enumerate().for_each(|(place, length)| dims.put(place, length));
        Ok(())
    })
}

pub fn topo_test(comm: Comm, status: IntOut) -> i32 {
    on_comm("MPI_Topo_test", comm, |comm| {
        let kind = match comm.topology {
            None => UNDEFINED,
            Some(Topology::Grid(_)) => CART,
            Some(Topology::Graph { .. }) => GRAPH,
            Some(Topology::Neighbours { .. }) => DIST_GRAPH,
        };
        status.set(kind.into());
        Ok(())
    })
}

/// Ends and edges of a graph, as they are given for all ranks.
fn graph(nnodes: i32, ends: Ints, edges: Ints) -> Result<Topology> {
    let number = super::shared::number(nnodes.into(), "nnodes")?;
    let ends = ends.ints(number);
    let whole = ends.last().copied().unwrap_or(0).max(0) as usize;
    let edges = edges.ints(whole);
    let ascends =
        ends.windows(2).all(|pair| pair[0] <= pair[1]) && ends.first().is_none_or(|first| *first >= 0);
    if !ascends || edges.iter().any(|edge| *edge < 0 || *edge >= nnodes) {
        return fail(ERR_TOPOLOGY, "the edges of the graph cannot be");
    }
    Ok(Topology::Graph { ends, edges })
}

pub fn graph_create(
    comm_old: Comm,
    nnodes: i32,
    indx: Ints,
    edges: Ints,
    _reorder: i32,
    comm_graph: Handles<Comm>,
) -> i32 {
    on_comm("MPI_Graph_create", comm_old, |comm| {
        comm_graph.set(Comm::NULL);
        let topology = graph(nnodes, indx, edges)?;
        give(comm_graph, first(comm, nnodes.into())?, || topology);
        Ok(())
    })
}

pub fn graph_map(comm: Comm, nnodes: i32, indx: Ints, edges: Ints, newrank: IntOut) -> i32 {
    on_comm("MPI_Graph_map", comm, |comm| {
        graph(nnodes, indx, edges)?;
        mapped(comm, nnodes.into(), newrank)
    })
}

fn ends_and_edges(comm: &Object) -> Result<(&[i32], &[i32])> {
    match comm.topology()? {
        Topology::Graph { ends, edges } => Ok((ends, edges)),
        _ => fail(ERR_TOPOLOGY, "the communicator has no graph"),
    }
}

pub fn graphdims_get(comm: Comm, nnodes: IntOut, nedges: IntOut) -> i32 {
    on_comm("MPI_Graphdims_get", comm, |comm| {
        let (ends, edges) = ends_and_edges(comm)?;
        nnodes.set(ends.len() as i64);
        nedges.set(edges.len() as i64);
        Ok(())
    })
}

fn put(numbers: &[i32], most: i32, into: IntOut) {
    numbers
        .iter()
        .take(most.max(0) as usize)
        .enumerate()
        .for_each(|(place, it)| into.put(place, (*it).into()));
}

pub fn graph_get(comm: Comm, maxindex: i32, maxedges: i32, indx: IntOut, edges: IntOut) -> i32 {
    on_comm("MPI_Graph_get", comm, |comm| {
        let known = ends_and_edges(comm)?;
        put(known.0, maxindex, indx);
        put(known.1, maxedges, edges);
        Ok(())
    })
}

pub fn graph_neighbors_count(comm: Comm, rank: i32, nneighbors: IntOut) -> i32 {
    on_comm("MPI_Graph_neighbors_count", comm, |comm| {
        nneighbors.set(comm.topology()?.edges_of(rank)?.len() as i64);
        Ok(())
    })
}

pub fn graph_neighbors(comm: Comm, rank: i32, maxneighbors: i32, neighbors: IntOut) -> i32 {
    on_comm("MPI_Graph_neighbors", comm, |comm| {
        put(comm.topology()?.edges_of(rank)?, maxneighbors, neighbors);
        Ok(())
    })
}

/// Edges with weights; none where the program says that there are none.
fn edges(degree: i32, ranks: Ints, weights: Ints, size: usize) -> Result<Edges> {
    let degree = super::shared::number(degree.into(), "the degree")?;
    let ranks = ranks.ints(degree);
    if let Some(rank) = ranks.iter().find(|rank| **rank < 0 || **rank as usize >= size) {
        return fail(ERR_RANK, format!("rank {rank} does not exist"));
    }
    let weights = if has_weights(weights) { weights.ints(degree) } else { Vec::new() };
    Ok(Edges { ranks, weights })
}

fn has_weights(weights: Ints) -> bool {
    !weights.is_null() && ![UNWEIGHTED, WEIGHTS_EMPTY].contains(&weights.number())
}

pub fn dist_graph_create_adjacent(
    comm_old: Comm,
    indegree: i32,
    sources: Ints,
    sourceweights: Ints,
    outdegree: i32,
    destinations: Ints,
    destweights: Ints,
    _info: Info,
    _reorder: i32,
    comm_dist_graph: Handles<Comm>,
) -> i32 {
    on_comm("MPI_Dist_graph_create_adjacent", comm_old, |comm| {
        comm_dist_graph.set(Comm::NULL);
        let sources = edges(indegree, sources, sourceweights, comm.size())?;
        let destinations = edges(outdegree, destinations, destweights, comm.size())?;
        let weighted = sourceweights.number() != UNWEIGHTED && destweights.number() != UNWEIGHTED;
        let made = first(comm, comm.size() as i64)?;
        give(comm_dist_graph, made, || Topology::Neighbours { sources, destinations, weighted });
        Ok(())
    })
}

pub fn dist_graph_create(
    comm_old: Comm,
    n: i32,
    sources: Ints,
    degrees: Ints,
    destinations: Ints,
    weights: Ints,
    _info: Info,
    _reorder: i32,
    comm_dist_graph: Handles<Comm>,
) -> i32 {
    on_comm("MPI_Dist_graph_create", comm_old, |comm| {
        comm_dist_graph.set(Comm::NULL);
        let number = super::shared::number(n.into(), "n")?;
        let (sources, degrees) = (sources.ints(number), degrees.ints(number));
        let weighted = weights.number() != UNWEIGHTED;
        let mut mine: Vec<i32> = Vec::new();
        let mut place = 0;
        for (source, degree) in sources.iter().zip(&degrees) {
            for _ in 0..*degree {
                let weight = if has_weights(weights) { weights.get(place) as i32 } else { 0 };
                mine.extend([*source, destinations.get(place) as i32, weight]);
                place += 1;
            }
        }
        let (sources, destinations) = collected(comm, &mine)?;
        let made = first(comm, comm.size() as i64)?;
        give(comm_dist_graph, made, || Topology::Neighbours { sources, destinations, weighted });
        Ok(())
    })
}

/// This rank's edges, of those that all ranks give (source, destination, weight).
fn collected(comm: &Arc<Object>, mine: &[i32]) -> Result<(Edges, Edges)> {
    let size = comm.size();
    let lengths = comm.twin.all_gather_vec(&[mine.len()])?;
    let mut all = vec![0i32; lengths.iter().sum()];
    comm.twin.all_gather_varied(mine, &mut all, &lengths)?;
    let (mut sources, mut destinations) = (Edges::default(), Edges::default());
    let me = comm.rank() as i32;
    let outside = |rank: i32| rank < 0 || rank as usize >= size;
    for edge in all.chunks_exact(3) {
        if let Some(rank) = edge[..2].iter().find(|rank| outside(**rank)) {
            return Err(error(ERR_RANK, format!("rank {rank} does not exist")));
        }
        if edge[0] == me {
            destinations.ranks.push(edge[1]);
            destinations.weights.push(edge[2]);
        }
        if edge[1] == me {
            sources.ranks.push(edge[0]);
            sources.weights.push(edge[2]);
        }
    }
    Ok((sources, destinations))
}

fn neighbours(comm: &Object) -> Result<(&Edges, &Edges, bool)> {
    match comm.topology()? {
        Topology::Neighbours { sources, destinations, weighted } => Ok((sources, destinations, *weighted)),
        _ => fail(ERR_TOPOLOGY, "the communicator has no distributed graph"),
    }
}

pub fn dist_graph_neighbors_count(comm: Comm, indegree: IntOut, outdegree: IntOut, weighted: IntOut) -> i32 {
    on_comm("MPI_Dist_graph_neighbors_count", comm, |comm| {
        let (sources, destinations, has_weights) = neighbours(comm)?;
        indegree.set(sources.ranks.len() as i64);
        outdegree.set(destinations.ranks.len() as i64);
        weighted.flag(has_weights);
        Ok(())
    })
}

pub fn dist_graph_neighbors(
    comm: Comm,
    maxindegree: i32,
    sources: IntOut,
    sourceweights: IntOut,
    maxoutdegree: i32,
    destinations: IntOut,
    destweights: IntOut,
) -> i32 {
    on_comm("MPI_Dist_graph_neighbors", comm, |comm| {
        let (from, to, weighted) = neighbours(comm)?;
        put(&from.ranks, maxindegree, sources);
        put(&to.ranks, maxoutdegree, destinations);
        let wanted = |weights: IntOut| weighted && ![UNWEIGHTED, WEIGHTS_EMPTY].contains(&weights.number());
        if wanted(sourceweights) {
            put(&from.weights, maxindegree, sourceweights);
        }
        if wanted(destweights) {
            put(&to.weights, maxoutdegree, destweights);
        }
        Ok(())
    })
}
