//! InfiniBand, RoCE and Soft-RoCE: the place for the verbs transport, which is **not written yet**.
//!
//! # What is here
//!
//! Nothing that runs. This crate has no public item: no transport that pretends, no capability that
//! promises, no call that fails with "not implemented". It exists so that the workspace has its final
//! shape and the arrow `transport-ibverbs -> transport` is checked from the start.
//!
//! # What that means for users
//!
//! The `ibverbs` feature of `ringworld` compiles this crate and changes nothing else. `tcp` is the only
//! transport that a program can use, also over the IP address of an InfiniBand or RoCE device.
//! `RINGWORLD_TRANSPORT=ibverbs` is refused with an error that names the transports there are;
//! excluding it (`^ibverbs`) is accepted and has no effect. The settings `RINGWORLD_IB_HCA` and
//! `RINGWORLD_IB_GID_INDEX` are parsed, so that job scripts can carry them already, and reach no device.
//!
//! # What belongs here
//!
//! An implementation of `ringworld_transport::Transport` on reliable connected queue pairs: a *message*
//! as a send into pre-posted receive buffers, a *put* as an RDMA write with immediate into registered
//! memory, `Capabilities::costly_exposure` true because registration pins pages. It has to pass the same
//! conformance kit as every other transport (`ringworld_transport::conformance`). Foreign function
//! calls, and with them all `unsafe` code, go into one module of their own; the rest of the crate
//! denies it.

#![forbid(unsafe_code)]
