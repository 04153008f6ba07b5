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
        for section in &self.sections {
            writeln!(f, "\n## {}\n\n{}\n", section.title, section.text)?;
            writeln!(f, "| {} |", section.columns.join(" | "))?;
            writeln!(f, "|{}", " --- |".repeat(section.columns.len()))?;
            for row in &section.rows {
                writeln!(f, "| {} |", row.join(" | "))?;
            }
        }
        Ok(())
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
