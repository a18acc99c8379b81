'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { open } = require('..')

/** A path for a file that goes with the test, behind what the test closes with `t.after`. */
function file (t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'huon-'))
  // What a test adds later runs later: so this waits.
  t.after(() => setImmediate(() => fs.rmSync(folder, { recursive: true, force: true })))
  return path.join(folder, 'test.huon')
}

/** An environment that is closed after the test. */
function environment (t, options = { durability: 'lazy' }) {
  const env = open(file(t), options)
  t.after(() => env.close())
  return env
}

/** An environment of some megabytes. */
async function filled (t, options) {
  const env = environment(t, options)
  const table = env.table('t', { valueEncoding: 'binary' })
  const value = Buffer.alloc(4000, 7)
  await table.putMany(Array.from({ length: 2000 }, (_, n) => [n, value]))
  return { env, table }
}

/** Numbers that look random, the same ones each time. */
function randoms (seed) {
  let state = seed
  return below => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

module.exports = { file, environment, filled, randoms }
