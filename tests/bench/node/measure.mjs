// Ours and peers' in turn, round by round, as rows of a table.

/**
 * Runs each in turn, every other round in the reverse order, and returns by name what they
 * returned in the rounds after the first, which warms up.
 *
 * @param {number} rounds how often each is measured
 * @param {Record<string, () => Promise<number>>} measured each measures once and returns how many
 *   there were per second
 */
export async function inTurn(rounds, measured) {
  const names = Object.keys(measured)
  const figures = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 ? names.toReversed() : names) {
      const figure = await measured[name]()
      if (round > 0) figures[name].push(figure)
    }
  }
  return figures
}

/**
 * Runs both in turn and returns the row: what each made a second, the medians of the rounds.
 *
 * @param {number} rounds how often each is measured
 * @param {object} row what else the row says: its `name`, how many are `concurrent`, the `peer`
 * @param {() => Promise<number>} ours measures ours once and returns how many there were per
 *   second
 * @param {() => Promise<number>} theirs the same for the peer
 */
export async function compare(rounds, row, ours, theirs) {
  const figures = await inTurn(rounds, { ours, theirs })
  return withFigures(row, figures.ours, figures.theirs)
}

/** The row with what the rounds of both made a second: the medians, and that of the ratios. */
export function withFigures(row, ours, theirs) {
  return {
    ...row,
    ours: median(ours),
    theirs: median(theirs),
    ratio: median(ours.map((first, round) => first / theirs[round]))
  }
}

function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}
