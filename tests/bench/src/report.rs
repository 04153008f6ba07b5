//! The tables.

use std::fmt;

/// Sections in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Report {
    sections: Vec<Section>,
}

pub(crate) struct Section {
    title: String,
    text: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Report {
    pub(crate) fn section(
        &mut self,
        title: &str,
        text: &str,
        columns: &[&'static str],
    ) -> &mut Section {
        self.sections.push(Section {
            title: title.to_owned(),
            text: text.to_owned(),
            columns: columns.to_vec(),
            rows: Vec::new(),
        });
        self.sections.last_mut().expect("it was just pushed")
    }
}

impl Report {
    /// An earlier report with these sections instead of its own; new ones come at its end.
    pub(crate) fn replace_in(&self, earlier: &str) -> String {
        let mut parts = earlier.trim_end().split("\n## ").map(str::to_owned);
        let mut text = parts.next().unwrap_or_default();
        let mut left: Vec<&Section> = self.sections.iter().collect();
        for part in parts {
            let title = part.lines().next().unwrap_or_default();
            let measured = left.iter().position(|section| section.title == title);
            let part = measured.map_or(part.clone(), |at| left.remove(at).to_string());
            text += &format!("\n## {}\n", part.trim_end());
        }
        for section in left {
            text += &format!("\n## {}\n", section.to_string().trim_end());
        }
        text
    }
}

impl Section {
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        eprintln!("  {}", cells.join("  "));
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Benchmarks\n\n\
             Written by `make bench`; do not edit. What is compared ran in turn, round by round, \
             on one machine with {} cores and its servers on the same cores: ratios count, times \
             do not. Each figure is the median of its rounds, each ratio the median of the \
             rounds' ratios.",
            std::thread::available_parallelism().map_or(0, usize::from)
        )?;
        self.sections.iter().try_for_each(|section| write!(f, "\n## {section}"))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}\n", self.title, self.text)?;
        writeln!(f, "| {} |", self.columns.join(" | "))?;
        writeln!(f, "|{}", " --- |".repeat(self.columns.len()))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// A number with three digits that mean something.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e5 => format!("{:.0} k", v / 1e3),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A ratio, with what was aimed for.
pub(crate) fn ratio(value: f64, aim: Option<(&str, bool)>) -> String {
    match aim {
        Some((aim, true)) => format!("{value:.2} ({aim}: yes)"),
        Some((aim, false)) => format!("**{value:.2}** ({aim}: no)"),
        None => format!("{value:.2}"),
    }
}
