// Every example that is shown runs, and prints what it says: what comes after //=>, line by line.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import './limit.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

function read(name) {
  return readFileSync(new URL(name, import.meta.url), 'utf8')
}

async function check(program) {
  const options = ['--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: here })
  const expected = [...program.matchAll(/\/\/=> (.*)/g)].map(([, line]) => `${line}\n`)
  assert.ok(expected.length > 0)
  assert.equal(stdout, expected.join(''))
}

function examples(title, programs, count) {
  describe(title, () => {
    test('all are there', () => assert.equal(programs.length, count))
    for (const [number, program] of programs.entries()) {
      test(`number ${number + 1}`, () => check(program))
    }
  })
}

const inReadme = [...read('../README.md').matchAll(/```js\n([^]*?)```/g)]
examples('the README', inReadme.map(([, program]) => program), 25)

const inDeclarations = [...read('../index.d.ts').matchAll(/@example\n([^]*?)\n *\*\//g)]
const stripped = inDeclarations.map(([, program]) => program.replaceAll(/^ *\* ?/gm, ''))
examples('the declarations', stripped, 40)
