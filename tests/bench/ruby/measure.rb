# frozen_string_literal: true

# Ours and peers' in turn, round by round, as rows of a table.

def median(values)
  sorted = values.sort
  (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
end

# Calls each in turn, every other round in the reverse order, and returns by name what they returned
# in the rounds after the first, which warms up.
def in_turn(rounds, measured)
  figures = measured.transform_values { [] }
  (rounds + 1).times do |round|
    names = round.odd? ? measured.keys.reverse : measured.keys
    names.each { |name| figures[name] << measured[name].call }
  end
  figures.transform_values { |found| found.drop(1) }
end

# The row with what the rounds of both made a second: the medians, and that of the ratios.
def with_figures(row, ours, theirs)
  ratios = ours.zip(theirs).map { |one, other| one / other }
  { **row, ours: median(ours), theirs: median(theirs), ratio: median(ratios) }
end
