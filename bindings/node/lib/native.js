'use strict'

// The native part, and the memory that it shares with us. Bare functions take keys and values from
// `memory.input`, and leave what they read in `memory.output`; none of it is ever handed out to a
// program except pieces of the output that are not written again.

const { markAsUntransferable } = require('node:worker_threads')

const { HuonError } = require('./errors')

const addon = require('../huon.node')

/** The bare functions, in an object that the compiler knows well. */
const {
  get, has, getMany, nextBatch, count, write, load, submit, share, listen, stay
} = addon
const native = { get, has, getMany, nextBatch, count, write, load, submit, share, listen, stay }

const INPUT_BYTES = 128 * 1024
const OUTPUT_BYTES = 32 * 1024
const SIZES = 1024 + 3

/** What bare functions answer, beside what they found. */
const FAILED = -2
const ABSENT = 0xffffffff
const NO_ROOM = -16

/**
 * What a thread has once: test runners load these files again and again, and the native part stays
 * as it is, if it is the same. That one knows who listens.
 */
const KEPT = Symbol.for(`huon ${require.resolve('../huon.node')}`)
const kept = process[KEPT]
const isFirst = kept === undefined || native.stay(kept.due > 0 ? 1 : 0) === FAILED
const shared = isFirst ? create() : kept
process[KEPT] = shared
const { memory, jobs } = shared

function create () {
  return {
    memory: {
      input: null,
      view: null,
      output: null,
      /** From where the output is free. */
      at: 0,
      sizes: new Uint32Array(SIZES)
    },
    /** Jobs of other threads that have not answered, by number. */
    jobs: new Map(),
    /** How many of them the loop stays for. */
    due: 0,
    lastJob: 0
  }
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
  // The native part writes to it, while programs have views of it.
  markAsUntransferable(memory.output.buffer)
  memory.at = 0
  native.share(1, memory.output)
}

/** Lets go of an output that a large record has made long. */
function dropLarge () {
  if (memory.output.length > 32 * OUTPUT_BYTES) turn()
}

/**
 * From where the output is free, for the call that fills it. A program may have detached it, by
 * `transfer()` of the buffer of a view: so nothing that runs code of a program comes between.
 */
function room () {
  if (memory.output.length === 0) turn()
  return memory.at
}

/** The error of the bare function that has just failed. */
function failure () {
  const [code, text] = addon.failure()
  return new HuonError(code, text)
}

/** The answer of a bare function, or its error. */
function done (answer) {
  if (answer === FAILED) throw failure()
  return answer
}

/** The rare functions, whose errors become ours. */
const rare = {}
for (const [name, f] of Object.entries(addon)) {
  if (typeof f !== 'function') continue
  rare[name] = (...args) => {
    try {
      return f(...args)
    } catch (error) {
      // Arguments that are not what they should be have codes of napi-rs.
      if (/Expected$|^InvalidArg$/.test(error.code)) throw new TypeError(error.message)
      throw new HuonError(error.code, error.message)
    }
  }
}

/**
 * Has another thread do something: `begin` is called with the number of the job, `onProgress` with
 * what it says meanwhile. The loop does not stay for one that is `quiet`.
 */
function ask (begin, { onProgress, quiet = false } = {}) {
  return new Promise((resolve, reject) => {
    const job = ++shared.lastJob
    begin(job)
    const fail = () => reject(failure())
    jobs.set(job, { resolve, reject, fail, onProgress, quiet, thrown: null })
    if (!quiet && ++shared.due === 1) native.stay(1)
  })
}

/** Has the loop stay for a job that was quiet. */
function stayFor (job) {
  const asked = jobs.get(job)
  if (!asked?.quiet) return
  asked.quiet = false
  if (++shared.due === 1) native.stay(1)
}

/** What follows an answer that is not the last one. */
const GOES_ON = 2

function settle (job, failed, answer) {
  const asked = jobs.get(job)
  if (failed === GOES_ON) {
    report(job, asked, answer)
    return
  }
  jobs.delete(job)
  if (!asked.quiet && --shared.due === 0) native.stay(0)
  if (asked.thrown !== null) asked.reject(asked.thrown.error)
  else if (failed === 0) asked.resolve(answer)
  else asked.fail()
}

/** Tells a program how far a job is. What it throws ends the job. */
function report (job, asked, [done, total]) {
  if (asked.thrown !== null) return
  try {
    asked.onProgress?.(done, total)
  } catch (error) {
    asked.thrown = { error }
    rare.stop(job)
  }
}

if (isFirst) {
  shareInput(INPUT_BYTES)
  turn()
  native.share(2, memory.sizes)
  native.listen(settle)
}

module.exports = {
  native,
  rare,
  memory,
  grow,
  shrink,
  turn,
  dropLarge,
  room,
  failure,
  done,
  ask,
  stayFor,
  ABSENT,
  FAILED,
  NO_ROOM,
  SIZES
}
