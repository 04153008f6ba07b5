'use strict'

// Checks the arguments of queues of events before anything is sent; see arguments.js.

const check = require('./arguments.js')
const options = require('./generated/options.js')
const { Entries, object, pushSteps, settings } = require('./task-arguments.js')

/** Events to publish, as the native half reads them. */
function newEvents(argument, events) {
  const entries = new Entries()
  entries.push(0)
  const take = check.taking({ bytes: 0 }, events)
  for (const event of check.iterable(argument, events, check.limits.step.CALL_ITEMS_MAX)) {
    const path = `${argument}[${entries.numbers[0]++}]`
    const isPayload = typeof event === 'string' || ArrayBuffer.isView(event)
    const { payload, ...said } = isPayload ? { payload: event } : object(path, event)
    entries.push(take(`${path}.payload`, payload))
    pushSteps(entries, settings(path, said, options.newEvent))
  }
  return entries
}

/** The same for one event. */
function newEvent(payload, said) {
  const entries = new Entries()
  entries.push(1, check.bytes('payload', payload))
  pushSteps(entries, settings('', said, options.newEvent))
  return entries
}

/** Schedules, as the native half reads them. */
function schedules(argument, given) {
  const entries = new Entries()
  entries.push(0)
  for (const one of check.iterable(argument, given, check.limits.events.SYNC_SCHEDULES_MAX)) {
    pushSchedule(entries, `${argument}[${entries.numbers[0]++}]`, one)
  }
  return entries
}

/** The same for one schedule. */
function schedule(argument, given) {
  const entries = new Entries()
  entries.push(1)
  pushSchedule(entries, argument, given)
  return entries
}

function pushSchedule(entries, path, given) {
  const { id, ...said } = object(path, given)
  entries.push(check.text(`${path}.id`, id))
  pushSteps(entries, settings(path, said, options.schedule))
}

/** The id and the token of a delivery. */
function delivery(argument, given) {
  const { id, token } = object(argument, given)
  return [check.text(`${argument}.id`, id), check.bytes(`${argument}.token`, token)]
}

/** The ids and tokens of one or several deliveries. */
function deliveries(argument, given) {
  if (given?.token !== undefined) return delivery(argument, given)
  const all = []
  for (const one of check.iterable(argument, given, check.limits.step.CALL_ITEMS_MAX)) {
    all.push(...delivery(`${argument}[${all.length / 2}]`, one))
  }
  return all
}

/** The ids of one or of several events. */
function eventIds(argument, given) {
  const id = (path, one) => check.text(path, one?.id ?? one)
  if (typeof given === 'string' || typeof given?.id === 'string') return [id(argument, given)]
  const all = []
  for (const one of check.iterable(argument, given, check.limits.step.CALL_ITEMS_MAX)) {
    all.push(id(`${argument}[${all.length}]`, one))
  }
  return all
}

module.exports = { deliveries, delivery, eventIds, newEvent, newEvents, schedule, schedules }
