'use strict'

// Encodings of keys. Each has
//   write(key, at)            writes it into the input, and returns where it ends
//   read(buffer, start, end)  reads it
//   writePrefix(key, at)      the bytes with which all keys begin that begin with `key`
//   endPrefix(start, end)     writes behind them what is above all of those keys; 0 if nothing is
//   keeps                     what was read lies in the buffer
//
// `ordered` keeps the order of JavaScript values of the same type:
//
//   null                01
//   false, true         02, 03
//   number              10, and eight bytes: the IEEE 754 bits, of which the sign (or, below zero,
//                       all) are turned, so that they sort as numbers do
//   bigint              11, 80 + length or 7F - length below zero, and the bytes, highest first;
//                       below zero all turned
//   Uint8Array          1D, and the bytes
//   array               1E, and its items
//   string              UTF-8; 1F before it if it is empty or begins below a space
//
// In an array, strings, arrays and bytes end with 00, and a 00 in them is 00 FF. So plain text is
// plain bytes, that other languages read and write.

const { memory, grow } = require('./native')
const { writeText, writeBytes, readText } = require('./text')

const NULL = 0x01
const FALSE = 0x02
const TRUE = 0x03
const NUMBER = 0x10
const BIGINT = 0x11
const BYTES = 0x1d
const ARRAY = 0x1e
const TEXT = 0x1f
const SPACE = 0x20
const END = 0x00
const ESCAPED = 0xff

/** How deep arrays may lie in each other. */
const DEPTH_MAX = 64

function room (at, bytes) {
  if (at + bytes > memory.input.length) grow(at + bytes)
  return memory.input
}

function writeNumber (key, at) {
  if (Number.isNaN(key)) throw new TypeError('NaN is no key: it is not in the order of numbers')
  const input = room(at, 9)
  input[at] = NUMBER
  // Both zeros are one key.
  memory.view.setFloat64(at + 1, key === 0 ? 0 : key)
  if (input[at + 1] < 0x80) {
    input[at + 1] |= 0x80
  } else {
    for (let i = 1; i <= 8; i++) input[at + i] ^= 0xff
  }
  return at + 9
}

const SCRATCH = new Uint8Array(8)
const SCRATCH_VIEW = new DataView(SCRATCH.buffer)

function readNumber (buffer, at) {
  const turned = buffer[at + 1] >= 0x80 ? 0 : 0xff
  for (let i = 0; i < 8; i++) SCRATCH[i] = buffer[at + 1 + i] ^ turned
  if (turned === 0) SCRATCH[0] ^= 0x80
  return SCRATCH_VIEW.getFloat64(0)
}

function writeBigint (key, at) {
  const isNegative = key < 0n
  let digits = (isNegative ? -key : key).toString(16)
  if (digits.length % 2 === 1) digits = '0' + digits
  const bytes = key === 0n ? Buffer.alloc(0) : Buffer.from(digits, 'hex')
  if (bytes.length > 127) throw new TypeError('a bigint key has at most 127 bytes')
  const input = room(at, 2 + bytes.length)
  input[at] = BIGINT
  input[at + 1] = isNegative ? 0x7f - bytes.length : 0x80 + bytes.length
  for (let i = 0; i < bytes.length; i++) input[at + 2 + i] = isNegative ? ~bytes[i] : bytes[i]
  return at + 2 + bytes.length
}

function bigintBytes (buffer, at) {
  const sign = buffer[at + 1]
  return sign >= 0x80 ? sign - 0x80 : 0x7f - sign
}

function readBigint (buffer, at) {
  const isNegative = buffer[at + 1] < 0x80
  const length = bigintBytes(buffer, at)
  if (length === 0) return 0n
  const bytes = Buffer.from(buffer.subarray(at + 2, at + 2 + length))
  if (isNegative) for (let i = 0; i < length; i++) bytes[i] = ~bytes[i]
  const size = BigInt('0x' + bytes.toString('hex'))
  return isNegative ? -size : size
}

/** Marks text that could be taken for something else. */
function markText (key, at) {
  if (key.length > 0 && key.charCodeAt(0) >= SPACE) return at
  room(at, 1)[at] = TEXT
  return at + 1
}

function refuse (key) {
  const what = key === null ? 'null' : typeof key
  throw new TypeError(`no key: ${what}; keys are null, booleans, numbers, bigints, strings, ` +
    'Uint8Arrays, and arrays of these')
}

function writeOrdered (key, at) {
  if (typeof key === 'string') {
    return writeText(key, key.length > 0 && key.charCodeAt(0) >= SPACE ? at : markText(key, at))
  }
  if (typeof key === 'number') return writeNumber(key, at)
  if (Array.isArray(key)) return writeItems(key, at, 0)
  if (key instanceof Uint8Array) {
    room(at, 1)[at] = BYTES
    return writeBytes(key, at + 1)
  }
  return writeSmall(key, at)
}

function writeSmall (key, at) {
  if (typeof key === 'bigint') return writeBigint(key, at)
  const tag = key === null ? NULL : key === true ? TRUE : key === false ? FALSE : refuse(key)
  room(at, 1)[at] = tag
  return at + 1
}

function writeItems (items, at, depth) {
  if (depth > DEPTH_MAX) throw new TypeError(`arrays in a key lie at most ${DEPTH_MAX} deep`)
  room(at, 1)[at] = ARRAY
  at++
  for (const item of items) at = writeItem(item, at, depth)
  return at
}

function writeItem (item, at, depth) {
  if (typeof item === 'string') return close(writeText(item, markText(item, at)), at)
  if (typeof item === 'number') return writeNumber(item, at)
  if (Array.isArray(item)) {
    const end = writeItems(item, at, depth + 1)
    room(end, 1)[end] = END
    return end + 1
  }
  if (item instanceof Uint8Array) {
    room(at, 1)[at] = BYTES
    return close(writeBytes(item, at + 1), at)
  }
  return writeSmall(item, at)
}

/** Ends what begins at `start`: escapes each 00 in it. */
function close (end, start) {
  let input = room(end, 1)
  let zeros = 0
  for (let i = start; i < end; i++) if (input[i] === END) zeros++
  if (zeros > 0) {
    input = room(end, zeros + 1)
    let to = end + zeros
    for (let from = end - 1; from >= start; from--) {
      if (input[from] === END) input[--to] = ESCAPED
      input[--to] = input[from]
    }
    end += zeros
  }
  input[end] = END
  return end + 1
}

function bad () {
  throw new TypeError('the key was not written with this encoding')
}

function readOrdered (buffer, start, end) {
  if (start === end) return bad()
  const tag = buffer[start]
  if (tag >= SPACE) return readText(buffer, start, end)
  switch (tag) {
    case TEXT: return readText(buffer, start + 1, end)
    case NUMBER: return end === start + 9 ? readNumber(buffer, start) : bad()
    case ARRAY: return new Items(buffer, start + 1, end).read()
    case BYTES: return Buffer.from(buffer.subarray(start + 1, end))
    case BIGINT:
      return end === start + 2 + bigintBytes(buffer, start) ? readBigint(buffer, start) : bad()
    case NULL: return null
    case FALSE: return false
    case TRUE: return true
    default: return bad()
  }
}

/** Reads the items of an array. */
class Items {
  constructor (buffer, at, end) {
    this.buffer = buffer
    this.at = at
    this.end = end
  }

  read () {
    const items = []
    while (this.at < this.end && this.buffer[this.at] !== END) items.push(this.item())
    this.at++
    return items
  }

  item () {
    const { buffer, at } = this
    switch (buffer[at]) {
      case NUMBER:
        this.at += 9
        return this.at <= this.end ? readNumber(buffer, at) : bad()
      case BIGINT:
        this.at += 2 + bigintBytes(buffer, at)
        return this.at <= this.end ? readBigint(buffer, at) : bad()
      case ARRAY:
        this.at++
        return this.read()
      case NULL: this.at++; return null
      case FALSE: this.at++; return false
      case TRUE: this.at++; return true
      case BYTES: this.at++; return this.closed()
      case TEXT: this.at++; return this.closed().toString()
      default: return buffer[at] >= SPACE ? this.closed().toString() : bad()
    }
  }

  /** The bytes up to the 00 that ends them, without what escapes others. */
  closed () {
    const { buffer } = this
    const bytes = []
    for (; this.at < this.end; this.at++) {
      if (buffer[this.at] === END) {
        if (buffer[this.at + 1] !== ESCAPED || this.at + 1 >= this.end) break
        bytes.push(END)
        this.at++
      } else {
        bytes.push(buffer[this.at])
      }
    }
    this.at++
    return Buffer.from(bytes)
  }
}

/** Writes behind a prefix the least bytes above all that begin with it; 0 if there are none. */
function endBytes (start, end) {
  room(end, end - start)
  const { input } = memory
  let last = end - 1
  while (last >= start && input[last] === 0xff) last--
  if (last < start) return 0
  input.copyWithin(end, start, last + 1)
  input[end + last - start]++
  return end + last - start + 1
}

const ordered = {
  name: 'ordered',
  keeps: false,
  write: writeOrdered,
  read: readOrdered,
  writePrefix (key, at) {
    if (typeof key === 'string' && key.length === 0) {
      room(at, 1)[at] = TEXT
      return at + 1
    }
    if (typeof key !== 'string' && !Array.isArray(key)) {
      throw new TypeError('a prefix is a string, or an array of the first items of keys')
    }
    return writeOrdered(key, at)
  },
  endPrefix (start, end) {
    const { input } = memory
    // All text, marked or not; behind it there is nothing.
    if (input[start] === TEXT && end === start + 1) return 0
    if (input[start] !== ARRAY) return endBytes(start, end)
    // Items that follow begin below FF, and so does what is escaped within the last one not.
    room(end, end - start + 1).copyWithin(end, start, end)
    memory.input[2 * end - start] = 0xff
    return 2 * end - start + 1
  }
}

const string = {
  name: 'string',
  keeps: false,
  write (key, at) {
    if (typeof key !== 'string') throw new TypeError(`no string: ${typeof key}`)
    return writeText(key, at)
  },
  read: readText,
  endPrefix: endBytes
}
string.writePrefix = string.write

const binary = {
  name: 'binary',
  keeps: true,
  write (key, at) {
    if (key instanceof Uint8Array) {
      const { length } = key
      if (length > 32 || at + length > memory.input.length) return writeBytes(key, at)
      const { input } = memory
      for (let i = 0; i < length; i++) input[at + i] = key[i]
      return at + length
    }
    if (typeof key === 'string') return writeText(key, at)
    throw new TypeError(`no Uint8Array or string: ${typeof key}`)
  },
  read: (buffer, start, end) => buffer.subarray(start, end),
  endPrefix: endBytes
}
binary.writePrefix = binary.write

const encodings = { ordered, string, binary }

function keyEncoding (name = 'ordered') {
  if (!Object.hasOwn(encodings, name)) {
    throw new TypeError(`no encoding of keys: ${name}; there are ordered, string and binary`)
  }
  return encodings[name]
}

/** The bytes of a key in the encoding `ordered`. */
function encodeKey (key) {
  return Buffer.from(memory.input.subarray(0, writeOrdered(key, 0)))
}

/** The key of such bytes. */
function decodeKey (bytes) {
  const buffer = Buffer.from(bytes)
  return readOrdered(buffer, 0, buffer.length)
}

/** Which of two keys comes first in the encoding `ordered`: below, at or above zero. */
function compareKeys (one, other) {
  return Buffer.compare(encodeKey(one), encodeKey(other))
}

module.exports = { keyEncoding, ordered, encodeKey, decodeKey, compareKeys }
