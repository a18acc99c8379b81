'use strict'

const { rare } = require('./native')
const { known } = require('./errors')
const { report, camel } = require('./report')
const { checkSignal } = require('./signal')

/** What a program that works long is told, and what ends it. */
const LONG = ['signal', 'onProgress']

/**
 * How an environment is looked after. It has `open`, its number, and `askFor`, which has another
 * thread do something.
 */
class Care {
  /** Flushes all commits: the newest one that is durable then. */
  async sync (options) {
    const { signal } = known(options, ['signal'], 'sync')
    return this.askFor(rare.sync, { signal })
  }

  get durableId () {
    return rare.durableId(this.open)
  }

  info () {
    return camel(JSON.parse(rare.info(this.open)))
  }

  async stat () {
    return report(this.askFor(rare.stat))
  }

  async check (options) {
    const { signal, onProgress } = known(options, LONG, 'check')
    const isTold = onProgress !== undefined
    return report(this.askFor((env, job) => rare.check(env, job, isTold),
      { signal, onProgress: inBytes(onProgress) }))
  }

  async copyTo (path, options) {
    const { compact = false, signal, onProgress } = known(options, ['compact', ...LONG], 'copyTo')
    const isTold = onProgress !== undefined
    return report(this.askFor((env, job) => rare.copyTo(env, job, path, compact, isTold),
      { signal, onProgress: inBytes(onProgress) }))
  }

  async compact (options) {
    const { target, timeLimit, signal, onProgress } =
      known(options, ['target', 'timeLimit', ...LONG], 'compact')
    const isTold = onProgress !== undefined
    return report(this.askFor((env, job) => rare.compact(env, job, target, timeLimit, isTold),
      { signal, onProgress: inBytes(onProgress) }))
  }

  /** The id of a commit after that of `after`, by any thread or process; undefined if none came. */
  async waitForCommit (options) {
    const { after = this.id, timeout = Infinity, signal } =
      known(options, ['after', 'timeout', 'signal'], 'waitForCommit')
    return this.askFor((env, job) => rare.waitForCommit(env, job, after, timeout), { signal })
  }

  /** The ids of commits as they come, newest ones only, until the environment is closed. */
  async * commits (options) {
    let { after = this.id, signal } = known(options, ['after', 'signal'], 'commits')
    while (!this.isClosed) {
      const id = await this.waitForCommit({ after, signal })
      if (id === undefined) return
      after = id
      yield id
    }
    checkSignal(signal)
  }

  // Write-optimised tables.

  /** Merges runs of one table, or of all, on another thread; how many steps that took. */
  async compactLsm (options) {
    const { table, how = 'due', signal, onProgress } =
      known(options, ['table', 'how', ...LONG], 'compactLsm')
    if (table !== undefined && typeof table !== 'string') {
      throw new TypeError('table is the name of a table')
    }
    const way = WAYS.indexOf(how)
    if (way < 0) throw new TypeError(`no way to compact: ${how}; there are ${WAYS.join(', ')}`)
    const told = typeof onProgress === 'function' ? steps => onProgress({ steps }) : onProgress
    return this.askFor((env, job) => rare.lsmCompact(env, job, table, way),
      { signal, onProgress: told })
  }

  /** Starts threads that merge what is due, until they are stopped or it is closed. */
  startCompactor () {
    return new Compactor(this, rare.startCompactor(this.open))
  }
}

/** Ways to compact, by the numbers of the native part. */
const WAYS = ['due', 'all', 'shorten']

/** Threads that merge runs of write-optimised tables. */
class Compactor {
  #env
  #number
  #stopped = null

  constructor (env, number) {
    this.#env = env
    this.#number = number
  }

  /** Ends them, and waits for the step that they are in. What went wrong in them is thrown here. */
  stop () {
    const begin = (env, job) => rare.stopCompactor(env, job, this.#number)
    this.#stopped ??= this.#env.isClosed ? Promise.resolve() : this.#env.askFor(begin)
    return this.#stopped
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')] () {
    await this.stop()
  }
}

/** A program's own function for progress, with names. */
function inBytes (onProgress) {
  if (typeof onProgress !== 'function') return onProgress
  return (doneBytes, totalBytes) => onProgress({ doneBytes, totalBytes })
}

module.exports = { Care, Compactor, LONG, inBytes }
