'use strict'

// Tasks and documents as a store returned them, and changes of them.

const check = require('./arguments.js')
const { DocFields, TaskFields, made } = require('./generated/records.js')
const { CHANGE, DOC_CHANGE, object, pushSteps, settings } = require('./task-arguments.js')

class Task extends TaskFields {
  // The parsed value, after the first read.
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

class Doc extends DocFields {
  // The parsed content, after the first read.
  #parsed

  constructor(fields) {
    super(object('fields', fields))
  }

  get content() {
    if (this.json === null) return undefined
    this.#parsed ??= { content: JSON.parse(this.json) }
    return this.#parsed.content
  }

  change(options) {
    return new DocChange(this).set(options)
  }
}

Object.assign(made, { Doc, Task })

/** Adds a change to the entries of a modification, and adds steps to a change. */
let push, add

class Change {
  #parts
  #checks
  #steps = []

  static {
    push = (entries, change) => {
      entries.push(...change.#parts)
      pushSteps(entries, change.#steps)
    }
    add = (change, ...steps) => {
      change.#steps.push(...steps)
      return change
    }
  }

  /** `parts` is what the native half reads of the task or document, and `checks` are for the options. */
  constructor(parts, checks) {
    this.#parts = parts
    this.#checks = checks
  }

  set(options = {}) {
    return add(this, ...settings('', object('options', options), this.#checks))
  }
}

class TaskChange extends Change {
  constructor(task) {
    if (!(task instanceof Task)) throw noConstructor('TaskChange', 'Task')
    const parts = [
      check.text('task.id', task.id),
      check.wholeNumber('task.version', task.version),
      check.text('task.queue', task.queue),
      check.smallSize('task.attempt', task.attempt),
      check.text('task.err', task.err)
    ]
    const json = task.json === null ? [0] : [1, check.text('task.json', task.json)]
    super([...parts, ...json], CHANGE)
  }

  retry(err = '') {
    return add(this, ['retry', check.text('err', err)])
  }

  retryOrQuarantine(err, queue, max) {
    const texts = [check.text('err', err), check.text('queue', queue)]
    return add(this, ['retryOrQuarantine', ...texts, check.smallSize('max', max)])
  }

  quarantine(err, queue) {
    return add(this, ['quarantine', check.text('err', err), check.text('queue', queue)])
  }
}

class DocChange extends Change {
  constructor(doc) {
    if (!(doc instanceof Doc)) throw noConstructor('DocChange', 'Doc')
    const names = [check.text('doc.namespace', doc.namespace), check.text('doc.id', doc.id)]
    super([...names, check.wholeNumber('doc.version', doc.version)], DOC_CHANGE)
  }
}

function noConstructor(change, maker) {
  return new TypeError(`${change} has no public constructor; change() of a ${maker} makes one`)
}

/** How a change of each kind is added to the entries of a modification. */
function pushing(Kind, maker) {
  return (entries, path, change) => {
    if (!(change instanceof Kind)) throw check.wrong(path, `what change() of a ${maker} makes`, change)
    push(entries, change)
  }
}

module.exports = {
  Doc,
  DocChange,
  Task,
  TaskChange,
  pushDocChange: pushing(DocChange, 'Doc'),
  pushTaskChange: pushing(TaskChange, 'Task')
}
