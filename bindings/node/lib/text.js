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
  return at + input.utf8Write(text, at)
}

/** Writes bytes into the input, and returns where they end. */
function writeBytes (bytes, at) {
  const end = at + bytes.length
  if (end > memory.input.length) grow(end)
  memory.input.set(bytes, at)
  return end
}

const readText = (buffer, start, end) => buffer.utf8Slice(start, end)

module.exports = { writeText, writeBytes, readText }
