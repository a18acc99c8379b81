'use strict'

const { pipeline } = require('node:stream/promises')

const { rare } = require('./native')
const { HuonError, known } = require('./errors')
const { report } = require('./report')
const { checkSignal, checkProgress, until } = require('./signal')
const { ReadTransaction } = require('./transaction')
const { PieceStream } = require('./backup')
const { Care, LONG, inBytes } = require('./care')

/** What a backup is of. */
const BACKUP = ['snapshot', 'since']
const MEGABYTE = 1 << 20

/**
 * How snapshots of an environment are read, named and saved. It has what `Care` needs, `checkOpen`,
 * the transaction that is `ambient`, `queue`, which has the thread that writes do something, and
 * `askQuietly`, for what a program reads or forgets.
 */
class Snapshots extends Care {
  /** A snapshot: the newest one, or that of a name. */
  read (options) {
    const { open } = this
    const { snapshot } = known(options, ['snapshot'], 'read')
    return new ReadTransaction(this,
      snapshot === undefined ? rare.beginRead(open) : rare.beginReadNamed(open, snapshot))
  }

  /** Runs `work` with a snapshot, which ends with it. */
  view (work, options) {
    const txn = this.read(options)
    let result
    try {
      result = work(txn)
    } catch (error) {
      txn.end()
      throw error
    }
    if (typeof result?.then === 'function') {
      return Promise.resolve(result).finally(() => txn.end())
    }
    txn.end()
    return result
  }

  // Names.

  /** The named snapshots, the oldest first. */
  namedSnapshots () {
    return JSON.parse(rare.namedSnapshots(this.open))
  }

  /** Names what all writes so far have made; which snapshot that is. */
  async nameSnapshot (name, options) {
    const { signal } = known(options, ['signal'], 'nameSnapshot')
    if (this.ambient !== null) return this.ambient.nameSnapshot(name)
    const begin = (env, job) => rare.nameSnapshot(env, job, name, signal !== undefined)
    return report(this.queue(begin, signal))
  }

  /** Takes its name away from a snapshot; whether there was one. */
  async dropSnapshot (name, options) {
    const { signal } = known(options, ['signal'], 'dropSnapshot')
    if (this.ambient !== null) return this.ambient.dropSnapshot(name)
    const begin = (env, job) => rare.dropSnapshot(env, job, name, signal !== undefined)
    return await this.queue(begin, signal) === 1
  }

  // Copies and backups.

  /** A copy of the newest snapshot, from the time of the first read on, as a stream of bytes. */
  copyStream (options) {
    const { compact = false, signal } = known(options, ['compact', 'signal'], 'copyStream')
    return this.#stream((env, job) => rare.copyStream(env, job, compact), signal)
  }

  /** A backup as a stream of bytes, of what is there at the time of the first read. */
  backupStream (options) {
    const { signal, ...rest } = known(options, [...BACKUP, 'signal'], 'backupStream')
    return this.#backup(this.#given(rest), signal)
  }

  /** Writes a backup to a new file, or to a stream, which is ended: what it has. */
  async backupTo (target, options) {
    const { signal, onProgress, ...rest } = known(options, [...BACKUP, ...LONG], 'backupTo')
    const given = this.#given(rest)
    const isTold = onProgress !== undefined
    if (typeof target === 'string') {
      return report(this.askFor((env, job) => rare.backupTo(env, job, target, given, isTold),
        { signal, onProgress: inBytes(onProgress) }))
    }
    if (typeof target?.write !== 'function') {
      throw new TypeError('backupTo wants a path or a Writable')
    }
    checkSignal(signal)
    checkProgress(onProgress)
    const stream = this.#backup(given)
    const between = isTold ? [pieces => telling(pieces, onProgress)] : []
    await until(signal, pipeline(stream, ...between, target, { signal }))
    return stream.report
  }

  #backup (given, signal) {
    return this.#stream((env, job) => rare.backupStream(env, job, given), signal)
  }

  #stream (begin, signal) {
    // Of one that was aborted the stream tells.
    if (signal?.aborted !== true) checkSignal(signal)
    this.checkOpen()
    return new PieceStream(() => this.askQuietly(begin), signal)
  }

  /** What the native part is told of a backup. */
  #given ({ snapshot, since }) {
    if (snapshot !== undefined && typeof snapshot !== 'string') {
      throw new TypeError('snapshot is the name of a snapshot')
    }
    if (typeof since === 'string') return { snapshot, since: this.#named(since) }
    if (since !== undefined &&
      (typeof since?.id !== 'number' || typeof since.checksum !== 'string')) {
      throw new TypeError('since is the name of a snapshot, or its id and checksum')
    }
    return { snapshot, since }
  }

  #named (name) {
    const found = this.namedSnapshots().find(named => named.name === name)
    if (found !== undefined) return found
    throw new HuonError('SnapshotNotFound', `no snapshot is named ${JSON.stringify(name)}`)
  }
}

/** Tells how many bytes went on, about once a megabyte and at the end. */
async function * telling (pieces, onProgress) {
  let [doneBytes, toldBytes] = [0, 0]
  for await (const piece of pieces) {
    yield piece
    doneBytes += piece.length
    if (doneBytes - toldBytes < MEGABYTE) continue
    toldBytes = doneBytes
    onProgress({ doneBytes, totalBytes: 0 })
  }
  onProgress({ doneBytes, totalBytes: 0 })
}

module.exports = { Snapshots }
