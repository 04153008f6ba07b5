'use strict'

const check = require('./arguments.js')
const { TaskFields, made } = require('./generated/records.js')
const { CHANGE, object, pushSteps, settings } = require('./task-arguments.js')

class Task extends TaskFields {
  // The value, once it was read.
  #parsed

  constructor(fields) {
    super(object('fields', fields))
  }

  get value() {
    if (this.json === null) return undefined
    this.#parsed ??= { value: JSON.parse(this.json) }
    return this.#parsed.value
  }

  change(options) {
    return new TaskChange(this).set(options)
  }
}

made.Task = Task

/** Puts a change among the entries of a modification. */
let pushChange

class TaskChange {
  #task
  #steps = []

  static {
    pushChange = (entries, path, change) => {
      if (!(change instanceof TaskChange)) {
        throw check.wrong(path, 'what change() of a Task makes', change)
      }
      const { id, version, queue, attempt, err, json } = change.#task
      entries.push(id, version, queue, attempt, err)
      entries.push(json === null ? 0 : 1)
      if (json !== null) entries.push(json)
      pushSteps(entries, change.#steps)
    }
  }

  constructor(task) {
    if (!(task instanceof Task)) {
      throw new TypeError('TaskChange has no public constructor; change() of a Task makes one')
    }
    this.#task = {
      id: check.text('task.id', task.id),
      version: check.wholeNumber('task.version', task.version),
      queue: check.text('task.queue', task.queue),
      attempt: check.smallSize('task.attempt', task.attempt),
      err: check.text('task.err', task.err),
      json: task.json === null ? null : check.text('task.json', task.json)
    }
  }

  set(options = {}) {
    this.#steps.push(...settings('', object('options', options), CHANGE))
    return this
  }

  retry(err = '') {
    this.#steps.push(['retry', check.text('err', err)])
    return this
  }

  retryOrQuarantine(err, queue, max) {
    const texts = [check.text('err', err), check.text('queue', queue)]
    this.#steps.push(['retryOrQuarantine', ...texts, check.smallSize('max', max)])
    return this
  }

  quarantine(err, queue) {
    this.#steps.push(['quarantine', check.text('err', err), check.text('queue', queue)])
    return this
  }
}

module.exports = { Task, TaskChange, pushChange }
