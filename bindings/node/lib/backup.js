'use strict'

const { Readable, addAbortSignal } = require('node:stream')

const { rare, ask, stayFor } = require('./native')

/** Backups that a program has forgotten before their end. */
const forgotten = new FinalizationRegistry(job => rare.stop(job))

/**
 * A copy of an environment as a stream of bytes. Another thread makes a piece when the stream has
 * room for one, and no more than one ahead.
 *
 * `begin` has a thread begin the copy: the number of its job, and a promise of its end.
 */
class Backup extends Readable {
  #begin
  #running = null

  constructor (begin, signal) {
    super({ highWaterMark: 256 << 10 })
    this.#begin = begin
    if (signal !== undefined) addAbortSignal(signal, this)
  }

  async _read () {
    try {
      this.#running ??= this.#start()
      const { job, ended } = this.#running
      const piece = await ask(asked => rare.nextPiece(job, asked))
      if (piece === undefined) {
        stayFor(job)
        // What went wrong is what the copy ended with.
        await ended
      }
      this.push(piece ?? null)
    } catch (error) {
      this.destroy(error)
    }
  }

  #start () {
    const running = this.#begin()
    forgotten.register(this, running.job, this)
    return running
  }

  /** It is closed once the copy has let go of its snapshot. */
  _destroy (error, done) {
    if (this.#running === null) {
      done(error)
      return
    }
    forgotten.unregister(this)
    const { job, ended } = this.#running
    rare.stop(job)
    stayFor(job)
    const close = () => done(error)
    ended.then(close, close)
  }
}

module.exports = { Backup }
