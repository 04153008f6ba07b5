// What a request says of the functions that scans and prunes call; see node.mjs.

import { decoded, options } from './node_values.mjs'

/** What such a function fails with. */
class Raised extends Error {}

/** Makes a scan or a prune, and returns what its function got too. */
export async function called(tracker, call, { rows, done, adds, raises, ...given }) {
  let seen = null
  const meanwhile = async () => {
    if (adds !== undefined) await tracker.add(decoded(adds))
    if (raises !== undefined) throw new Raised(raises)
  }
  const read = async (after, limit) => {
    seen = { after, limit }
    await meanwhile()
    return rows.map(([row, id]) => [row, decoded(id)])
  }
  const check = async (ids) => {
    seen = ids
    await meanwhile()
    return decoded(done)
  }
  try {
    const result = await tracker[call](call === 'scan' ? read : check, options(given))
    return { seen, result }
  } catch (error) {
    if (error instanceof Raised) return { seen, raised: error.message }
    throw error
  }
}
