'use strict'

// Encodings of values. What runs code of the program's own has its own step, since that may use the
// memory that we share:
//   prepare(value)            what `write` takes
//   write(prepared, at), read(buffer, start, end), keeps      as those of keys
//   finish(read)              what the program gets, null where that is what was read

const { HuonError } = require('./errors')
const { ordered } = require('./keys')
const { writeText, writeBytes, readText } = require('./text')

const same = value => value

const binary = {
  name: 'binary',
  keeps: true,
  finish: null,
  prepare: same,
  write (value, at) {
    if (value instanceof Uint8Array) return writeBytes(value, at)
    if (typeof value === 'string') return writeText(value, at)
    throw new TypeError(`no Uint8Array or string: ${typeof value}`)
  },
  read: (buffer, start, end) => buffer.subarray(start, end)
}

const string = {
  name: 'string',
  keeps: false,
  finish: null,
  prepare: same,
  write (value, at) {
    if (typeof value !== 'string') throw new TypeError(`no string: ${typeof value}`)
    return writeText(value, at)
  },
  read: readText
}

const json = {
  name: 'json',
  keeps: false,
  finish: null,
  prepare (value) {
    const text = JSON.stringify(value)
    if (text === undefined) throw new TypeError(`JSON has no ${typeof value}`)
    return text
  },
  write: writeText,
  read: (buffer, start, end) => JSON.parse(readText(buffer, start, end))
}

/** MessagePack as all its readers know it. It is loaded when it is first wanted. */
function messagePack () {
  const { Packr } = require('msgpackr')
  // Bytes in what was read are copied: the memory that they lie in is used again.
  const packr = new Packr({
    useRecords: false, int64AsType: 'bigint', useBigIntExtension: true, copyBuffers: true
  })
  return {
    name: 'msgpack',
    keeps: false,
    finish: null,
    prepare (value) {
      if (value === undefined) throw new TypeError('undefined is no value: remove the key')
      return packr.pack(value)
    },
    write: writeBytes,
    read (buffer, start, end) {
      // Where that is 0 it would read all of the buffer.
      if (start === end) throw new HuonError('Decode', 'a value without bytes is no MessagePack')
      return packr.unpack(buffer, { start, end })
    }
  }
}

/** An encoding of the program's own. */
function own ({ encode, decode }, given) {
  return {
    name: 'own',
    keeps: true,
    finish: bytes => decode.call(given, bytes),
    prepare (value) {
      const bytes = encode.call(given, value)
      if (!(bytes instanceof Uint8Array)) throw new TypeError('encode gives a Uint8Array')
      return bytes
    },
    write: writeBytes,
    read: (buffer, start, end) => buffer.subarray(start, end)
  }
}

const encodings = { binary, string, json, ordered: { ...ordered, finish: null, prepare: same } }

function valueEncoding (name = 'msgpack') {
  if (name !== null && typeof name === 'object') {
    if (typeof name.encode !== 'function' || typeof name.decode !== 'function') {
      throw new TypeError('an encoding of values has the functions encode and decode')
    }
    return own(name, name)
  }
  if (name === 'msgpack') encodings.msgpack ??= messagePack()
  if (!Object.hasOwn(encodings, name)) {
    throw new TypeError(`no encoding of values: ${name}; there are msgpack, json, string, ` +
      'binary, ordered, and objects with encode and decode')
  }
  return encodings[name]
}

module.exports = { valueEncoding }
