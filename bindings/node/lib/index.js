'use strict'

const { rare } = require('./native')
const { HuonError } = require('./errors')
const { encodeKey, decodeKey, compareKeys } = require('./keys')
const { Ticket } = require('./transaction')
const { Compactor } = require('./care')
const { Environment } = require('./environment')
const { restore } = require('./restore')

/** Opens the environment at a path, and creates it if it is missing. */
function open (path, options) {
  if (typeof path !== 'string') throw new TypeError('open wants a path; see openInMemory')
  return new Environment(path, options)
}

/** Opens an environment without files, for tests and caches. */
function openInMemory (options) {
  return new Environment(undefined, options)
}

/** Deletes the files of an environment that is open nowhere; whether there were any. */
function deleteFiles (path) {
  return rare.deleteFiles(path)
}

module.exports = {
  open,
  openInMemory,
  deleteFiles,
  restore,
  Environment,
  Ticket,
  Compactor,
  HuonError,
  encodeKey,
  decodeKey,
  compareKeys
}
