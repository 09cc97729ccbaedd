//! Amounts of assets. The network counts in units of 10^-7; for lumens such a unit is a stroop.

use std::fmt;
use std::str::FromStr;

/// Units in one whole: the network keeps seven decimal places.
const UNITS_PER_WHOLE: i64 = 10_000_000;
const DECIMAL_PLACES: usize = 7;

/// A positive amount of an asset, in units of 10^-7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(i64);

/// Why a text is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAmount {
    /// Other characters than digits and one point.
    #[error("an amount is written in decimal digits with an optional point, like 12.5")]
    NotDecimal,
    /// More than seven decimal places.
    #[error("an amount has at most 7 decimal places")]
    TooPrecise,
    /// Zero or below.
    #[error("an amount must be greater than zero")]
    NotPositive,
    /// Above 2^63 - 1 units.
    #[error("an amount is at most 922337203685.4775807")]
    TooLarge,
}

impl Amount {
    /// An amount of so many units of 10^-7.
    ///
    /// # Errors
    /// [`BadAmount::NotPositive`] for zero and below.
    pub fn from_units(units: i64) -> Result<Self, BadAmount> {
        if units > 0 {
            Ok(Self(units))
        } else {
            Err(BadAmount::NotPositive)
        }
    }

    /// The amount in units of 10^-7.
    #[must_use]
    pub fn units(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / UNITS_PER_WHOLE, self.0 % UNITS_PER_WHOLE);
        write!(f, "{whole}.{rest:07}")
    }
}

impl FromStr for Amount {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if text
            .strip_prefix('-')
            .is_some_and(|rest| rest.parse::<f64>().is_ok())
        {
            return Err(BadAmount::NotPositive);
        }
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(BadAmount::NotDecimal),
            None => (text, ""),
        };
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(BadAmount::NotDecimal);
        }
        if fraction.len() > DECIMAL_PLACES {
            return Err(BadAmount::TooPrecise);
        }
        let whole: i64 = whole.parse().map_err(|_| BadAmount::TooLarge)?;
        let fraction: i64 = format!("{fraction:0<DECIMAL_PLACES$}")
            .parse()
            .map_err(|_| BadAmount::NotDecimal)?;
        let units = whole
            .checked_mul(UNITS_PER_WHOLE)
            .and_then(|units| units.checked_add(fraction))
            .ok_or(BadAmount::TooLarge)?;
        Self::from_units(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_and_their_units() {
        let good = [
            ("1", 10_000_000),
            ("0.0000001", 1),
            ("12.5", 125_000_000),
            ("922337203685.4775807", i64::MAX),
        ];
        for (text, units) in good {
            assert_eq!(
                text.parse::<Amount>().map(Amount::units),
                Ok(units),
                "{text}"
            );
        }
        let bad = [
            ("", BadAmount::NotDecimal),
            (".5", BadAmount::NotDecimal),
            ("5.", BadAmount::NotDecimal),
            ("1e3", BadAmount::NotDecimal),
            ("+1", BadAmount::NotDecimal),
            (" 1", BadAmount::NotDecimal),
            ("1,5", BadAmount::NotDecimal),
            ("1.+5", BadAmount::NotDecimal),
            ("NaN", BadAmount::NotDecimal),
            ("-", BadAmount::NotDecimal),
            ("-1", BadAmount::NotPositive),
            ("0", BadAmount::NotPositive),
            ("0.0000000", BadAmount::NotPositive),
            ("1.00000000", BadAmount::TooPrecise),
            ("922337203685.4775808", BadAmount::TooLarge),
            ("99999999999999999999", BadAmount::TooLarge),
        ];
        for (text, fault) in bad {
            assert_eq!(text.parse::<Amount>(), Err(fault), "{text}");
        }
    }

    proptest! {
        #[test]
        fn display_and_parse_are_inverse(units in 1..=i64::MAX) {
            let amount = Amount::from_units(units).expect("positive");
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }
}
