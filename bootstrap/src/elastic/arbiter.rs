//! The process that decides alone on generations, and serves those that it decides: a launcher that has started all
//! ranks.
//!
//! It outlives them, and its end is theirs, so no part of the world can go on without it: what takes a quorum elsewhere
//! takes one word here, and a single rank may go on.

use std::sync::Arc;
use std::time::Duration;

use ringworld_membership::{Id, Limits, Machine, Node, Patience, Table};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::place::nodes;
use super::server::Server;
use super::service::Order;
use crate::error::Error;
use crate::master::{Arbiter, MasterHandle, Outcome};
use crate::thread;
use crate::wire::Member;

/// How often to look whether a generation has formed.
const LOOK: Duration = Duration::from_millis(2);
/// How often to look whether one has ended.
const LOOK_FOR_THE_END: Duration = Duration::from_millis(50);

/// What the master of the first generation needs to know of the arbiter.
pub(super) fn arbiter(
    me: Node,
    orders: mpsc::UnboundedSender<Order>,
    limits: Limits,
    patience: Patience,
) -> Arbiter {
    // A vector has room for everything.
    let node = postcard::to_stdvec(&me).unwrap_or_default();
    let begin = move |members: &[Member]| {
        let members = nodes(members).map_err(|error| error.to_string());
        let machine = members.and_then(|members| {
            let (arbiter, serves) = (Some(me.clone()), me.id);
            let table = Table { generation: 0, members, arbiter, serves, broken: Vec::new() };
            Machine::arbiter(me.clone(), table, limits, patience).map_err(|error| error.to_string())
        });
        match machine {
            Ok(machine) => drop(orders.send(Order::Begin(Box::new(machine)))),
            Err(error) => tracing::error!("this world cannot go on after a failure: {error}"),
        }
    };
    Arbiter { node, begin: Box::new(begin) }
}

/// Serves each generation that is decided and that this process is to serve without being in it. `first` is one that it
/// serves already.
pub(super) async fn serve(
    me: Id,
    mut decided: watch::Receiver<Option<Table>>,
    server: Arc<Server>,
    orders: mpsc::UnboundedSender<Order>,
    first: Option<MasterHandle>,
) {
    if let Some(first) = first {
        tokio::spawn(see_out(0, first, orders.clone()));
    }
    while decided.changed().await.is_ok() {
        let Some(table) = decided.borrow_and_update().clone() else { continue };
        if table.arbiter.as_ref().is_none_or(|arbiter| arbiter.id != me) || table.serves != me {
            continue;
        }
        let (cancel, mut cancelled) = watch::channel(false);
        let _ = orders.send(Order::Forming { generation: table.generation, cancel });
        let (serving, size) = (Arc::clone(&server), table.members.len());
        // It may wait for the end of the one before.
        let serving = thread::aside("ringworld-serves", move || serving.serve(size)).await;
        let serving = serving.map_err(|error| Error::system("starting a thread to serve it", error));
        let master = match serving.and_then(|served| served) {
            Ok(master) => master,
            Err(error) => {
                tracing::error!("generation {} cannot be served: {error}", table.generation);
                continue;
            }
        };
        tokio::select! {
            () = formed(&master) => {
                let _ = orders.send(Order::Formed);
                tokio::spawn(see_out(table.generation, master, orders.clone()));
            }
            () = called_off(&mut cancelled) => {
                tracing::debug!("generation {} cannot form", table.generation);
                // Perhaps all are gone without whom it cannot: nobody of them has done.
                let _ = orders.send(Order::Ended { generation: table.generation, done: false });
                // Without the thread it ends with its time-out.
                let _ = thread::aside("ringworld-ends", move || master.shutdown()).await;
            }
        }
    }
}

/// Waits for the end of a generation, and says so, and whether its ranks had done: then nobody need wait for the next.
async fn see_out(generation: u64, master: MasterHandle, orders: mpsc::UnboundedSender<Order>) {
    let outcome = loop {
        match master.outcome() {
            Some(outcome) => break outcome,
            None => sleep(LOOK_FOR_THE_END).await,
        }
    };
    let by_itself = matches!(outcome, Outcome::Finished | Outcome::Died(_));
    let done = by_itself && master.departures().iter().any(|departure| departure.finished);
    let _ = orders.send(Order::Ended { generation, done });
}

async fn called_off(cancelled: &mut watch::Receiver<bool>) {
    if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
        // Nobody calls it off any more.
        std::future::pending::<()>().await;
    }
}

async fn formed(master: &MasterHandle) {
    while !master.has_formed() && master.outcome().is_none() {
        sleep(LOOK).await;
    }
}
