'use strict'

const { rare } = require('./native')
const { known } = require('./errors')
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
}

/** A program's own function for progress, with names. */
function inBytes (onProgress) {
  if (typeof onProgress !== 'function') return onProgress
  return (doneBytes, totalBytes) => onProgress({ doneBytes, totalBytes })
}

const report = async text => camel(JSON.parse(await text))

/** The names of a report as JavaScript writes them. */
function camel (item) {
  if (Array.isArray(item)) return item.map(camel)
  if (item === null || typeof item !== 'object') return item
  const named = ([name, value]) =>
    [name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()), camel(value)]
  return Object.fromEntries(Object.entries(item).map(named))
}

module.exports = { Care }
