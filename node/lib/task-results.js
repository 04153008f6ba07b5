'use strict'

// What the results of the native half about tasks mean; see results.js.

const { Doc } = require('./doc.js')
const { Task } = require('./task.js')

/** Reads a list in the order in which the native half has written it. */
class Reader {
  #list
  #next = 0

  constructor(list) {
    this.#list = list
  }

  get isAtEnd() {
    return this.#next === this.#list.length
  }

  one() {
    return this.#list[this.#next++]
  }

  task() {
    return new Task({
      id: this.one(),
      version: this.one(),
      queue: this.one(),
      atMs: this.one(),
      createdMs: this.one(),
      modifiedMs: this.one(),
      claimant: this.one(),
      claims: this.one(),
      attempt: this.one(),
      err: this.one(),
      json: this.one(),
      priority: this.one(),
      expiresMs: this.one()
    })
  }

  doc() {
    return new Doc({
      namespace: this.one(),
      id: this.one(),
      version: this.one(),
      key: this.one(),
      secondaryKey: this.one(),
      json: this.one(),
      atMs: this.one(),
      claimant: this.one(),
      createdMs: this.one(),
      modifiedMs: this.one()
    })
  }

  /** As many as the next number. */
  some(read) {
    return Array.from({ length: this.one() }, read)
  }

  /** All that are left. */
  rest(read) {
    const all = []
    while (!this.isAtEnd) all.push(read())
    return all
  }
}

function tasks(list) {
  const reader = new Reader(list)
  return reader.rest(() => reader.task())
}

/** One task, or null. */
function task(list) {
  return tasks(list)[0] ?? null
}

/** The tasks of a loop's turn; null stays null. */
function batch(list) {
  return list === null ? null : tasks(list)
}

function docs(list) {
  const reader = new Reader(list)
  return reader.rest(() => reader.doc())
}

function modified(list) {
  const reader = new Reader(list)
  return {
    inserted: reader.some(() => reader.task()),
    changed: reader.some(() => reader.task()),
    insertedDocs: reader.some(() => reader.doc()),
    changedDocs: reader.some(() => reader.doc())
  }
}

/** The task of one insert; null if it was skipped. */
function inserted(list) {
  return modified(list).inserted[0] ?? null
}

/** The document of one put. */
function putDoc(list) {
  return modified(list).insertedDocs[0]
}

/** Null if there is none. */
function doc(list) {
  return docs(list)[0] ?? null
}

function renewed(list) {
  const reader = new Reader(list)
  const atMs = reader.one()
  const handle = () => ({ id: reader.one(), version: reader.one() })
  const held = reader.some(handle)
  return { tasks: held, docs: reader.rest(() => ({ namespace: reader.one(), ...handle() })), atMs }
}

function taskPage(list) {
  const reader = new Reader(list)
  const next = { atMs: reader.one(), id: reader.one() }
  return { tasks: reader.rest(() => reader.task()), next: next.id === null ? null : next }
}

function docPage(list) {
  const reader = new Reader(list)
  const next = { key: reader.one(), secondaryKey: reader.one(), id: reader.one() }
  return { docs: reader.rest(() => reader.doc()), next: next.id === null ? null : next }
}

/** A Map of queues and their sizes. */
function sizes(list) {
  const reader = new Reader(list)
  return new Map(reader.rest(() => [reader.one(), reader.one()]))
}

function queueStats(list) {
  const reader = new Reader(list)
  return reader.rest(() => ({
    queue: reader.one(),
    size: reader.one(),
    available: reader.one(),
    claimed: reader.one(),
    future: reader.one(),
    maxClaims: reader.one()
  }))
}

function namespaceStats(list) {
  const reader = new Reader(list)
  return reader.rest(() => ({
    namespace: reader.one(),
    size: reader.one(),
    claimed: reader.one()
  }))
}

/** A task and what the native half has of its job; null stays null. */
function taskAndJob(list) {
  if (list === null) return null
  const reader = new Reader(list)
  return { task: reader.task(), native: reader.one() }
}

module.exports = {
  batch,
  doc,
  docPage,
  docs,
  inserted,
  modified,
  namespaceStats,
  putDoc,
  queueStats,
  renewed,
  sizes,
  task,
  taskAndJob,
  taskPage,
  tasks
}
