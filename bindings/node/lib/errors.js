'use strict'

/** What went wrong: `code` is the name of the error, `message` says it in a sentence. */
class HuonError extends Error {
  constructor (code, message, options) {
    super(message, options)
    this.code = code
  }

  static {
    HuonError.prototype.name = 'HuonError'
  }
}

const misuse = text => new HuonError('Misuse', text)

/** Refuses options that are not known: a name that is written wrongly would change nothing. */
function known (options, names, of) {
  if (options === undefined) return {}
  if (options === null || typeof options !== 'object') {
    throw new TypeError(`options of ${of} are an object`)
  }
  for (const name in options) {
    if (!names.includes(name)) {
      throw new TypeError(`${of} has no option ${JSON.stringify(name)}; it has ${names.join(', ')}`)
    }
  }
  return options
}

module.exports = { HuonError, misuse, known }
