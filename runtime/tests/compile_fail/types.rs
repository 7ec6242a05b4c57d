//! Arguments of the wrong type. Elements that are no plain data cannot travel: any bytes that arrive would
//! have to be one. Memory that is only borrowed cannot be given away.

use ringworld::{Communicator, Op, Result, UserOp};

fn sends_references(world: &Communicator) -> Result<()> {
    world.send(&["text"], 0, 0) //~ E0277
}

fn receives_truth_values(world: &Communicator) -> Result<()> {
    let mut answer = [false];
    world.recv(&mut answer, 0, 0).map(drop) //~ E0277
}

fn sends_pointers(world: &Communicator) -> Result<()> {
    let x = 1u8;
    world.send(&[std::ptr::from_ref(&x)], 0, 0) //~ E0277
}

fn sends_what_has_padding(world: &Communicator) -> Result<()> {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Padded(u8, u32);
    world.send(&[Padded(1, 2)], 0, 0) //~ E0277
}

fn reduces_owned_memory(world: &Communicator) -> Result<()> {
    world.all_reduce(&mut [String::new()], UserOp::new("join", |a: String, b: String| a + &b)) //~ E0277
}

fn sums_what_has_no_sum(world: &Communicator) -> Result<()> {
    world.all_reduce(&mut [[1f32; 4]], Op::Sum) //~ E0277
}

fn combines_others_than_it_has(world: &Communicator) -> Result<()> {
    world.all_reduce(&mut [1f32], |a: f64, b: f64| a + b) //~ E0631
}

fn combines_with_what_it_only_borrows(world: &Communicator) -> Result<()> {
    let (offset, mut data) = (String::from("1"), [1usize]);
    world.all_reduce(&mut data, |a: usize, b: usize| a + b + offset.len()) //~ E0373
}

fn lends_where_it_must_give(world: &Communicator) -> Result<()> {
    let mut data = [1f32; 10];
    world.start_all_reduce(&mut data, Op::Sum)?.wait()?; //~ E0308
    Ok(())
}

fn main() {}
