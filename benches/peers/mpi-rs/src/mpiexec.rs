//! The launcher of `mpi-rs`, built from the same version as the twin.

fn main() {
    mpi::launcher::run();
}
