// Tests of programs replace the timers of Node by fake ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from 'millpond'

import './limit.mjs'

test('calls need no timer of the program', async (context) => {
  const ick = (await connect('memory:')).ick('x')
  const { setImmediate, setTimeout, clearTimeout } = globalThis
  const late = new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error('no result')), 20_000)
    context.after(() => clearTimeout(timer))
  })
  context.mock.timers.enable()
  assert.notEqual(globalThis.setImmediate, setImmediate)
  assert.deepEqual(await Promise.race([ick.add(['a']), late]), { new: 1, lowered: 0 })
})
