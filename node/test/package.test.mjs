// The package as its users get it: packed, installed into a clean folder, used from there by both
// kinds of modules, and from a clone.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { sharedServer } from './servers.mjs'
import { directory } from './support.mjs'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const examples = fileURLToPath(new URL('../../examples/node/', import.meta.url))

async function run(program, options, settings) {
  const { stdout } = await promisify(execFile)(program, options, { maxBuffer: 2 ** 26, ...settings })
  return stdout
}

async function cleanFolder() {
  const folder = await directory()
  await writeFile(path.join(folder, 'package.json'), '{ "name": "somebody", "private": true }\n')
  return folder
}

/** Node and npm alone: users of the package need no Rust. */
function withoutRust() {
  const { CARGO_TARGET_DIR, CARGO_HOME, RUSTUP_HOME, ...env } = process.env
  return { ...env, PATH: `${path.dirname(process.execPath)}:/bin` }
}

const INSTALL = ['install', '--no-audit', '--no-fund', '--offline']

describe('packed', { timeout: 600_000 }, () => {
  let folder
  let files

  before(async () => {
    const tarballs = await directory()
    const options = ['pack', '--json', '--pack-destination', tarballs]
    const packed = await run('npm', options, { cwd: packageFolder })
    files = JSON.parse(packed.slice(packed.indexOf('['))).at(0)
    folder = await cleanFolder()
    const tarball = path.join(tarballs, files.filename)
    await run('npm', [...INSTALL, tarball], { cwd: folder, env: withoutRust() })
  })

  test('it holds what it needs and nothing else', async () => {
    const names = files.files.map((file) => file.path)
    for (const name of ['README.md', 'LICENSE-MIT', 'LICENSE-APACHE', 'index.d.ts', 'index.d.mts']) {
      assert.ok(names.includes(name), name)
    }
    assert.ok(names.some((name) => /^prebuilt\/[^/]+\/millpond\.node$/.test(name)))
    const known = /^(index\.|lib\/|prebuilt\/|LICENSE-|README\.md|package\.json)/
    assert.deepEqual(names.filter((name) => !known.test(name)), [])
    for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) {
      const installed = await readFile(path.join(folder, 'node_modules/millpond', name), 'utf8')
      assert.equal(installed, await readFile(path.join(packageFolder, '..', name), 'utf8'))
    }
    const installed = JSON.parse(await readFile(path.join(folder, 'package-lock.json'), 'utf8'))
    assert.deepEqual(Object.keys(installed.packages), ['', 'node_modules/millpond'])
  })

  // Only the name of the version is another one: what an older Node lacks, it has.
  test('a Node that is too old is refused', async () => {
    for (const [version, isTooOld] of [['18.20.4', true], ['20.3.1', true], ['20.4.0', false], ['22.1.0', false]]) {
      const program = `
        Object.defineProperty(process.versions, 'node', { value: '${version}' })
        try {
          require('millpond')
        } catch (error) {
          console.log(error.message)
        }`
      const printed = await run(process.execPath, ['-e', program], { cwd: folder })
      assert.equal(printed, isTooOld ? `millpond needs Node 20.4 or later; this is ${version}\n` : '')
    }
  })

  test('ESM', async () => {
    const program = `
      import { connect } from 'millpond'
      const client = await connect('memory:')
      console.log(await client.ick('x').add(['a']))`
    const options = ['--input-type=module', '-e', program]
    const printed = await run(process.execPath, options, { cwd: folder })
    assert.equal(printed, '{ new: 1, lowered: 0 }\n')
  })

  test('CommonJS', async () => {
    const program = `
      const { connect } = require('millpond')
      connect('memory:').then((client) => client.ick('x').add(['a'])).then(console.log)`
    const printed = await run(process.execPath, ['-e', program], { cwd: folder })
    assert.equal(printed, '{ new: 1, lowered: 0 }\n')
  })

  test('TypeScript', async () => {
    // The compiler and Node's own types are ours; the package is the one that is installed.
    const types = path.join(packageFolder, 'node_modules')
    const project = path.join(folder, 'types')
    await mkdir(project)
    for (const name of ['program.mts', 'required.cts', 'tsconfig.json']) {
      await cp(path.join(packageFolder, 'test/types', name), path.join(project, name))
    }
    for (const name of ['@types', 'undici-types']) {
      await cp(path.join(types, name), path.join(folder, 'node_modules', name), { recursive: true })
    }
    await run(path.join(types, '.bin/tsc'), ['--project', project])
  })

  test('examples', async () => {
    const copied = path.join(folder, 'examples')
    await cp(examples, copied, { recursive: true, filter: (from) => !/node_modules/.test(from) })
    // The database of an example is ours; the package is the one that is installed.
    const database = ['node_modules', 'sql.js']
    await cp(path.join(packageFolder, ...database), path.join(folder, ...database), { recursive: true })
    const example = (name, ...given) => run(process.execPath, [path.join(copied, name), ...given])
    const names = (await readdir(copied)).filter((name) => name.endsWith('.js'))
    assert.deepEqual(names.sort(), [
      'consumer.js',
      'events.js',
      'events_nightly.js',
      'events_producer.js',
      'events_worker.js',
      'first.js',
      'producer.js',
      'recruiter.js',
      'shuffle.js',
      'shuffle_consumer.js',
      'shuffle_producer.js',
      'tasks.js',
      'tasks_producer.js',
      'tasks_worker.js',
      'tracker.js',
      'volatile.js'
    ])
    for (const name of names) assert.ok(await example(name), name)
    const { url } = await sharedServer()
    assert.ok(await example('first.js', url))
    assert.match(await example('producer.js', url), /4 documents wait/)
    assert.match(await example('consumer.js', url), /busy\.txt[^]*4 documents; nothing is left/)
    for (const turn of ['first', 'second']) assert.ok(await example('shuffle.js', url), turn)
    assert.match(await example('shuffle_producer.js', url), /9 messages written/)
    const until = async (name, count, line) => {
      const working = promisify(execFile)(process.execPath, [path.join(copied, name), url])
      let printed = ''
      working.child.stdout.on('data', (data) => {
        printed += data
        if (!working.child.killed && printed.split(line).length > count) working.child.kill('SIGTERM')
      })
      return (await working).stdout
    }
    const consumed = await until('shuffle_consumer.js', 9, 'printing page')
    assert.match(consumed, /printing page 3 for cy[^]*0 still with others\n$/)
    assert.match(await example('tasks.js', url), /one order, one invoice[^]*printed/)
    assert.match(await example('tasks_producer.js', url), /6 mails to send/)
    assert.match(await until('tasks_worker.js', 6, 'sending'), /eve[^]*6 mails archived\n$/)
    assert.match(await example('events.js', url), /order 7 is paid \(attempt 2\)/)
    assert.match(await example('events_producer.js', url), /9 webhooks to deliver/)
    const delivered = await until('events_worker.js', 8, 'deliver to')
    assert.match(delivered, /bob: paid[^]*bob: packed[^]*bob: sent[^]*\n1 webhooks could not be delivered\n$/)
    for (const turn of ['first', 'second']) assert.match(await example('volatile.js', url), /req-2 shows <h1>Shop<\/h1>\nreq-1 sets no old prices\n$/, turn)
    assert.match(await example('recruiter.js', url), /100 carts were removed and 20 mails sent, and no page failed\n$/)
    assert.match(await example('tracker.js', url), /7 of 11 customers have work queued, as the database says\n$/)
    const nightly = [path.join(copied, 'events_nightly.js'), url, '1']
    const fleet = [1, 2].map(() => promisify(execFile)(process.execPath, nightly))
    const nights = []
    for (const { child } of fleet) {
      child.stdout.on('data', (data) => {
        nights.push(...`${data}`.match(/clean up for .*/g) ?? [])
        if (nights.length >= 4) fleet.forEach(({ child }) => child.killed || child.kill('SIGTERM'))
      })
    }
    await Promise.all(fleet)
    assert.equal(new Set(nights).size, nights.length, 'each night once')
  })

  test('on another machine an error names what is missing', async () => {
    const copied = await directory()
    const installed = path.join(folder, 'node_modules/millpond')
    await cp(installed, copied, { recursive: true, filter: (from) => !/prebuilt/.test(from) })
    const missing = /no addon that loads on [^]*npm run build/
    await assert.rejects(run(process.execPath, [copied]), missing)
  })

  test('of a release the addon is a package for each machine', async () => {
    const project = await directory()
    const copied = path.join(project, 'node_modules/millpond')
    const installed = path.join(folder, 'node_modules/millpond')
    await cp(installed, copied, { recursive: true, filter: (from) => !/prebuilt/.test(from) })
    const description = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'))
    const published = (...machines) => {
      const optionalDependencies = Object.fromEntries(machines.map((name) => [`@millpond/${name}`, description.version]))
      return writeFile(path.join(copied, 'package.json'), JSON.stringify({ ...description, optionalDependencies }))
    }
    const program = "require('millpond').connect('memory:').then(() => console.log('connected'))"
    const connects = () => run(process.execPath, ['-e', program], { cwd: project })
    await published('sunos-sparc')
    await assert.rejects(connects(), /millpond: there is no addon for linux-\S+ yet/)
    const [machine] = await readdir(path.join(installed, 'prebuilt'))
    await published(machine)
    const install = `npm install @millpond/${machine}@${description.version}`
    await assert.rejects(connects(), new RegExp(`the package @millpond/${machine} is missing; [^]*${install}`))
    const addon = path.join(project, 'node_modules/@millpond', machine)
    await mkdir(addon, { recursive: true })
    await writeFile(path.join(addon, 'package.json'), '{ "main": "millpond.node" }')
    await writeFile(path.join(addon, 'millpond.node'), 'for another C library')
    await assert.rejects(connects(), new RegExp(`millpond: @millpond/${machine} does not load: `))
    await cp(path.join(installed, 'prebuilt', machine, 'millpond.node'), path.join(addon, 'millpond.node'))
    assert.equal(await connects(), 'connected\n')
  })
})

test('from a clone, where it is built', { timeout: 600_000 }, async () => {
  const [machine] = await readdir(path.join(packageFolder, 'prebuilt'))
  const addon = path.join(packageFolder, 'prebuilt', machine, 'millpond.node')
  await utimes(addon, 0, 0)
  const folder = await cleanFolder()
  await run('npm', [...INSTALL, packageFolder], { cwd: folder })
  const { mtimeMs } = await stat(addon)
  assert.notEqual(mtimeMs, 0)
  // npm prepares a folder that is linked at every later install: there is nothing to build then.
  await run('npm', INSTALL, { cwd: folder, env: withoutRust() })
  assert.equal((await stat(addon)).mtimeMs, mtimeMs)
  const program = "require('millpond').connect('memory:').then(() => console.log('connected'))"
  assert.equal(await run(process.execPath, ['-e', program], { cwd: folder }), 'connected\n')
})
