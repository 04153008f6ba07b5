'use strict'

const check = require('./arguments.js')
const { DocFields, made } = require('./generated/records.js')
const {
  DOC_CHANGE,
  object,
  pushDocId,
  pushSteps,
  settings
} = require('./task-arguments.js')

class Doc extends DocFields {
  // The content, once it was read.
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

made.Doc = Doc

/** Puts a change among the entries of a modification. */
let pushDocChange

class DocChange {
  #doc
  #steps = []

  static {
    pushDocChange = (entries, path, change) => {
      if (!(change instanceof DocChange)) {
        throw check.wrong(path, 'what change() of a Doc makes', change)
      }
      pushDocId(entries, path, change.#doc)
      pushSteps(entries, change.#steps)
    }
  }

  constructor(doc) {
    if (!(doc instanceof Doc)) {
      throw new TypeError('DocChange has no public constructor; change() of a Doc makes one')
    }
    this.#doc = {
      namespace: check.text('doc.namespace', doc.namespace),
      id: check.text('doc.id', doc.id),
      version: check.wholeNumber('doc.version', doc.version)
    }
  }

  set(options = {}) {
    this.#steps.push(...settings('', object('options', options), DOC_CHANGE))
    return this
  }
}

module.exports = { Doc, DocChange, pushDocChange }
