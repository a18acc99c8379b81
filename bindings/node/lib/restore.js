'use strict'

const { pipeline } = require('node:stream/promises')

const { rare, ask, stayFor } = require('./native')
const { known } = require('./errors')
const { report } = require('./report')
const { checkSignal, checkProgress, until } = require('./signal')
const { LONG, inBytes } = require('./care')

/** Restores that wait for a stream which a program has forgotten. */
const forgotten = new FinalizationRegistry(job => rare.stop(job))

const NO_BYTES = new Uint8Array(0)

/**
 * Makes an environment of a whole backup and those that follow it, in their order: what it has. A
 * thread reads them, and asks for the next piece of a stream when it is done with the one before.
 */
async function restore (path, backups, options) {
  const { signal, onProgress } = known(options, LONG, 'restore')
  if (typeof path !== 'string') throw new TypeError('restore wants a path')
  const sources = Array.isArray(backups) ? [...backups] : [backups]
  sources.forEach(checkSource)
  checkSignal(signal)
  checkProgress(onProgress)
  // What fails before its turn has come is told when it comes.
  for (const source of sources) source.on?.('error', () => {})
  // What `onProgress` throws ends it as a signal does.
  const stop = new AbortController()
  const abort = () => stop.abort(signal.reason)
  signal?.addEventListener('abort', abort)
  const { job, ended } = begin(path, inBytes(onProgress), stop)
  const waiting = {}
  forgotten.register(waiting, job, waiting)
  try {
    await until(stop.signal, handAll(job, sources, stop.signal), () => rare.stop(job))
  } catch (error) {
    rare.stop(job)
    stayFor(job)
    for (const source of sources) source.destroy?.()
    // Nothing is left of the file then. A signal waits for nothing.
    if (!stop.signal.aborted) await ended.catch(() => {})
    throw error
  } finally {
    forgotten.unregister(waiting)
    signal?.removeEventListener('abort', abort)
  }
  stayFor(job)
  await ask(asked => rare.handNothing(job, asked))
  return report(ended)
}

function checkSource (source) {
  if (typeof source === 'string') return
  if (typeof source?.[Symbol.asyncIterator] !== 'function') {
    throw new TypeError('a backup is a path, a stream or another async iterable of bytes')
  }
}

function begin (path, onProgress, stop) {
  // The job must not keep what waits for it, or nothing of it is ever forgotten.
  const waiting = new WeakRef(stop)
  const told = onProgress && ((done, total) => {
    try { onProgress(done, total) } catch (error) { waiting.deref()?.abort(error) }
  })
  let job
  // A program need not stay for a stream that has no more to say.
  const ended = ask(number => rare.restore(job = number, path, told !== undefined),
    { onProgress: told, quiet: true })
  ended.catch(() => {})
  return { job, ended }
}

async function handAll (job, sources, signal) {
  for (const source of sources) {
    if (typeof source === 'string') await ask(asked => rare.handFile(job, asked, source))
    else await pipeline(source, pieces => handPieces(job, pieces), { signal })
  }
}

async function handPieces (job, pieces) {
  // It begins with an empty one, since it may have no other.
  await ask(asked => rare.handPiece(job, asked, NO_BYTES))
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) throw new TypeError('pieces of a backup are bytes')
    // What other threads may change meanwhile is copied here.
    const bytes = piece.buffer instanceof SharedArrayBuffer ? new Uint8Array(piece) : piece
    await ask(asked => rare.handPiece(job, asked, bytes))
  }
  await ask(asked => rare.handNothing(job, asked))
}

module.exports = { restore }
