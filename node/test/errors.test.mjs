// Every kind of error is a class, whose errors say where the call was made.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { inspect } from 'node:util'

import * as millpond from 'millpond'
import { connect, MillpondError } from 'millpond'
import { Redis } from 'ioredis'

import { sharedServer, startServers } from './servers.mjs'
import { directory, newName, onEveryBackend } from './support.mjs'

const require = createRequire(import.meta.url)
const { native, begin, unwrap } = require('../lib/calls.js')
const kinds = require('../lib/generated/errors.js')

test('every kind has a class of its own', () => {
  assert.ok(kinds.length >= 21)
  const classes = new Set()
  for (const { number, code, retry } of kinds) {
    const found = Object.values(millpond).find((one) => one.code === code)
    assert.ok(found, code)
    classes.add(found)
    const error = new found('what happened', { operation: 'ick.add' })
    assert.ok(error instanceof MillpondError && error instanceof Error)
    const { name, message, operation } = error
    assert.equal(name.toLowerCase(), `${code.replaceAll('_', '')}Error`.toLowerCase())
    assert.deepEqual([error.code, error.number, error.retry], [code, number, retry])
    assert.deepEqual([message, operation, 'cause' in error], ['what happened', 'ick.add', false])
    assert.match(inspect(error), new RegExp(`^${name}: what happened[^]*code: '${code}'`))
  }
  const exported = Object.keys(millpond).filter((name) => name.endsWith('Error'))
  assert.equal(classes.size, kinds.length)
  assert.equal(exported.length, kinds.length + 1)
})

onEveryBackend('the stack shows the caller', async ({ connect, name }) => {
  const ick = (await connect()).ick(name)
  async function theCaller() {
    await ick.add([[NaN, 'a']])
  }
  await assert.rejects(theCaller, (error) => {
    assert.match(error.stack, /theCaller .*errors\.test\.mjs/)
    return true
  })
})

test('an error of the server, with the caller in its stack', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const redis = new Redis(url)
  await redis.lpush(name, 'x')
  redis.disconnect()
  const client = await connect(url)
  async function theCaller() {
    await client.ick(name).add([[1, 'a']])
  }
  await assert.rejects(theCaller, (error) => {
    assert.ok(error instanceof millpond.WrongTypeError)
    assert.deepEqual([error.number, error.operation, error.retry], [4, 'ick.add', 'never'])
    assert.match(error.message, /^ick\.add: /)
    assert.match(error.stack, /theCaller .*errors\.test\.mjs/)
    return true
  })
  await client.close()
})

test('no server listens', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  const client = await connect(`redis://127.0.0.1:${port}`, { retries: 0 })
  await assert.rejects(client.ick('x').add([[1, 'a']]), (error) => {
    assert.ok(error instanceof millpond.ConnectionFailedError)
    assert.equal(error.retry, 'later')
    assert.ok(error.message.includes(`${port}`))
    return true
  })
  await client.close()
})

test('no reply', async () => {
  const server = await startServers()
  const client = await connect(server.url, { timeoutMs: 1500 })
  const ick = client.ick('x')
  await ick.add([[1, 'a']])
  await server.run('stop')
  await assert.rejects(ick.add([[3, 'c']]), (error) => {
    assert.deepEqual([error.code, error.retry], ['TIMEOUT', 'unknown'])
    assert.ok(error.cause instanceof Error)
    return true
  })
  await server.run('kill')
  await assert.rejects(ick.stats(), MillpondError)
  await client.close()
  await server.stop()
})

test('refused', async () => {
  const { url } = await sharedServer()
  const admin = new Redis(url)
  await admin.acl('SETUSER', 'reader', 'on', '>pw', '+@read', '~*')
  admin.disconnect()
  const stats = async (password) => {
    const client = await connect(url, { username: 'reader', password })
    await client.ick('x').stats().finally(() => client.close())
  }
  await assert.rejects(stats('no-pw'), (error) => {
    assert.ok(error instanceof millpond.AuthenticationFailedError)
    assert.ok(!inspect(error).includes('no-pw'))
    return true
  })
  await assert.rejects(stats('pw'), millpond.PermissionDeniedError)
})

test('the name of a connection', async () => {
  const { url } = await sharedServer()
  const name = newName()
  const client = await connect(url, { clientName: name })
  await client.ick(name).stats()
  const admin = new Redis(url)
  assert.ok((await admin.client('LIST')).includes(` name=${name} `))
  admin.disconnect()
  await client.close()
})

test('a directory that another process holds', async () => {
  const url = `file:${await directory()}`
  const program = `
    const { connect } = require('millpond')
    connect(${JSON.stringify(url)}).then((client) => {
      globalThis.client = client // one that nobody holds is closed
      console.log('open')
      process.stdin.resume() // until it is closed
    })`
  const holder = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  await assert.rejects(connect(url), (error) => {
    assert.deepEqual([error.code, error.retry], ['LOCKED', 'later'])
    assert.ok(error.message.includes(`process ${holder.pid};`), error.message)
    assert.ok(error.message.includes('Use redis: to share queues'), error.message)
    return true
  })
  holder.stdin.end()
  await once(holder, 'exit')
  await (await connect(url)).close()
})

test('a panic is an error', async () => {
  const panic = async () => {
    unwrap(await begin(undefined, () => undefined, (number) => native.panic(number)))
  }
  const expected = { code: 'INTERNAL', message: 'Millpond panicked: on request' }
  await assert.rejects(panic(), expected)
  await assert.rejects(panic(), expected)
  const client = await connect('memory:')
  assert.equal((await client.ick('x').add(['a'])).new, 1)
})
