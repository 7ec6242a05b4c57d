//! The same things done right: if this did not compile, the others would fail for the wrong reason.

use ringworld::{Communicator, Op, Result, UserOp};

fn right(world: &Communicator) -> Result<()> {
    let mut data = vec![1f32; 10];
    world.scope(|s| {
        let pending = s.all_reduce(&mut data, Op::Sum)?;
        let data = pending.wait()?;
        data[0] = 2.0;
        Ok(())
    })?;
    let mut data = world.start_all_reduce(data, Op::Sum)?.wait()?;
    data[0] = 2.0;
    let mut step = world.prepare_all_reduce(data, Op::Sum)?;
    step.start()?.wait()?;
    step.input_mut()[0] = 1.0;
    world.all_reduce(&mut [[1f32; 4]], UserOp::new("first", |a: [f32; 4], _| a))
}

fn main() {
    let _used: fn(&Communicator) -> Result<()> = right;
}
