// Names a test that hangs and ends the file. From another process, since a call that blocks the event
// loop holds every timer that could end it.

import { spawn } from 'node:child_process'
import path from 'node:path'
import { beforeEach } from 'node:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../tests/limited', import.meta.url))
const seconds = process.env.MILLPOND_TEST_SECONDS_MAX ?? '180'
const limit = spawn(program, [seconds, '--parent'], { stdio: ['pipe', 'ignore', 'inherit'] })
limit.unref()
limit.stdin.unref()
const file = path.basename(process.argv[1])

beforeEach(({ name }) => limit.stdin.write(`${file}: ${name.replaceAll('\n', ' ')}\n`))
