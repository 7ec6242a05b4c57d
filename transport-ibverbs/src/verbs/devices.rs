//! Asks the devices what there is, and picks the one to use.
//!
//! The `ibverbs` crate finds the devices; ports and GIDs are asked for here, because its own queries know only
//! port 1 and refuse a port that is down, and a list of devices has to show both. Neighbours: `choice.rs` decides.

use std::sync::Arc;

use super::device::Context;
use crate::choice::{self, DeviceReport};
use crate::config::{Config, OpenError};

/// Every port of every RDMA device with its state and GIDs, which one the transport would use with these
/// settings, and why the others are not used. Empty when there is no device.
///
/// # Errors
///
/// [`OpenError::Absent`] when the system knows nothing of RDMA at all.
pub fn available_devices(config: &Config) -> Result<Vec<DeviceReport>, OpenError> {
    let mut reports = look()?;
    // Why none is chosen stands in the reports.
    let _ = choice::choose(&mut reports, config);
    Ok(reports)
}

fn look() -> Result<Vec<DeviceReport>, OpenError> {
    let devices = ibverbs::devices().map_err(|error| {
        OpenError::Absent(match error.raw_os_error() {
            // What libibverbs says without the kernel's module ib_uverbs.
            Some(code) if code == rustix::io::Errno::NOSYS.raw_os_error() => {
                "the kernel has no RDMA support loaded (modules ib_uverbs and a device's own)".to_owned()
            }
            _ => format!("the list of devices cannot be read ({error})"),
        })
    })?;
    let mut reports = Vec::new();
    for device in devices.iter() {
        let Some(name) = device.name() else { continue };
        let name = name.to_string_lossy();
        let guid = device.guid().map(|guid| u64::from_be(u64::from(guid))).unwrap_or_default();
        ports(&name, guid, &mut reports);
    }
    Ok(reports)
}

fn ports(name: &str, guid: u64, reports: &mut Vec<DeviceReport>) {
    let mut unasked = |why: String| reports.push(DeviceReport { state: why, ..DeviceReport::new(name, 1) });
    let context = match Context::open(name) {
        Ok(context) => context,
        Err(error) => {
            return unasked(format!("cannot be opened: {error}; see the rights of /dev/infiniband"));
        }
    };
    let count = match context.limits() {
        Ok(limits) => limits.ports,
        Err(error) => return unasked(format!("cannot be asked: {error}")),
    };
    for port in 1..=count {
        let mut report = DeviceReport::new(name, port);
        report.guid = [48, 32, 16, 0].map(|shift| format!("{:04x}", guid >> shift & 0xffff)).join(":");
        if let Err(error) = context.describe(&mut report) {
            report.state = format!("cannot be asked: {error}");
        }
        reports.push(report);
    }
}

/// Opens the device that is to be used.
pub(super) fn select(config: &Config) -> Result<(Arc<Context>, DeviceReport), OpenError> {
    let mut reports = look()?;
    let chosen = choice::choose(&mut reports, config)?;
    let report = reports.swap_remove(chosen);
    let error = |source| OpenError::Device { device: report.device.clone(), what: "be opened", source };
    let context = Context::open(&report.device).map_err(error)?;
    Ok((context, report))
}
