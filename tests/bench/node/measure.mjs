// Ours and a peer's in turn, round by round, as a row of a table.

/**
 * Runs both in turn, the first round to warm up, and returns the row: what each made a second,
 * the medians of the rounds.
 *
 * @param {number} rounds how often each is measured
 * @param {object} row what else the row says: its `name`, how many are `concurrent`, the `peer`
 * @param {() => Promise<number>} ours measures ours once and returns how many there were per
 *   second
 * @param {() => Promise<number>} theirs the same for the peer
 */
export async function compare(rounds, row, ours, theirs) {
  const figures = []
  for (let round = 0; round <= rounds; round += 1) {
    const inTurn = [ours, theirs]
    if (round % 2) inTurn.reverse()
    const found = [await inTurn[0](), await inTurn[1]()]
    figures.push(round % 2 ? found.reverse() : found)
  }
  figures.shift() // the first round warms up
  return {
    ...row,
    ours: median(figures.map(([first]) => first)),
    theirs: median(figures.map(([, second]) => second)),
    ratio: median(figures.map(([first, second]) => first / second))
  }
}

function median(figures) {
  const sorted = figures.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)]
}
