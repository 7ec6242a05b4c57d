//! A stencil: heat that spreads over a plate, cut into blocks, one for each rank of a 2-D grid. In every step each rank
//! exchanges borders with its four neighbours, while it computes what needs none of them.
//!
//! ```text
//! ringworld run -n 4 -- target/release/examples/stencil
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "an example that shows its result")]

use ringworld::{Cartesian, Communicator, Op, Result, Shift, World};

/// Cells of each block, without its border: rows and columns.
const N: usize = 32;
/// With the border, which holds what the neighbours have, or the edge of the plate.
const WIDE: usize = N + 2;

fn main() -> Result<()> {
    let world = World::from_env()?;
    let (steps, mean) = run(&world, 1e-4)?;
    if world.rank() == 0 {
        println!("{} ranks: steady after {steps} steps, {mean:.3} degrees in the mean", world.size());
    }
    world.finish()
}

/// How many steps it took until no cell changed by more than `tolerance`, and the mean temperature then.
fn run(world: &Communicator, tolerance: f64) -> Result<(usize, f64)> {
    let shape = Cartesian::dims(world.size(), &[None, None])?;
    let grid = Cartesian::new(world, &shape, &[false, false])?;
    let mut plate = Plate { cells: vec![0.0; WIDE * WIDE] };
    // The upper edge of the plate is hot and stays so; the other edges stay cold.
    if grid.coordinates(grid.rank())?[0] == 0 {
        plate.cells[..WIDE].fill(100.0);
    }
    for step in 1.. {
        let change = advance(&grid, &mut plate)?;
        // Every rank stops after the same step, for all have the same bits.
        if grid.all_reduce_one(change, Op::Max)? <= tolerance {
            let mean = grid.all_reduce_one(plate.sum() / (N * N) as f64, Op::Average)?;
            return Ok((step, mean));
        }
    }
    unreachable!("heat settles");
}

/// One step; the largest change of a cell of this rank.
fn advance(grid: &Cartesian, plate: &mut Plate) -> Result<f64> {
    // Along each dimension: this rank's first and last line, and room for those of its neighbours.
    let out = [[plate.row(1), plate.row(N)], [plate.column(1), plate.column(N)]];
    let mut halo = [[None, None], [None, None]];
    let mut new = plate.cells.clone();
    let mut change = 0.0f64;
    grid.scope(|s| {
        let mut coming = Vec::new();
        for (dimension, halo) in halo.iter_mut().enumerate() {
            let Shift { source: before, destination: after } = grid.shift(dimension, 1)?;
            for ((side, neighbour), halo) in [before, after].into_iter().enumerate().zip(halo) {
                // At the edge of the plate there is nobody.
                let Some(neighbour) = neighbour else { continue };
                s.send(&out[dimension][side], neighbour, side as u32)?;
                let line = halo.insert(vec![0.0; N]);
                coming.push(s.recv(line, neighbour, 1 - side as u32)?);
            }
        }
        // Meanwhile, everything that has no neighbour beyond the border.
        change = plate.relax(&mut new, 2..N, 2..N);
        coming.into_iter().try_for_each(|line| line.wait().map(drop))
    })?;
    plate.set_border(&halo);
    for (rows, columns) in [(1..2, 1..N + 1), (N..N + 1, 1..N + 1), (2..N, 1..2), (2..N, N..N + 1)] {
        change = change.max(plate.relax(&mut new, rows, columns));
    }
    plate.cells = new;
    Ok(change)
}

struct Plate {
    cells: Vec<f64>,
}

impl Plate {
    fn row(&self, row: usize) -> Vec<f64> {
        self.cells[row * WIDE + 1..][..N].to_vec()
    }

    fn column(&self, column: usize) -> Vec<f64> {
        (1..=N).map(|row| self.cells[row * WIDE + column]).collect()
    }

    /// Writes what has come from above and below, left and right.
    fn set_border(&mut self, halo: &[[Option<Vec<f64>>; 2]; 2]) {
        for (line, edge) in halo[0].iter().zip([0, N + 1]) {
            if let Some(line) = line {
                self.cells[edge * WIDE + 1..][..N].copy_from_slice(line);
            }
        }
        for (line, edge) in halo[1].iter().zip([0, N + 1]) {
            for (i, cell) in line.iter().flatten().enumerate() {
                self.cells[(i + 1) * WIDE + edge] = *cell;
            }
        }
    }

    /// Gives cells the mean of their neighbours; the largest change.
    fn relax(&self, new: &mut [f64], rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> f64 {
        let mut change = 0.0f64;
        for at in rows.flat_map(|row| columns.clone().map(move |column| row * WIDE + column)) {
            let c = &self.cells;
            new[at] = (c[at - WIDE] + c[at + WIDE] + c[at - 1] + c[at + 1]) / 4.0;
            change = change.max((new[at] - c[at]).abs());
        }
        change
    }

    fn sum(&self) -> f64 {
        (1..=N).flat_map(|row| self.row(row)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn heat_settles_at_a_quarter_of_the_hot_edge() {
        // A square plate with one hot edge has a quarter of its temperature in the mean, by symmetry.
        for size in [1, 4] {
            let found = ringworld::testing::ranks(size, |world| run(&world, 1e-3).expect("a plate"));
            assert!(
                found.iter().all(|(steps, mean)| *steps == found[0].0 && (mean - 25.0).abs() < 1.0),
                "{found:?}"
            );
        }
    }
}
