'use strict'

// Queue trackers: the two halves of a scan and of a prune, with the program's own function between them.

const check = require('./arguments.js')
const { invalid } = require('./errors.js')
const handles = require('./generated/handles.js')
const limits = require('./generated/limits.js')
const { made } = require('./generated/records.js')
const { handling } = require('./worker.js')

const { IDS_MAX, LIMIT_DEFAULT } = limits.tracker

const PRUNE = { limit: check.size, signal: check.abortSignal }
const SCAN = { ...PRUNE, roundMinMs: check.milliseconds }

/** Where a row is, as a text. */
function placeOf(path, place) {
  if (typeof place === 'string') return check.text(path, place)
  if (typeof place === 'bigint') return String(place)
  if (typeof place !== 'number') throw check.wrong(path, 'a string or a whole number', place)
  // Rounded, it could be the number of another row.
  if (!Number.isSafeInteger(place)) throw invalid(`${path} is ${place}, which is not an exact whole number`)
  return String(place)
}

/** Where the rows of a page are, and their ids, each empty for none. */
function rowsOf(returned) {
  const [places, ids] = [[], []]
  const take = check.taking({ bytes: 0 }, returned)
  for (const row of check.iterable('what rows() returned', returned, IDS_MAX)) {
    const index = places.length
    const path = `rows()[${index}]`
    if (!Array.isArray(row) || row.length !== 2) throw check.wrong(path, '[row, id]', row)
    const [place, id] = row
    places.push(placeOf(`${path}[0]`, place))
    // An id that is undefined is refused: it may be the misspelt name of a column.
    ids.push(id === null ? '' : take('rows()', id, index, '[1]'))
  }
  return [places, ids]
}

function idsOf(returned) {
  const ids = check.iterable('what done() returned', returned, IDS_MAX)
  return check.memberList('done()', ids, IDS_MAX)
}

class QueueTracker extends handles.QueueTracker {
  async scan(rows, options) {
    handling('rows', rows)
    // Both halves have the same options, even if the program changes its object between them.
    const checked = check.options(options, SCAN)
    const { limit = LIMIT_DEFAULT } = checked
    const { row } = await this.beginScan(checked)
    const page = await rows(row, Number(limit))
    return this.advance(row ?? '', ...rowsOf(page), checked)
  }

  async prune(done, options) {
    handling('done', done)
    const { limit, signal } = check.options(options, PRUNE)
    const { ids, stamp } = await this.sample({ limit, signal })
    if (ids.length === 0) return { checked: 0, removed: 0 }
    // The function has its own array: this one is needed as it is.
    const returned = await done([...ids])
    return this.remove(idsOf(returned), ids, stamp, { signal })
  }
}

made.QueueTracker = QueueTracker

module.exports = { QueueTracker }
