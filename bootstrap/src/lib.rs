//! Bootstrap.
#![forbid(unsafe_code)]
mod settings;
pub use settings::{KNOBS, Knob, Settings, SettingsError, Source, Strength, TransportChoice};
