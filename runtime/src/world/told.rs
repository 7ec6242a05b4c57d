//! Who is told at the end of a world what its ranks have counted. Neighbour: `account` tells.

use std::path::PathBuf;

use ringworld_bootstrap::Settings;

/// Who is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Told {
    #[default]
    Nobody,
    /// Whoever reads the standard error.
    Reader,
    /// Whoever looks into the folder.
    Folder(PathBuf),
}

impl Told {
    /// As `RINGWORLD_STATISTICS` says.
    pub(super) fn from_settings(settings: &Settings) -> Self {
        match settings.statistics.as_deref() {
            None | Some("0") => Self::Nobody,
            Some("1") => Self::Reader,
            Some(folder) => Self::Folder(folder.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_no_folder() {
        let of = |value: Option<&str>| {
            let mut settings = Settings::default();
            settings.statistics = value.map(str::to_owned);
            Told::from_settings(&settings)
        };
        assert_eq!([of(None), of(Some("0")), of(Some("1"))], [Told::Nobody, Told::Nobody, Told::Reader]);
        assert_eq!(of(Some("./1")), Told::Folder("./1".into()));
    }
}
