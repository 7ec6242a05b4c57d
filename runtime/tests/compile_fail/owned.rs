//! What `start_*` and `prepare_*` do not let a program do with memory in flight.

use ringworld::{Communicator, Op, Result};

fn uses_a_vector_that_was_given_away(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    let pending = world.start_all_reduce(data, Op::Sum)?;
    data[0] = 2.0; //~ E0382
    pending.wait()?;
    Ok(())
}

fn waits_twice(world: &Communicator) -> Result<()> {
    let pending = world.start_all_reduce(vec![1f32; 10], Op::Sum)?;
    pending.wait()?;
    pending.wait()?; //~ E0382
    Ok(())
}

fn touches_a_prepared_buffer_while_it_runs(world: &Communicator) -> Result<()> {
    let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Sum)?;
    let running = step.start()?;
    step.input_mut()[0] = 1.0; //~ E0499
    running.wait()?;
    Ok(())
}

fn starts_what_runs_already(world: &Communicator) -> Result<()> {
    let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Sum)?;
    let one = step.start()?;
    let other = step.start()?; //~ E0499
    one.wait()?;
    other.wait()?;
    Ok(())
}

fn takes_the_buffers_of_what_runs(world: &Communicator) -> Result<()> {
    let mut step = world.prepare_all_reduce(vec![0f32; 4], Op::Sum)?;
    let running = step.start()?;
    let buffers = step.into_buffers(); //~ E0505
    running.wait()?;
    drop(buffers);
    Ok(())
}

fn main() {}
