// Redis servers of our own: the binary `millpond-test-servers` of the workspace starts them.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import readline from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

import './limit.mjs'

const workspace = fileURLToPath(new URL('../..', import.meta.url))

function binary() {
  const named = process.env.MILLPOND_TEST_SERVERS
  if (named) return path.resolve(workspace, named)
  const build = ['build', '--quiet', '-p', 'millpond-tests', '--bin', 'millpond-test-servers']
  execFileSync('cargo', build, { cwd: workspace, stdio: 'inherit' })
  const target = process.env.CARGO_TARGET_DIR ?? path.join(workspace, 'target')
  return path.join(target, 'debug', 'millpond-test-servers')
}

/** Starts a server, which lives until `stop`, and no longer than this process. */
export async function startServers(kind = 'redis') {
  const child = spawn(binary(), [kind], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value
  const started = JSON.parse(await line())
  return {
    ...started,
    /** Kills, stops, continues or restarts it: see the binary. */
    async run(command) {
      child.stdin.write(`${command}\n`)
      const response = await line()
      if (response !== 'ok') throw new Error(response)
    },
    async stop() {
      if (child.exitCode !== null) return
      child.stdin.end()
      await once(child, 'exit')
    }
  }
}

/**
 * Runs what a server that replies to nothing makes fail: `run` gets one, and how long calls may take. Where the machine
 * stands still any reply may be late, so that what fails is done again with more time.
 */
export async function withoutReplies(run) {
  for (const timeoutMs of [1_500, 6_000, 24_000]) {
    const server = await startServers()
    try {
      return await run(server, timeoutMs)
    } catch (error) {
      if (timeoutMs === 24_000) throw error
    } finally {
      await server.stop()
    }
  }
}

let shared

/** The server that all tests of a file share. */
export function sharedServer() {
  shared ??= startServers()
  return shared
}

after(async () => {
  await (await shared)?.stop()
})
