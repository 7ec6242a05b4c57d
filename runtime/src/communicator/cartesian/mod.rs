//! Cartesian grids of ranks: coordinates, shifts, sub-grids, and exchanges between neighbours.
//!
//! `grid` is the geometry and `dims` finds balanced dimensions, both pure; here they meet a communicator.
//! Ranks keep their numbers: rank `r` of the old communicator is rank `r` of the grid, row-major.

mod dims;
mod grid;

use std::ops::Deref;

use bytemuck::Pod;

pub use self::grid::Shift;
use self::grid::{Grid, invalid};
use super::Communicator;
use super::split::{Making, Part, digest};
use crate::{Error, Result};

/// A communicator whose ranks stand in a grid. Derefs to the [`Communicator`].
///
/// ```
/// use ringworld::{Cartesian, Shift};
/// # let world = ringworld::testing::alone();
/// let dims = Cartesian::dims(world.size(), &[None, None])?;
/// let grid = Cartesian::new(&world, &dims, &[true, false])?;
/// let here = grid.coordinates(grid.rank())?;
/// assert_eq!(here, [0, 0]);
///
/// // One step down the first dimension: the halo of a stencil.
/// let Shift { source, destination } = grid.shift(0, 1)?;
/// let (border, mut halo) = ([1.0f64, 2.0], [0.0; 2]);
/// grid.send_recv(&border, destination, 0, &mut halo, source, 0)?;
/// assert_eq!(halo, border); // it wraps around, and there is only this rank
/// # Ok::<(), ringworld::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cartesian {
    communicator: Communicator,
    /// For the exchanges between neighbours, which no receive of the user may match.
    private: Communicator,
    grid: Grid,
    /// Of each dimension the rank before this one and the rank after it.
    neighbours: Box<[Option<usize>]>,
}

impl Deref for Cartesian {
    type Target = Communicator;

    fn deref(&self) -> &Communicator {
        &self.communicator
    }
}

impl Cartesian {
    /// A grid of the ranks of `communicator`, with `dims` ranks along each dimension; along those that are
    /// `periodic` the last is followed by the first. Every rank must call it, with the same arguments. The
    /// grid has messages of its own, and its ranks the numbers that they have in `communicator`.
    ///
    /// No dimensions at all make the grid of one rank.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGrid`] when the product of the dimensions is not the number of ranks;
    /// [`Error::Mismatch`], on every rank, when ranks give different grids; and those of
    /// [`Communicator::split`].
    ///
    /// See [`Cartesian`] for an example.
    #[track_caller]
    #[doc(alias("MPI_Cart_create", "create_cartesian_graph"))]
    pub fn new(communicator: &Communicator, dims: &[usize], periodic: &[bool]) -> Result<Self> {
        let name = Making::Grid.name();
        let grid = Grid::new(name, communicator.size(), dims, periodic);
        let words = [dims.len()].into_iter().chain(dims.iter().copied());
        let digest = digest(words.map(|word| word as u64).chain(periodic.iter().map(|p| u64::from(*p))));
        let part = Part { color: 0, key: communicator.rank() };
        // A rank whose grid cannot be takes part nevertheless: the others must not wait for it.
        let own = communicator.make_with_all(Making::Grid, part, digest);
        let grid = grid?;
        Self::over(own?, grid)
    }

    #[track_caller]
    fn over(communicator: Communicator, grid: Grid) -> Result<Self> {
        let private = communicator.duplicate()?;
        let rank = communicator.rank();
        let mut neighbours = Vec::with_capacity(2 * grid.dims().len());
        for axis in 0..grid.dims().len() {
            let Shift { source, destination } = grid.shift("neighbours", rank, axis, 1)?;
            neighbours.extend([source, destination]);
        }
        Ok(Self { communicator, private, grid, neighbours: neighbours.into() })
    }

    /// Dimensions for a grid of `size` ranks, as close to one another as can be. `fixed` has an entry for
    /// each dimension: `Some` is kept as it is, `None` is chosen. Those chosen do not increase, and the
    /// largest of them is as small as possible, then the second largest, and so on. Local.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGrid`] when the fixed dimensions do not divide `size`, or all are fixed and their
    /// product is another, or `size` is zero or needs more than 32 bits.
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// assert_eq!(Cartesian::dims(12, &[None, None])?, [4, 3]);
    /// assert_eq!(Cartesian::dims(24, &[None, Some(3), None])?, [4, 3, 2]);
    /// assert!(Cartesian::dims(12, &[Some(5), None]).is_err());
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Dims_create", "Compute_dims"))]
    pub fn dims(size: usize, fixed: &[Option<usize>]) -> Result<Vec<usize>> {
        let error = |detail: String| invalid("Cartesian::dims", detail);
        let ranks = u32::try_from(size).ok().filter(|ranks| *ranks > 0);
        let ranks = ranks.ok_or_else(|| error(format!("a grid has 1 to {} ranks, not {size}", u32::MAX)))?;
        let taken = fixed.iter().flatten().try_fold(1u32, |product, dim| {
            product.checked_mul(u32::try_from(*dim).ok()?).filter(|product| *product > 0)
        });
        let rest = taken.filter(|taken| ranks.is_multiple_of(*taken)).map(|taken| ranks / taken);
        let free = fixed.iter().filter(|dim| dim.is_none()).count();
        let rest = rest.filter(|rest| *rest == 1 || free > 0).ok_or_else(|| {
            let given: Vec<String> = fixed.iter().flatten().map(usize::to_string).collect();
            error(if free > 0 {
                format!("{size} ranks cannot be divided by the fixed dimensions ({})", given.join(" x "))
            } else {
                format!(
                    "the fixed dimensions ({}) do not make {size} ranks, and none is free",
                    given.join(" x ")
                )
            })
        })?;
        let mut chosen = dims::balanced(rest, free).into_iter();
        Ok(fixed.iter().map(|dim| dim.unwrap_or_else(|| chosen.next().unwrap_or(1) as usize)).collect())
    }

    /// How many ranks there are along each dimension.
    #[must_use]
    #[doc(alias("MPI_Cart_get", "Get_topo"))]
    pub fn dimensions(&self) -> &[usize] {
        self.grid.dims()
    }

    /// Which dimensions wrap around.
    #[must_use]
    #[doc(alias("MPI_Cart_get", "Get_topo"))]
    pub fn periodic(&self) -> &[bool] {
        self.grid.periodic()
    }

    /// The coordinates of a rank, one for each dimension.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidRank`].
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let grid = Cartesian::new(&world, &[1, 1], &[false, false])?;
    /// assert_eq!(grid.coordinates(0)?, [0, 0]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Cart_coords", "Get_coords", "rank_to_coordinates"))]
    pub fn coordinates(&self, rank: usize) -> Result<Vec<usize>> {
        self.grid.coordinates("coordinates", rank)
    }

    /// The rank at these coordinates. Along periodic dimensions any coordinate is one of the grid; along
    /// the others there is nobody outside.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGrid`] when the coordinates are not one for each dimension.
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let grid = Cartesian::new(&world, &[1, 1], &[true, false])?;
    /// assert_eq!(grid.rank_at(&[-5, 0])?, Some(0));
    /// assert_eq!(grid.rank_at(&[0, 1])?, None);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias("MPI_Cart_rank", "Get_cart_rank", "coordinates_to_rank"))]
    pub fn rank_at(&self, coordinates: &[isize]) -> Result<Option<usize>> {
        self.grid.rank_at("rank_at", coordinates)
    }

    /// Whom this rank hears from and sends to when every rank's data moves by `displacement` along one
    /// dimension. Nobody is `None`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGrid`] when there is no such dimension.
    ///
    /// See [`Cartesian`] for an example.
    #[doc(alias = "MPI_Cart_shift")]
    pub fn shift(&self, dimension: usize, displacement: isize) -> Result<Shift> {
        self.grid.shift("shift", self.rank(), dimension, displacement)
    }

    /// The neighbours of this rank, in the order in which the exchanges between neighbours have their
    /// blocks: of each dimension the one before and the one after. `None` beyond an open border.
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let grid = Cartesian::new(&world, &[1, 1], &[true, false])?;
    /// assert_eq!(grid.neighbours(), [Some(0), Some(0), None, None]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn neighbours(&self) -> &[Option<usize>] {
        &self.neighbours
    }

    /// The sub-grid of the dimensions that `keep` keeps, in which this rank is: the ranks whose other
    /// coordinates are the same. Every rank must call it, with the same argument.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidGrid`] when `keep` has not one entry for each dimension; [`Error::Mismatch`], on
    /// every rank, when ranks keep different dimensions; and those of [`Communicator::split`].
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let grid = Cartesian::new(&world, &[1, 1], &[true, false])?;
    /// let row = grid.sub(&[false, true])?;
    /// assert_eq!((row.dimensions(), row.periodic()), (&[1][..], &[false][..]));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias = "MPI_Cart_sub")]
    pub fn sub(&self, keep: &[bool]) -> Result<Self> {
        let name = Making::SubGrid.name();
        let coordinates = self.grid.coordinates(name, self.rank())?;
        let (key, color) = self.grid.project(&coordinates, keep);
        let digest = digest(keep.iter().map(|keep| u64::from(*keep)));
        let own = self.communicator.make_with_all(Making::SubGrid, Part { color, key }, digest);
        if keep.len() != self.dimensions().len() {
            let (given, expected) = (keep.len(), self.dimensions().len());
            let detail = format!("{given} dimensions are kept or not, but the grid has {expected}");
            return Err(invalid(name, detail));
        }
        let own = own?;
        let kept = |axis: &usize| keep[*axis];
        let axes = || (0..keep.len()).filter(kept);
        let dims: Vec<usize> = axes().map(|axis| self.dimensions()[axis]).collect();
        let periodic: Vec<bool> = axes().map(|axis| self.periodic()[axis]).collect();
        let grid = Grid::new(name, own.size(), &dims, &periodic)?;
        Self::over(own, grid)
    }

    /// Sends `input` to every neighbour, and receives one block from each: block `i` of `output` is that
    /// of `neighbours()[i]`. Blocks of neighbours that do not exist stay as they are. Every rank must call
    /// it, in the same order as other exchanges between neighbours.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCount`] when `output` has not one block for each neighbour, or a neighbour sent
    /// fewer elements; those of [`Communicator::send_recv`]. All blocks are exchanged before it returns.
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let ring = Cartesian::new(&world, &[1], &[true])?;
    /// let mut output = [0u8; 4];
    /// ring.neighbour_all_gather(&[1, 2], &mut output)?;
    /// assert_eq!(output, [1, 2, 1, 2]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_allgather")]
    pub fn neighbour_all_gather<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let name = "neighbour_all_gather";
        let block = input.len();
        if block.checked_mul(self.neighbours.len()) != Some(output.len()) {
            let detail = format!(
                "output has {} elements, but there are {} neighbours with {block} each",
                output.len(),
                self.neighbours.len()
            );
            return Err(Error::InvalidCount { operation: name.into(), detail });
        }
        self.with_neighbours(name, block, output, |_| input)
    }

    /// Sends block `i` of `input` to `neighbours()[i]`, and receives block `i` of `output` from there; both
    /// have one block for each neighbour. Blocks for neighbours that do not exist are not sent, those from
    /// them stay as they are. Every rank must call it, in the same order as other exchanges between
    /// neighbours.
    ///
    /// # Errors
    ///
    /// As for [`Cartesian::neighbour_all_gather`].
    ///
    /// ```
    /// # use ringworld::Cartesian;
    /// # let world = ringworld::testing::alone();
    /// let ring = Cartesian::new(&world, &[1], &[true])?;
    /// let mut output = [0u8; 2];
    /// // What goes to the one after comes from the one before.
    /// ring.neighbour_all_to_all(&[1, 2], &mut output)?;
    /// assert_eq!(output, [2, 1]);
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_alltoall")]
    pub fn neighbour_all_to_all<T: Pod>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let name = "neighbour_all_to_all";
        let neighbours = self.neighbours.len();
        let block = output.len().checked_div(neighbours).unwrap_or(0);
        if input.len() != output.len() || block * neighbours != output.len() {
            let detail = format!(
                "input has {} elements and output {}; both must have one block for each of the {neighbours} \
                 neighbours",
                input.len(),
                output.len()
            );
            return Err(Error::InvalidCount { operation: name.into(), detail });
        }
        self.with_neighbours(name, block, output, |place| &input[place * block..][..block])
    }

    /// Moves one block along each dimension, once forward and once back. All ranks go through the same
    /// directions in the same order, so each exchange finds its partner.
    fn with_neighbours<'a, T: Pod>(
        &self,
        name: &str,
        block: usize,
        output: &mut [T],
        input: impl Fn(usize) -> &'a [T],
    ) -> Result<()> {
        let mut result = Ok(());
        for place in 0..self.neighbours.len() {
            // What comes from one side was sent to the other. The direction is in the tag, because with
            // two ranks along a dimension both sides are the same neighbour.
            let (from, opposite) = (self.neighbours[place], place ^ 1);
            let (to, tag) = (self.neighbours[opposite], place as u32);
            let into = &mut output[place * block..][..block];
            let came = self.private.send_recv(input(opposite), to, tag, into, from, tag);
            // The neighbours count on the other directions even if this one has failed.
            result = result.and(came.and_then(|came| match came {
                Some(status) if status.count != block => Err(Error::InvalidCount {
                    operation: name.into(),
                    detail: format!(
                        "rank {} sent {} elements where {block} were expected; all ranks must give blocks \
                         of the same length",
                        status.source, status.count
                    ),
                }),
                _ => Ok(()),
            }));
        }
        result
    }
}
