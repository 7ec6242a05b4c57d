//! Log lines that a test causes: the test hears them, and nobody else does.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// What has been heard.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Runs `act`, and hears what is logged meanwhile by the thread that runs it, and from then on by those that the
    /// library starts for it. Other threads of this process, and so other tests, speak to whom they did.
    pub(crate) fn hear<R>(&self, act: impl FnOnce() -> R) -> R {
        let writer = self.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, act)
    }

    pub(crate) fn said(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
