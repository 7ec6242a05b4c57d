//! Serves the rendezvous of generations, one after the other, at one port.

use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::master::{Master, MasterConfig, MasterHandle};
use crate::settings::Settings;

/// Where this process serves generations.
pub(super) struct Server {
    pub(super) meeting: TcpListener,
    pub(super) settings: Settings,
    /// The generation that it has served last.
    pub(super) served: Mutex<Option<MasterHandle>>,
}

impl Server {
    /// Serves a generation of that size.
    pub(super) fn serve(&self, size: usize) -> Result<MasterHandle, Error> {
        let listener = self.meeting.try_clone();
        let listener = listener.map_err(|error| Error::system("serving a generation", error))?;
        // One that has not formed would let those in who come to this one.
        self.call_off();
        let config = MasterConfig { num_nodes: None, once: true, ..MasterConfig::new(size, &self.settings) };
        let master = Master::serve(listener, config)?;
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some(master.clone());
        Ok(master)
    }

    /// Ends the last one, unless it has formed.
    pub(super) fn call_off(&self) {
        let last =
            self.served.lock().unwrap_or_else(PoisonError::into_inner).take_if(|last| !last.has_formed());
        if let Some(last) = last {
            last.shutdown();
        }
    }

    /// The generation that this process has served last.
    pub(super) fn served(&self) -> Option<MasterHandle> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
