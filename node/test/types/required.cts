// The same from CommonJS.

import millpond = require('millpond')

async function main(): Promise<void> {
  const client: millpond.Client = await millpond.connect('memory:')
  const [[member]] = (await client.ick('x').reserve(1)) as [millpond.Entry]
  const text: string = member
  await client.close()
}

// @ts-expect-error there is no such export
millpond.disconnect
