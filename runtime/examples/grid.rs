//! A 2-D grid of ranks with a communicator for each row and each column: a matrix times a vector, where every rank
//! has one block of the matrix.
//!
//! ```text
//! ringworld run -n 6 -- target/release/examples/grid
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "an example that shows its result")]

use ringworld::{Cartesian, Communicator, Op, Result, World};

/// Rows and columns of the block that each rank has.
const BLOCK: usize = 100;

fn main() -> Result<()> {
    let world = World::from_env()?;
    let (shape, sum) = run(&world)?;
    if world.rank() == 0 {
        println!("{} ranks as {shape:?}: the elements of the product add up to {sum}", world.size());
    }
    world.finish()
}

/// The shape of the grid, and the sum over the product.
fn run(world: &Communicator) -> Result<(Vec<usize>, f64)> {
    // As square as the number of ranks allows; nothing wraps around.
    let shape = Cartesian::dims(world.size(), &[None, None])?;
    let grid = Cartesian::new(world, &shape, &[false, false])?;
    let here = grid.coordinates(grid.rank())?;
    let row = grid.sub(&[false, true])?; // those beside this rank
    let column = grid.sub(&[true, false])?; // those above and below it

    // The first rank of each column knows its part of the vector; all of the column need it.
    let mut x = if here[0] == 0 { vector(here[1]) } else { vec![0.0; BLOCK] };
    column.broadcast(&mut x, 0)?;

    // Each rank multiplies its block; the parts of a row add up to a part of the product, on the first rank of the row.
    let mut y: Vec<f64> = (0..BLOCK)
        .map(|i| (0..BLOCK).map(|j| element(here[0] * BLOCK + i, here[1] * BLOCK + j) * x[j]).sum())
        .collect();
    row.reduce(&mut y, Op::Sum, 0)?;

    let mine = if here[1] == 0 { y.iter().sum() } else { 0.0 };
    Ok((shape, grid.all_reduce_one(mine, Op::Sum)?))
}

fn vector(block: usize) -> Vec<f64> {
    (0..BLOCK).map(|i| (block * BLOCK + i) as f64).collect()
}

fn element(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::BLOCK;

    #[test]
    fn the_unit_matrix_gives_the_vector_back_on_every_grid() {
        for (size, shape) in [(1, [1, 1]), (4, [2, 2]), (6, [3, 2])] {
            let found = ringworld::testing::ranks(size, |world| super::run(&world).expect("a product"));
            let elements = BLOCK * shape[0].min(shape[1]);
            let expected = (elements * (elements - 1) / 2) as f64;
            assert!(found.iter().all(|(found, sum)| *found == shape && *sum == expected), "{found:?}");
        }
    }
}
