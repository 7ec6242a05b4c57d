//! What a scope does not let a program do with memory in flight.

use ringworld::{Communicator, Op, Result, Scoped};

fn writes_in_flight(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        let pending = s.all_reduce(&mut data, Op::Sum)?;
        data[0] = 2.0; //~ E0499
        pending.wait()?;
        Ok(())
    })
}

fn reads_in_flight(world: &Communicator) -> Result<f32> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        let pending = s.all_reduce(&mut data, Op::Sum)?;
        let first = data[0]; //~ E0502
        pending.wait()?;
        Ok(first)
    })
}

fn writes_what_is_being_sent(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        let pending = s.send(&data, 0, 0)?;
        data[0] = 2.0; //~ E0502
        pending.wait()
    })
}

fn lends_the_same_memory_twice(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        let _one = s.recv(&mut data, 0, 1)?;
        let _other = s.recv(&mut data, 0, 2)?; //~ E0499
        Ok(())
    })
}

fn touches_after_a_handle_was_dropped(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        drop(s.all_reduce(&mut data, Op::Sum)?);
        data[0] = 2.0; //~ E0499
        Ok(())
    })
}

fn frees_in_flight(world: &Communicator) -> Result<()> {
    let data = vec![1f32; 10];
    world.scope(|s| {
        let pending = s.send(&data, 0, 0)?; //~ E0597
        drop(data); //~ E0505
        pending.wait()
    })
}

fn lends_memory_that_ends_before_the_scope(world: &Communicator) -> Result<()> {
    world.scope(|s| {
        let mut data = vec![1f32; 10];
        let pending = s.all_reduce(&mut data, Op::Sum)?; //~ E0597
        pending.wait()?;
        Ok(())
    })
}

fn lets_a_handle_escape(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    let mut escaped: Option<Scoped<'_, &mut [f32]>> = None;
    world.scope(|s| {
        escaped = Some(s.all_reduce(&mut data, Op::Sum)?); //~ E0521
        Ok(())
    })?;
    drop(escaped);
    Ok(())
}

fn main() {}
