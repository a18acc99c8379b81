'use strict'

const { memory, grow } = require('./native')

/** Up to here a loop is faster than a call. */
const SHORT = 48

/** Writes text as UTF-8 into the input, and returns where it ends. */
function writeText (text, at) {
  const { length } = text
  if (at + length * 3 > memory.input.length) grow(at + length * 3)
  const { input } = memory
  if (length <= SHORT) {
    let i = 0
    for (; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 127) break
      input[at + i] = unit
    }
    if (i === length) return at + length
  }
  if (!text.isWellFormed()) throw new TypeError('text has half of a surrogate pair')
  return at + write(text, at)
}

/** Writes bytes into the input, and returns where they end. */
function writeBytes (bytes, at) {
  const end = at + bytes.length
  if (end > memory.input.length) grow(end)
  memory.input.set(bytes, at)
  return end
}

/** Node's own short ways, as long as it has them. */
const isShort = ['utf8Slice', 'utf8Write'].every(name => name in Buffer.prototype)

const readText = isShort
  ? (buffer, start, end) => buffer.utf8Slice(start, end)
  : (buffer, start, end) => buffer.toString('utf8', start, end)
const write = isShort
  ? (text, at) => memory.input.utf8Write(text, at)
  : (text, at) => memory.input.write(text, at)

module.exports = { writeText, writeBytes, readText }
