//! Topologies: which ranks are neighbours (MPI 5.0, chapter 8).

use ringworld::Cartesian;

use crate::error::{Result, fail};
use crate::standard::{ERR_ARG, ERR_DIMS, ERR_RANK, ERR_TOPOLOGY, PROC_NULL};

/// How the ranks of a communicator lie.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    Grid(Grid),
    /// Edges of all ranks: those of rank r end at `ends[r]`.
    Graph {
        ends: Vec<i32>,
        edges: Vec<i32>,
    },
    /// Edges of this rank, with their weights if there are any.
    Neighbours {
        sources: Edges,
        destinations: Edges,
        weighted: bool,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    pub(crate) ranks: Vec<i32>,
    pub(crate) weights: Vec<i32>,
}

/// A grid of any number of dimensions, the last of which varies fastest.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) dimensions: Vec<i64>,
    pub(crate) periodic: Vec<bool>,
}

impl Grid {
    pub(crate) fn new(dimensions: Vec<i64>, periodic: Vec<bool>) -> Result<Self> {
        match dimensions.iter().find(|length| **length < 1) {
            Some(length) => fail(ERR_DIMS, format!("a dimension of {length} cannot be")),
            None => Ok(Self { dimensions, periodic }),
        }
    }

    pub(crate) fn size(&self) -> i64 {
        self.dimensions.iter().product()
    }

    pub(crate) fn coordinates(&self, rank: i64) -> Vec<i64> {
        let mut left = rank;
        let mut coordinates: Vec<i64> = self
            .dimensions
            .iter()
            .rev()
            .map(|length| {
                let place = left % length;
                left /= length;
                place
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The rank at some place; places beyond the end of a periodic dimension are counted round.
    pub(crate) fn rank(&self, coordinates: &[i64]) -> Result<i64> {
        let mut rank = 0;
        for ((place, length), periodic) in coordinates.iter().zip(&self.dimensions).zip(&self.periodic) {
            let inside = if *periodic { place.rem_euclid(*length) } else { *place };
            if !(0..*length).contains(&inside) {
                return fail(ERR_ARG, format!("there is no coordinate {place} in a dimension of {length}"));
            }
            rank = rank * length + inside;
        }
        Ok(rank)
    }

    /// From whom to receive and to whom to send for a shift of the data.
    pub(crate) fn shift(&self, rank: i64, direction: i32, by: i32) -> Result<(i32, i32)> {
        let Some(dimension) = usize::try_from(direction).ok().filter(|it| *it < self.dimensions.len()) else {
            return fail(ERR_ARG, format!("there is no dimension {direction} of {}", self.dimensions.len()));
        };
        let coordinates = self.coordinates(rank);
        let at = |by: i64| {
            let mut coordinates = coordinates.clone();
            coordinates[dimension] += by;
            self.rank(&coordinates).map_or(PROC_NULL, |rank| rank as i32)
        };
        Ok((at(-i64::from(by)), at(by.into())))
    }
}

/// A neighbour, and by which of the messages between the two it is met: a grid has the same neighbour on both sides
/// where a dimension is two long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub(crate) rank: i32,
    pub(crate) edge: u32,
}

impl Topology {
    /// From whom this rank receives and to whom it sends.
    pub(crate) fn neighbours(&self, rank: usize) -> Result<(Vec<Neighbour>, Vec<Neighbour>)> {
        let plain = |ranks: &[i32]| ranks.iter().map(|rank| Neighbour { rank: *rank, edge: 0 }).collect();
        match self {
            Self::Grid(grid) => {
                let (mut sources, mut destinations) = (Vec::new(), Vec::new());
                for dimension in 0..grid.dimensions.len() {
                    let (low, high) = grid.shift(rank as i64, dimension as i32, 1)?;
                    let edge = 2 * dimension as u32;
                    // What comes from below was sent upwards.
                    sources.extend([Neighbour { rank: low, edge: edge + 1 }, Neighbour { rank: high, edge }]);
                    destinations
                        .extend([Neighbour { rank: low, edge }, Neighbour { rank: high, edge: edge + 1 }]);
                }
                Ok((sources, destinations))
            }
            Self::Graph { .. } => {
                let edges = self.edges_of(rank as i32)?;
                Ok((plain(edges), plain(edges)))
            }
            Self::Neighbours { sources, destinations, .. } => {
                Ok((plain(&sources.ranks), plain(&destinations.ranks)))
            }
        }
    }

    /// The neighbours of any rank, of a graph.
    pub(crate) fn edges_of(&self, rank: i32) -> Result<&[i32]> {
        let Self::Graph { ends, edges } = self else {
            return fail(ERR_TOPOLOGY, "the communicator has no graph");
        };
        let Some(place) = usize::try_from(rank).ok().filter(|place| *place < ends.len()) else {
            return fail(ERR_RANK, format!("rank {rank} does not exist in a graph of {}", ends.len()));
        };
        let first = place.checked_sub(1).map_or(0, |before| ends[before]) as usize;
        Ok(&edges[first..ends[place] as usize])
    }

    pub(crate) fn grid(&self) -> Result<&Grid> {
        match self {
            Self::Grid(grid) => Ok(grid),
            _ => fail(ERR_TOPOLOGY, "the communicator has no grid"),
        }
    }
}

/// How many ranks each dimension gets, as even as can be; those that are not 0 are given.
pub(crate) fn dims(ranks: i64, given: &[i64]) -> Result<Vec<i64>> {
    if let Some(length) = given.iter().find(|length| **length < 0) {
        return fail(ERR_DIMS, format!("a dimension of {length} cannot be"));
    }
    let fixed =
        given.iter().filter(|length| **length > 0).try_fold(1i64, |all, length| all.checked_mul(*length));
    let free = given.iter().filter(|length| **length == 0).count();
    if ranks < 1 || fixed.is_none_or(|fixed| ranks % fixed != 0 || (free == 0 && fixed != ranks)) {
        return fail(ERR_DIMS, format!("{ranks} ranks cannot be laid out as {given:?}"));
    }
    let lengths: Vec<_> =
        given.iter().map(|length| usize::try_from(*length).ok().filter(|it| *it > 0)).collect();
    let made = Cartesian::dims(ranks as usize, &lengths)?;
    Ok(made.into_iter().map(|length| length as i64).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_as_even_as_can_be() {
        assert_eq!(dims(12, &[0, 0]).unwrap(), [4, 3]);
        assert_eq!(dims(6, &[0, 0, 0]).unwrap(), [3, 2, 1]);
        assert_eq!(dims(36, &[0, 0]).unwrap(), [6, 6]);
        assert_eq!(dims(7, &[0, 0]).unwrap(), [7, 1]);
        assert_eq!(dims(6, &[0, 3, 0]).unwrap(), [2, 3, 1]);
        assert_eq!(dims(1, &[0, 0, 0]).unwrap(), [1, 1, 1]);
        assert_eq!(dims(2_000_000_000, &[0; 20]).unwrap().iter().product::<i64>(), 2_000_000_000);
        assert!(dims(7, &[0, 3, 0]).is_err());
        assert!(dims(7, &[i64::from(i32::MAX); 9]).is_err());
    }

    #[test]
    fn a_grid_has_neighbours_on_both_sides() {
        let grid = Grid::new(vec![2, 3], vec![true, false]).unwrap();
        assert_eq!(grid.coordinates(4), [1, 1]);
        assert_eq!(grid.rank(&[-1, 2]).unwrap(), 5);
        assert!(grid.rank(&[0, 3]).is_err());
        assert_eq!(grid.shift(4, 1, 1).unwrap(), (3, 5));
        assert_eq!(grid.shift(3, 1, 1).unwrap(), (PROC_NULL, 4));
        let (sources, destinations) = Topology::Grid(grid).neighbours(0).unwrap();
        assert_eq!((sources[0].rank, sources[1].rank), (3, 3), "it is on both sides");
        assert_eq!((sources[0].edge, destinations[0].edge), (1, 0));
    }
}
