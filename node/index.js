'use strict'

const { connect, Client } = require('./lib/client.js')
const { Ick } = require('./lib/ick.js')
const { Batches } = require('./lib/batches.js')
const { ConsumerLease } = require('./lib/lease.js')
const { IckChannel } = require('./lib/channel.js')
const { VERSION: version } = require('./lib/native.js')
const { ShuffleQueue, shard } = require('./lib/shuffle.js')
const { ShuffleConsumer } = require('./lib/shuffle-consumer.js')
const { Messages } = require('./lib/shuffle-messages.js')
const { Garbage } = require('./lib/shuffle-garbage.js')
const { Message } = require('./lib/shuffle-answers.js')
const { classes } = require('./lib/errors.js')

module.exports = {
  connect,
  version,
  Client,
  Ick,
  Batches,
  ConsumerLease,
  IckChannel,
  shard,
  ShuffleQueue,
  ShuffleConsumer,
  Messages,
  Garbage,
  Message,
  ...classes
}
