// Wrong arguments are refused before anything is sent, with the name and the index.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import vm from 'node:vm'

import { connect, InvalidArgumentError, InvalidUrlError } from 'millpond'

import { allRefused, detached, onEveryBackend, refused } from './support.mjs'

const CALLS = [
  [(ick) => ick.add([[1, 'a'], [2, 3]]), 'pairs[1][1] has to be a string or a Uint8Array', TypeError],
  [(ick) => ick.add(['a', 5]), 'pairs[1] has to be a string or a Uint8Array, such as a Buffer, not a number', TypeError],
  [(ick) => ick.add([[1, 'a', 2]]), 'pairs[0] has to be [score, member], not an array of 3', TypeError],
  [(ick) => ick.add([{ score: 1, member: 'a' }]), 'such as a Buffer, not Object', TypeError],
  [(ick) => ick.add([[true, 'a']]), 'pairs[0][0] has to be a number or null, not a boolean', TypeError],
  [(ick) => ick.add([['1', 'a']]), 'pairs[0][0] has to be a number or null, not a string', TypeError],
  [(ick) => ick.add([[undefined, 'a']]), 'pairs[0][0] has to be a number or null, not undefined', TypeError],
  [(ick) => ick.add([[1n, 'a']]), 'pairs[0][0] has to be a number or null, not a bigint', TypeError],
  [(ick) => ick.add([[NaN, 'a']]), 'score 0 is NaN'],
  [(ick) => ick.add([[1, 'a'], [1, '\udc80']]), 'pairs[1][1] has half a surrogate pair'],
  [(ick) => ick.add([[1, new Uint16Array(1)]]), 'not Uint16Array', TypeError],
  [(ick) => ick.add([[1, 'x'.repeat(2 ** 25)]]), 'member 0 has 33554432 bytes'],
  [(ick) => ick.add({ a: 1 }), 'pairs has to be an iterable, such as an array, not Object', TypeError],
  [(ick) => ick.add('abc'), 'pairs has to be an iterable', TypeError],
  [(ick) => ick.add(), 'pairs has to be an iterable, such as an array, not undefined', TypeError],
  [(ick) => ick.commit('abc'), 'members has to be an iterable', TypeError],
  [(ick) => ick.commit(Buffer.from('abc')), 'members has to be an iterable, such as an array, not Buffer', TypeError],
  [(ick) => ick.commit(['a', null]), 'members[1] has to be a string or a Uint8Array', TypeError],
  [(ick) => ick.exchange(1, 'abc'), 'members has to be an iterable', TypeError],
  [(ick) => ick.exchange(1, null), 'members has to be an iterable', TypeError],
  [(ick) => ick.reserve('1'), 'max has to be a whole number, not a string', TypeError],
  [(ick) => ick.reserve(1.5), 'max has to be a whole number, not 1.5'],
  [(ick) => ick.reserve(NaN), 'max has to be a whole number, not NaN'],
  [(ick) => ick.reserve(Infinity), 'max has to be a whole number, not Infinity'],
  [(ick) => ick.reserve(), 'max has to be a whole number, not undefined', TypeError],
  [(ick) => ick.reserve(-1), 'max is negative'],
  [(ick) => ick.reserve(-1n), 'max is negative'],
  [(ick) => ick.reserve(1e17), 'below 10^17'],
  [(ick) => ick.reserve(10n ** 17n), 'below 10^17'],
  [(ick) => ick.reserve(10n ** 30n), 'below 10^17'],
  [(ick) => ick.reserve(1, { backwash: 1 }), 'backwash has to be true or false', TypeError],
  [(ick) => ick.reserve(1, { set: 'consumer' }), 'the option set is not known; there is backwash, signal'],
  [(ick) => ick.peek(1, { set: 'both' }), "set is 'both'; it has to be 'producer' or 'consumer'"],
  [(ick) => ick.lease('1'), 'ttlMs has to be a number of milliseconds', TypeError],
  [(ick) => ick.lease(0), 'between a millisecond and a day'],
  [(ick) => ick.lease(-1), 'ttlMs is -1'],
  [(ick) => ick.add([detached()]), 'pairs[0] is detached'],
  [(ick) => ick.commit(['a', detached()]), 'members[1] is detached']
]

onEveryBackend('calls', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  await allRefused(CALLS, ick)
  assert.equal(await ick.stats(), null)
  // The largest size that a double can say, as scripts do.
  assert.deepEqual(await ick.reserve(10n ** 17n - 16n), [])
})

onEveryBackend('an iterable that throws', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const broken = (function* () {
    yield [1, 'a']
    throw new RangeError('in the iterable')
  })()
  await assert.rejects(ick.add(broken), RangeError)
  assert.equal(await ick.stats(), null)
})

onEveryBackend('a generator that fills one Buffer again and again', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const buffer = Buffer.alloc(1)
  const refilled = function* (make) {
    for (const byte of Buffer.from('abc')) {
      buffer[0] = byte
      yield make(buffer)
    }
  }
  assert.equal((await ick.add(refilled((member) => member))).new, 3)
  assert.equal((await ick.add(refilled((member) => [1, member]))).lowered, 3)
  await ick.reserve(3)
  assert.equal(await ick.commit(refilled((member) => member)), 3)
})

onEveryBackend('arrays of bytes of every kind', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  const shared = new Uint8Array(new SharedArrayBuffer(1)).fill(98)
  const other = vm.runInNewContext('new Uint8Array([99])')
  assert.equal((await ick.add([new Uint8Array([97]), shared, other, new Uint8Array(0)])).new, 4)
  assert.equal((await ick.reserve(9)).map(([member]) => member).sort().join(), ',a,b,c')
})

onEveryBackend('options that are inherited', async ({ connect, name }) => {
  class Options {
    get set() {
      return 'consumer'
    }
  }
  const ick = (await connect()).ick(name)
  await ick.add([[1, 'a'], [2, 'b']])
  await ick.reserve(1)
  assert.deepEqual(await ick.peek(9, new Options()), [['a', 1]])
  assert.deepEqual(await ick.peek(9, Object.create({ set: 'consumer' })), [['a', 1]])
})

test('handles', async () => {
  const client = await connect('memory:')
  const name = new Uint8Array(new SharedArrayBuffer(1)).fill(120)
  await client.ick(name).add(['a'])
  assert.equal((await client.ick('x').unlink()), 2)
  for (const [call, message, Kind] of [
    [() => client.ick('x', { returnBuffer: true }), 'the option returnBuffer is not known'],
    [() => client.ickChannel('x', 0), 'has 1 to 65536 icks, not 0'],
    [() => client.ickChannel('x', 2 ** 40), 'shards is 1099511627776, which is too large'],
    [() => client.ick('x').batches(1, { wait: 1 }), 'the option wait is not known; there is waitMs'],
    [() => client.ick('x').batches('1'), 'max has to be a whole number', TypeError],
    [() => client.ickChannel('x', 2).batches([0, '1'], 1), 'numbers[1] has to be a whole number', TypeError],
    [() => client.ickChannel('x', 2).batches(2, 1), 'numbers has to be an iterable', TypeError],
    [() => client.ickChannel('x', 2).batches([2], 1), 'there is no ick 2'],
    [() => client.ickChannel('x', 2).ick(-1), 'number is negative'],
    [() => client.ickChannel('x', 2).ickOf(1), 'member has to be a string', TypeError]
  ]) {
    assert.throws(call, refused(message, Kind))
  }
})

test('connect', async () => {
  for (const [url, options, Kind, message] of [
    ['redis://:secret@', {}, InvalidUrlError, 'names no host'],
    ['http://host', {}, InvalidUrlError, 'the scheme http is not known'],
    ['memory:', { timeoutMs: '5' }, TypeError, 'timeoutMs has to be a number'],
    ['memory:', { timeoutMs: 0 }, InvalidArgumentError, 'timeoutMs has to be longer than 0'],
    ['memory:', { connectTimeoutMs: -1 }, InvalidArgumentError, 'connectTimeoutMs is -1'],
    ['memory:', { retries: -1 }, InvalidArgumentError, 'retries is negative'],
    ['memory:', { username: 'me' }, InvalidArgumentError, 'username goes with a password'],
    ['memory:', { password: 5 }, TypeError, 'password has to be a string'],
    ['memory:', { colour: 'red' }, InvalidArgumentError, 'the option colour is not known'],
    ['memory:\ud800', {}, InvalidArgumentError, 'url has half a surrogate pair'],
    ['memory:', { password: 'secret\udc00' }, InvalidArgumentError, 'password has half a'],
    ['memory:', { username: '\ud800', password: '' }, InvalidArgumentError, 'username has half a'],
    [new URL('memory:'), {}, TypeError, 'url has to be a string, not URL'],
    [undefined, {}, TypeError, 'url has to be a string, not undefined']
  ]) {
    await assert.rejects(connect(url, options), (error) => {
      assert.ok(error instanceof Kind, `${error}`)
      assert.ok(error.message.includes(message), `${error.message}\nis not\n${message}`)
      assert.ok(!error.message.includes('secret'))
      return true
    })
  }
  // What is undefined was left out.
  await (await connect('memory:', { timeoutMs: undefined, signal: undefined })).close()
})
