'use strict'

const { connect, Client } = require('./lib/client.js')
const { Ick } = require('./lib/ick.js')
const { Batches } = require('./lib/batches.js')
const { ConsumerLease } = require('./lib/lease.js')
const { IckChannel } = require('./lib/channel.js')
const { VERSION: version } = require('./lib/native.js')
const { classes } = require('./lib/errors.js')

module.exports = { connect, Client, Ick, Batches, ConsumerLease, IckChannel, version, ...classes }
