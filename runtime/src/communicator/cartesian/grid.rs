//! The geometry of a grid: ranks to coordinates and back, shifts and neighbours. Pure.
//!
//! Row-major, as MPI has it: the last coordinate varies fastest. Invariant: the product of the dimensions
//! is the number of ranks, so every coordinate inside the grid has exactly one rank.

use crate::{Error, Result};

/// Dimensions and which of them wrap around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    dims: Box<[usize]>,
    periodic: Box<[bool]>,
    size: usize,
}

/// Where a shift along one dimension comes from and goes to, for one rank; `None` beyond an open border.
///
/// Hand both to [`Communicator::send_recv`](crate::Communicator::send_recv), which leaves out what is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// The rank whose data comes here.
    pub source: Option<usize>,
    /// The rank to which this rank's data goes.
    pub destination: Option<usize>,
}

impl Grid {
    /// A grid for `size` ranks.
    pub(crate) fn new(operation: &str, size: usize, dims: &[usize], periodic: &[bool]) -> Result<Self> {
        if dims.len() != periodic.len() {
            return Err(invalid(
                operation,
                format!(
                    "{} dimensions are given, but {} say whether they are periodic; give one for each",
                    dims.len(),
                    periodic.len()
                ),
            ));
        }
        let product = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
        if product != Some(size) {
            let shown: Vec<String> = dims.iter().map(usize::to_string).collect();
            let product = product.map_or("too many".into(), |product| product.to_string());
            return Err(invalid(
                operation,
                format!(
                    "a grid of {} has {product} places, but the communicator has {size} ranks; \
                     Cartesian::dims finds dimensions that fit",
                    if shown.is_empty() { "no dimensions".into() } else { shown.join(" x ") },
                ),
            ));
        }
        Ok(Self { dims: dims.into(), periodic: periodic.into(), size })
    }

    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    pub(crate) fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// The coordinates of a rank.
    pub(crate) fn coordinates(&self, operation: &str, rank: usize) -> Result<Vec<usize>> {
        if rank >= self.size {
            return Err(Error::InvalidRank { operation: operation.into(), given: rank, size: self.size });
        }
        let mut left = rank;
        let mut coordinates = vec![0; self.dims.len()];
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            *coordinate = left % dim;
            left /= dim;
        }
        Ok(coordinates)
    }

    /// The rank at these coordinates, wrapped where the grid is; `None` outside.
    pub(crate) fn rank_at(&self, operation: &str, coordinates: &[isize]) -> Result<Option<usize>> {
        if coordinates.len() != self.dims.len() {
            return Err(invalid(
                operation,
                format!(
                    "{} coordinates are given, but the grid has {} dimensions",
                    coordinates.len(),
                    self.dims.len()
                ),
            ));
        }
        let mut rank = 0;
        for (axis, coordinate) in coordinates.iter().enumerate() {
            let Some(inside) = self.wrap(axis, i128::try_from(*coordinate).unwrap_or(i128::MAX)) else {
                return Ok(None);
            };
            rank = rank * self.dims[axis] + inside;
        }
        Ok(Some(rank))
    }

    /// Brings a coordinate along `axis` into the grid, if it has a place there.
    fn wrap(&self, axis: usize, coordinate: i128) -> Option<usize> {
        let dim = self.dims[axis] as i128;
        let inside = if self.periodic[axis] { coordinate.rem_euclid(dim) } else { coordinate };
        usize::try_from(inside).ok().filter(|inside| *inside < self.dims[axis])
    }

    /// Source and destination of `rank` in a shift along `axis`.
    pub(crate) fn shift(
        &self,
        operation: &str,
        rank: usize,
        axis: usize,
        displacement: isize,
    ) -> Result<Shift> {
        if axis >= self.dims.len() {
            return Err(invalid(
                operation,
                format!("dimension {axis} is given, but the grid has {}", self.dims.len()),
            ));
        }
        let here = self.coordinates(operation, rank)?[axis];
        let stride: usize = self.dims[axis + 1..].iter().product();
        let at = |coordinate: i128| {
            let there = self.wrap(axis, coordinate)?;
            Some(rank - here * stride + there * stride)
        };
        // Wider than any coordinate or displacement, so that neither can overflow.
        let (from, by) = (here as i128, displacement as i128);
        Ok(Shift { source: at(from - by), destination: at(from + by) })
    }

    /// The rank's place in the grid of the dimensions that `keep` keeps, and in that of the others.
    pub(crate) fn project(&self, coordinates: &[usize], keep: &[bool]) -> (usize, usize) {
        let mut places = (0, 0);
        for ((coordinate, dim), keep) in coordinates.iter().zip(&self.dims).zip(keep) {
            let place = if *keep { &mut places.0 } else { &mut places.1 };
            *place = *place * dim + coordinate;
        }
        places
    }
}

pub(crate) fn invalid(operation: &str, detail: String) -> Error {
    Error::InvalidGrid { operation: operation.into(), detail }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid() -> impl Strategy<Value = Grid> {
        proptest::collection::vec((1..5usize, any::<bool>()), 0..4).prop_map(|axes| {
            let (dims, periodic): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
            Grid::new("test", dims.iter().product(), &dims, &periodic).unwrap()
        })
    }

    #[test]
    fn errors_say_what_was_given_and_expected() {
        let text = |result: Result<Grid>| result.unwrap_err().to_string();
        assert_eq!(
            text(Grid::new("Cartesian::new", 7, &[2, 3], &[true, false])),
            "Cartesian::new: a grid of 2 x 3 has 6 places, but the communicator has 7 ranks; \
             Cartesian::dims finds dimensions that fit"
        );
        assert!(text(Grid::new("new", 6, &[2, 3], &[true])).contains("2 dimensions are given, but 1 say"));
        assert!(text(Grid::new("new", 6, &[usize::MAX, 2], &[true; 2])).contains("too many places"));
        assert!(text(Grid::new("new", 2, &[], &[])).contains("no dimensions has 1 places"));
        let grid = Grid::new("new", 6, &[2, 3], &[false; 2]).unwrap();
        assert!(grid.rank_at("rank_at", &[1]).unwrap_err().to_string().contains("1 coordinates"));
        assert!(grid.shift("shift", 0, 2, 1).unwrap_err().to_string().contains("dimension 2 is given"));
        assert!(matches!(grid.coordinates("coordinates", 6), Err(Error::InvalidRank { given: 6, .. })));
    }

    #[test]
    fn a_displacement_of_any_size_is_defined() {
        let grid = Grid::new("new", 3, &[3], &[true]).unwrap();
        let far = grid.shift("shift", 2, 0, isize::MIN).unwrap();
        // 2^63 is 2 more than a multiple of 3.
        assert_eq!((far.source, far.destination), (Some(1), Some(0)));
        assert_eq!(grid.rank_at("rank_at", &[isize::MAX]).unwrap(), Some(1));
        let open = Grid::new("new", 3, &[3], &[false]).unwrap();
        assert_eq!(open.rank_at("rank_at", &[isize::MAX]).unwrap(), None);
        assert_eq!(open.shift("shift", 2, 0, 1).unwrap(), Shift { source: Some(1), destination: None });
    }

    proptest! {
        #[test]
        fn coordinates_and_ranks_are_inverse(grid in grid()) {
            let mut last = None;
            for rank in 0..grid.size {
                let coordinates = grid.coordinates("coordinates", rank).unwrap();
                prop_assert!(coordinates.iter().zip(grid.dims()).all(|(c, dim)| c < dim));
                let signed: Vec<isize> = coordinates.iter().map(|c| *c as isize).collect();
                prop_assert_eq!(grid.rank_at("rank_at", &signed).unwrap(), Some(rank));
                // Row-major: ranks in order are coordinates in lexicographic order.
                prop_assert!(last.is_none_or(|last| last < coordinates));
                last = Some(coordinates);
            }
        }

        #[test]
        fn a_shift_there_is_a_shift_back(grid in grid(), by in -6isize..7) {
            for axis in 0..grid.dims().len() {
                for rank in 0..grid.size {
                    let shift = grid.shift("shift", rank, axis, by).unwrap();
                    let back = grid.shift("shift", rank, axis, -by).unwrap();
                    prop_assert_eq!((shift.source, shift.destination), (back.destination, back.source));
                    if let Some(destination) = shift.destination {
                        let there = grid.shift("shift", destination, axis, by).unwrap();
                        prop_assert_eq!(there.source, Some(rank), "who I send to hears from me");
                    }
                    // The same by coordinates.
                    let mut moved: Vec<isize> =
                        grid.coordinates("c", rank).unwrap().iter().map(|c| *c as isize).collect();
                    moved[axis] += by;
                    prop_assert_eq!(grid.rank_at("rank_at", &moved).unwrap(), shift.destination);
                }
            }
        }

        #[test]
        fn a_projection_gives_every_rank_its_own_place(grid in grid(), keep in any::<u8>()) {
            let keep: Vec<bool> = (0..grid.dims().len()).map(|axis| keep >> axis & 1 == 1).collect();
            let places: std::collections::HashSet<_> = (0..grid.size)
                .map(|rank| grid.project(&grid.coordinates("c", rank).unwrap(), &keep))
                .collect();
            prop_assert_eq!(places.len(), grid.size);
        }
    }
}
