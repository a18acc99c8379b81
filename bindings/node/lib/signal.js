'use strict'

/** Refuses what is no signal, and what has been aborted by now. */
function checkSignal (signal) {
  if (signal === undefined) return
  if (!(signal instanceof AbortSignal)) throw new TypeError('signal is an AbortSignal')
  signal.throwIfAborted()
}

/** Refuses what cannot be told how far something is. */
function checkProgress (onProgress) {
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw new TypeError('onProgress is a function')
  }
}

/** What a promise gives, or, once the signal is aborted, its reason: `stop` is called then. */
function until (signal, promise, stop = () => {}) {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason)
      stop()
    }
    const forget = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject)
    promise.then(forget, forget)
  })
}

module.exports = { checkSignal, checkProgress, until }
