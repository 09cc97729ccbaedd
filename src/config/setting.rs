//! What is known about one setting: name, default, shape and whether its value may be shown.

/// One environment setting. The parser reads settings through these alone, so documentation and code cannot drift apart.
#[derive(Debug)]
pub struct Setting {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What happens when it is not set.
    pub presence: Presence,
    /// Whether its value may be shown.
    pub exposure: Exposure,
    /// Which values it takes.
    pub shape: Shape,
    /// What it is for, in a sentence or two.
    pub doc: &'static str,
}

/// What happens when a setting is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The roles that read it refuse to start.
    Required,
    /// Nothing, or what the text says.
    Optional(&'static str),
    /// This value is used.
    Default(&'static str),
}

/// Whether the value of a setting may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Shown as it is.
    Public,
    /// Shown without user, password, path and query, which may hold credentials. May come from a file.
    Url,
    /// Never shown. May come from a file.
    Secret,
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A whole number of `unit` from `min` to `max`.
    Number {
        /// Unit of the number.
        unit: &'static str,
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// What the text says.
    Text(&'static str),
}

impl Setting {
    /// A number with a default, which may be shown.
    pub(super) const fn number(
        name: &'static str,
        default: &'static str,
        (unit, min, max): (&'static str, u64, u64),
        doc: &'static str,
    ) -> Self {
        let presence = Presence::Default(default);
        Self::new(name, presence, Shape::Number { unit, min, max }, doc)
    }

    /// A text which may be shown.
    pub(super) const fn text(
        name: &'static str,
        presence: Presence,
        shape: &'static str,
        doc: &'static str,
    ) -> Self {
        Self::new(name, presence, Shape::Text(shape), doc)
    }

    pub(super) const fn new(
        name: &'static str,
        presence: Presence,
        shape: Shape,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            presence,
            exposure: Exposure::Public,
            shape,
            doc,
        }
    }

    /// The same setting, its value never shown.
    pub(super) const fn secret(self) -> Self {
        Self {
            exposure: Exposure::Secret,
            ..self
        }
    }

    /// The same setting, its value shown without credentials.
    pub(super) const fn url(self) -> Self {
        Self {
            exposure: Exposure::Url,
            ..self
        }
    }

    /// Whether `NAME_FILE` may name a file that holds the value.
    #[must_use]
    pub fn has_file_form(&self) -> bool {
        match self.exposure {
            Exposure::Public => false,
            Exposure::Url | Exposure::Secret => true,
        }
    }
}
