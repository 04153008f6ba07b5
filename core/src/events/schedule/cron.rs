//! Cron expressions, on a clock that is never changed: the times that they match.

use crate::error::{Error, Result, ensure, invalid};

/// The most bytes of a cron expression.
pub const CRON_BYTES_MAX: usize = 256;

const DAY: i64 = 86_400;

/// The period after which the calendar repeats, including weekdays: 400 years.
const CYCLE: i64 = 146_097 * DAY;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Named expressions.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    seconds: Field,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// The values that a field of an expression matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    /// One bit for each value.
    values: u64,
    /// Whether it begins with `*`.
    is_open: bool,
}

/// What a field may hold.
struct Limits {
    what: &'static str,
    first: u32,
    last: u32,
    names: &'static [&'static str],
}

impl Cron {
    /// Reads an expression of five fields, or of six with seconds before them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for any other text, and for times that never come.
    pub(super) fn parse(text: &str) -> Result<Self> {
        ensure!(text.len() <= CRON_BYTES_MAX, "the cron expression has {} bytes", text.len());
        let name = NAMED.iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name));
        let fields: Vec<_> = name.map_or(text, |(_, text)| text).split_ascii_whitespace().collect();
        let (second, rest) = match fields.as_slice() {
            rest @ [_, _, _, _, _] => ("0", rest),
            [second, rest @ ..] if rest.len() == 5 => (*second, rest),
            _ => {
                let found = fields.len();
                let message =
                    format!("the cron expression {text:?} has {found} fields, not 5 or 6");
                return Err(invalid(message));
            }
        };
        let field =
            |text, what, first, last, names| Limits { what, first, last, names }.parse(text);
        let mut weekdays = field(rest[4], "weekday", 0, 7, &WEEKDAYS)?;
        // Sunday is 0 and 7.
        weekdays.values = weekdays.values & 0x7f | weekdays.values >> 7;
        let cron = Self {
            seconds: field(second, "second", 0, 59, &[])?,
            minutes: field(rest[0], "minute", 0, 59, &[])?,
            hours: field(rest[1], "hour", 0, 23, &[])?,
            days: field(rest[2], "day", 1, 31, &[])?,
            months: field(rest[3], "month", 1, 12, &MONTHS)?,
            weekdays,
        };
        ensure!(cron.next(0, CYCLE).is_some(), "the cron expression {text:?} never matches");
        Ok(cron)
    }

    /// Whether its times follow elapsed time, and are not times of day.
    pub(super) fn is_interval(&self) -> bool {
        self.minutes.is_open || self.hours.is_open
    }

    /// The first time that it matches from `from` on and before `before`, in seconds since 1970 on a clock that is
    /// never changed.
    pub(super) fn next(&self, from: i64, before: i64) -> Option<i64> {
        let (mut day, mut second) = (from.div_euclid(DAY), from.rem_euclid(DAY) as u32);
        while day * DAY < before {
            let (year, month, of_month) = date_of(day);
            if !self.months.has(month) {
                let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                (day, second) = (day_of(year, month, 1), 0);
                continue;
            }
            if self.is_day(day, of_month)
                && let Some(second) = self.second_from(second)
            {
                return Some(day * DAY + i64::from(second)).filter(|next| *next < before);
            }
            (day, second) = (day + 1, 0);
        }
        None
    }

    fn is_day(&self, day: i64, of_month: u32) -> bool {
        // The first of January 1970 was a Thursday.
        let is_weekday = self.weekdays.has((day + 4).rem_euclid(7) as u32);
        match self.days.is_open || self.weekdays.is_open {
            true => self.days.has(of_month) && is_weekday,
            false => self.days.has(of_month) || is_weekday,
        }
    }

    /// The first second of a day that it matches, from `from` on.
    fn second_from(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        let at = |hour: u32, minute: u32, second: u32| hour * 3_600 + minute * 60 + second;
        let first = |field: Field| field.from(0).unwrap_or(0);
        if self.hours.has(hour) {
            if self.minutes.has(minute)
                && let Some(second) = self.seconds.from(second)
            {
                return Some(at(hour, minute, second));
            }
            if let Some(minute) = self.minutes.from(minute + 1) {
                return Some(at(hour, minute, first(self.seconds)));
            }
        }
        let hour = self.hours.from(hour + 1)?;
        Some(at(hour, first(self.minutes), first(self.seconds)))
    }
}

impl Field {
    fn has(self, value: u32) -> bool {
        self.values & 1 << value != 0
    }

    /// The first value from `value` on.
    fn from(self, value: u32) -> Option<u32> {
        let left = self.values.checked_shr(value)?;
        (left != 0).then(|| value + left.trailing_zeros())
    }
}

impl Limits {
    fn parse(&self, text: &str) -> Result<Field> {
        let is_open = text.starts_with('*');
        let mut values = 0;
        for part in text.split(',') {
            let wrong = || self.wrong(text);
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(number(step).ok_or_else(wrong)?)),
                None => (part, None),
            };
            let (first, last) = match range.split_once('-') {
                _ if range == "*" => (self.first, self.last),
                Some((first, last)) => (self.value(first, text)?, self.value(last, text)?),
                None => {
                    let first = self.value(range, text)?;
                    (first, if step.is_some() { self.last } else { first })
                }
            };
            let step = step.unwrap_or(1);
            if first > last || step == 0 {
                return Err(wrong());
            }
            for value in (first..=last).step_by(step as usize) {
                values |= 1 << value;
            }
        }
        Ok(Field { values, is_open })
    }

    fn value(&self, text: &str, field: &str) -> Result<u32> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let value = named.map(|at| at as u32 + self.first).or_else(|| number(text));
        let value = value.filter(|value| (self.first..=self.last).contains(value));
        value.ok_or_else(|| self.wrong(field))
    }

    fn wrong(&self, field: &str) -> Error {
        let Self { what, first, last, .. } = self;
        invalid(format!(
            "the {what} {field:?} of a cron expression is not within {first} to {last}"
        ))
    }
}

fn number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The year, month and day of a day since 1970. Years begin in March here, so that a leap day is the last of its year.
fn date_of(day: i64) -> (i64, u32, u32) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let day = of_year - (153 * march + 2) / 5 + 1;
    (year + era * 400 + i64::from(month <= 2), month as u32, day as u32)
}

/// The day since 1970 of a date.
fn day_of(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march = i64::from((month + 9) % 12);
    let of_year = (153 * march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_back() {
        for day in -200_000..200_000 {
            let (year, month, of_month) = date_of(day);
            assert_eq!(day_of(year, month, of_month), day);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(day_of(2024, 2, 29)), (2024, 2, 29));
        assert_eq!(day_of(2024, 3, 1), day_of(2024, 2, 29) + 1);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "",
            "* * * *",
            "* * * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "5-3 * * * *",
            "a * * * *",
            "1- * * * *",
            "-1 * * * *",
            "1,,2 * * * *",
            "+1 * * * *",
            "0 0 30 2 *",
            "0 0 31 4,6,9,11 *",
            "@never",
            "* * L * *",
            "* * * * 5#2",
            "0 0 15W * *",
            "*-5 * * * *",
            "jan * * * *",
        ] {
            assert!(Cron::parse(text).is_err(), "{text:?}");
        }
        for text in ["0 0 29 2 */2", "0 0 * jan-mar SUN,7", "*/90 * * * *", "0 0 31 * 1", "@Daily"]
        {
            assert!(Cron::parse(text).is_ok(), "{text:?}");
        }
    }
}
