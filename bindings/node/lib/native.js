'use strict'

// The native part, and the memory that it shares with us. Bare functions take keys and values from
// `memory.input`, and leave what they read in `memory.output`; none of it is ever handed out to a
// program except pieces of the output that are not written again.

const { HuonError } = require('./errors')

const native = require('../huon.node')

const INPUT_BYTES = 128 * 1024
const OUTPUT_BYTES = 32 * 1024
const SIZES = 1024 + 3

/** What bare functions answer, beside what they found. */
const NOTHING = -1
const FAILED = -2
const NO_ROOM = -16

const memory = {
  input: Buffer.allocUnsafeSlow(INPUT_BYTES),
  view: null,
  output: Buffer.allocUnsafeSlow(OUTPUT_BYTES),
  /** From where the output is free. */
  at: 0,
  sizes: new Uint32Array(SIZES)
}

function shareInput (bytes) {
  memory.input = Buffer.allocUnsafeSlow(bytes)
  memory.view = new DataView(memory.input.buffer)
  native.share(0, memory.input)
}

/** Makes the input long enough; what is in it stays. */
function grow (bytes) {
  const { input } = memory
  shareInput(Math.max(bytes, input.length * 2))
  input.copy(memory.input)
}

/** Lets go of an input that a large value has made long. */
function shrink () {
  if (memory.input.length > 64 * INPUT_BYTES) shareInput(INPUT_BYTES)
}

/** Takes new memory for the output: what was handed out of the old stays as it is. */
function turn (bytes = 0) {
  memory.output = Buffer.allocUnsafeSlow(Math.max(bytes, OUTPUT_BYTES))
  memory.at = 0
  native.share(1, memory.output)
}

/** The error of the bare function that has just failed. */
function failure () {
  const [code, text] = native.failure()
  return new HuonError(code, text)
}

/** The answer of a bare function, or its error. */
function done (answer) {
  if (answer === FAILED) throw failure()
  return answer
}

/** The rare functions, whose errors become ours. */
const rare = {}
for (const [name, f] of Object.entries(native)) {
  rare[name] = (...args) => {
    try {
      return f(...args)
    } catch (error) {
      throw new HuonError(error.code, error.message)
    }
  }
}

/** Jobs of other threads that have not answered, by number. */
const jobs = new Map()
let lastJob = 0

/** Has another thread do something: `begin` is called with the number of the job. */
function ask (begin) {
  return new Promise((resolve, reject) => {
    const job = ++lastJob
    begin(job)
    jobs.set(job, { resolve, reject })
    if (jobs.size === 1) native.stay(1)
  })
}

function settle (job, failed, answer) {
  const { resolve, reject } = jobs.get(job)
  jobs.delete(job)
  if (jobs.size === 0) native.stay(0)
  if (failed === 0) resolve(answer)
  else reject(failure())
}

shareInput(INPUT_BYTES)
turn()
native.share(2, memory.sizes)
native.listen(settle)

module.exports = {
  native, rare, memory, grow, shrink, turn, failure, done, ask, NOTHING, FAILED, NO_ROOM, SIZES
}
