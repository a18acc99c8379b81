'use strict'

const { Readable, addAbortSignal } = require('node:stream')

const { rare, ask, stayFor } = require('./native')
const { report } = require('./report')

/** Streams that a program has forgotten before their end. */
const forgotten = new FinalizationRegistry(job => rare.stop(job))

/**
 * A copy or a backup of an environment as a stream of bytes. Another thread makes a piece when the
 * stream has room for one, and no more than one ahead.
 *
 * `begin` has a thread begin: the number of its job, and a promise of its end.
 */
class PieceStream extends Readable {
  #begin
  #running = null
  /** What it has been, once it has ended. */
  report = undefined

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
        // What went wrong is what it ended with.
        this.report = await report(ended)
      }
      this.push(piece ?? null)
    } catch (error) {
      this.destroy(error)
    }
  }

  #start () {
    const running = this.#begin()
    forgotten.register(this, running.job, this)
    const stream = new WeakRef(this)
    running.ended.catch(error => tell(stream.deref(), error))
    return running
  }

  /** It is closed once the thread has let go of its snapshot. */
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

/**
 * Tells a stream of an error that comes while it does not read: it may wait for a target that takes
 * nothing. One to which nobody listens hears of it when it reads on.
 */
function tell (stream, error) {
  if (stream?.listenerCount('error') > 0) stream.destroy(error)
}

module.exports = { PieceStream }
