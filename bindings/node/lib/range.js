'use strict'

// Ranges: lazy iterables that fetch some dozens of records with a call.

const {
  native, rare, memory, grow, turn, dropLarge, room, done, NO_ROOM, SIZES
} = require('./native')
const { known } = require('./errors')

// The bits by which the native part knows a range.
const REVERSE = 1
const FROM = 2
const FROM_EXCLUDED = 4
const TO = 8
const TO_INCLUDED = 16
const PAIR = 32
const KEEP = 64
const DISTINCT = 128
const KEYS_ONLY = 256

/** The number of the order that a table was made with, whichever that is. */
const STORED = 4

/** How many records the first call fetches, and at most one. */
const FIRST_BATCH = 16
const BATCH_MAX = (SIZES - 3) / 2

const OPTIONS = ['gt', 'gte', 'lt', 'lte', 'prefix', 'reverse', 'limit', 'snapshot']

/** Snapshots of iterators that were dropped in the middle. */
const dropped = new FinalizationRegistry(seat => {
  try { rare.end(seat) } catch {}
})

/** Something to iterate over, again and again, that does nothing before. */
class Lazy {
  #begin

  constructor (begin) {
    this.#begin = begin
  }

  [Symbol.iterator] () {
    return this.#begin()
  }

  map (f) {
    const from = this
    return new Lazy(function * () { for (const item of from) yield f(item) })
  }

  filter (f) {
    const from = this
    return new Lazy(function * () { for (const item of from) if (f(item)) yield item })
  }

  flatMap (f) {
    const from = this
    return new Lazy(function * () { for (const item of from) yield * f(item) })
  }

  take (count) {
    const from = this
    return new Lazy(function * () {
      let left = count
      if (left <= 0) return
      for (const item of from) {
        yield item
        if (--left <= 0) return
      }
    })
  }

  drop (count) {
    const from = this
    return new Lazy(function * () {
      let left = count
      for (const item of from) if (--left < 0) yield item
    })
  }

  forEach (f) {
    for (const item of this) f(item)
  }

  reduce (f, ...start) {
    const items = this[Symbol.iterator]()
    let sum = start[0]
    if (start.length === 0) {
      const first = items.next()
      if (first.done) throw new TypeError('there is nothing to reduce, and no start')
      sum = first.value
    }
    for (let item = items.next(); !item.done; item = items.next()) sum = f(sum, item.value)
    return sum
  }

  find (f) {
    for (const item of this) if (f(item)) return item
    return undefined
  }

  some (f) {
    for (const item of this) if (f(item)) return true
    return false
  }

  every (f) {
    return !this.some(item => !f(item))
  }

  toArray () {
    return Array.from(this)
  }
}

/** The bounds of a range as bytes, of which each iterator begins with a copy. */
class Bounds {
  constructor (keys, options, of) {
    const { gt, gte, lt, lte, prefix, reverse = false } = known(options, OPTIONS, of)
    this.bits = reverse ? REVERSE : 0
    this.from = null
    this.to = null
    if (prefix !== undefined) this.begin(keys, prefix)
    if (gt !== undefined) this.above(FROM_EXCLUDED, keys, gt)
    if (gte !== undefined) this.above(0, keys, gte)
    if (lt !== undefined) this.below(0, keys, lt)
    if (lte !== undefined) this.below(TO_INCLUDED, keys, lte)
  }

  begin (keys, prefix) {
    const end = keys.writePrefix(prefix, 0)
    if (end === 0) return
    const above = keys.endPrefix(0, end)
    this.from = copy(0, end)
    this.bits |= FROM
    if (above > 0) {
      this.to = copy(end, above)
      this.bits |= TO
    }
  }

  /** The narrower of two bounds counts. */
  above (bit, keys, key) {
    const from = copy(0, keys.write(key, 0))
    const order = this.from === null ? 1 : Buffer.compare(from, this.from)
    if (order < 0 || (order === 0 && bit === 0)) return
    this.from = from
    this.bits = (this.bits & ~FROM_EXCLUDED) | FROM | bit
  }

  below (bit, keys, key) {
    const to = copy(0, keys.write(key, 0))
    const order = this.to === null ? -1 : Buffer.compare(to, this.to)
    if (order > 0 || (order === 0 && bit !== 0)) return
    this.to = to
    this.bits = (this.bits & ~TO_INCLUDED) | TO | bit
  }

  /** Writes them into the input; returns the lengths of from and to. */
  write () {
    return [put(this.from, 0), put(this.to, this.from === null ? 0 : this.from.length)]
  }
}

const copy = (start, end) => Buffer.from(memory.input.subarray(start, end))

function put (bytes, at) {
  if (bytes === null) return 0
  if (at + bytes.length > memory.input.length) grow(at + bytes.length)
  memory.input.set(bytes, at)
  return bytes.length
}

/** What a range gives of each record. */
const SHAPES = { entries: 0, keys: 1, values: 2 }

/**
 * A range of a table that is read from a seat.
 *
 * `of` is the reader: its seat, table, encodings, and whether the seat is the newest snapshot's, of
 * which an iterator keeps its own as soon as one call is not enough.
 */
class Range extends Lazy {
  constructor (of, bounds, options = {}, shape = SHAPES.entries, more = 0) {
    const { limit = Infinity, snapshot = true } = options
    if (!Number.isInteger(limit) && Math.abs(limit) !== Infinity) {
      throw new TypeError('limit is a whole number')
    }
    const bits = bounds.bits | more | (shape === SHAPES.keys ? KEYS_ONLY : 0)
    // As in abstract-level, a limit below 0 is none.
    const left = limit < 0 ? Infinity : limit
    super(() => new RangeIterator(of, bounds, bits, left, snapshot, shape))
  }
}

class RangeIterator {
  #of
  #bits
  #from
  #to
  #fromValue = null
  #left
  /** How many records it has shown: where nobody knows how keys compare, it goes on by that. */
  #shown = 0
  #shape
  #snapshot
  /** From where it began to read: a transaction that has ended by the next call is missed. */
  #begun = null
  /** The seat of the snapshot, once it has one of its own. */
  #seat = null
  #batch = FIRST_BATCH
  #keys = []
  #values = []
  #at = 0
  #more = true

  constructor (of, bounds, bits, left, snapshot, shape) {
    this.#of = of
    this.#bits = bits
    this.#from = bounds.from
    this.#to = bounds.to
    this.#left = left
    this.#snapshot = snapshot
    this.#shape = shape
  }

  [Symbol.iterator] () {
    return this
  }

  next () {
    if (this.#at === this.#length) {
      if (!this.#more || !this.#fetch()) return { done: true, value: undefined }
    }
    const at = this.#at++
    switch (this.#shape) {
      case SHAPES.keys: return { done: false, value: this.#keys[at] }
      case SHAPES.values: return { done: false, value: this.#values[at] }
      default: return { done: false, value: { key: this.#keys[at], value: this.#values[at] } }
    }
  }

  return (value) {
    this.#more = false
    this.#keys = []
    this.#values = []
    this.#at = 0
    this.#end()
    return { done: true, value }
  }

  get #length () {
    return this.#shape === SHAPES.values ? this.#values.length : this.#keys.length
  }

  /** Lets go of the snapshot. */
  #end () {
    if (this.#seat === null) return
    dropped.unregister(this)
    const seat = this.#seat
    this.#seat = null
    try { rare.end(seat) } catch {}
  }

  /** Fetches the next records; whether there are any. */
  #fetch () {
    const max = Math.min(this.#batch, this.#left)
    this.#at = 0
    this.#keys = []
    this.#values = []
    const count = max > 0 ? this.#call(max) : 0
    this.#left -= count
    if (this.#of.named.order === STORED) this.#shown += count
    this.#batch = Math.min(this.#batch * 4, BATCH_MAX)
    const { sizes } = memory
    const more = max > 0 && sizes[SIZES - 3] !== 0 && this.#left > 0
    const seat = max > 0 ? sizes[SIZES - 2] + sizes[SIZES - 1] * 2 ** 32 : 0
    if (seat !== 0) {
      this.#seat = seat
      dropped.register(this, seat, this)
    }
    this.#more = more
    try {
      if (count > 0) this.#read(count)
    } catch (error) {
      this.return()
      throw error
    }
    if (!more) this.#end()
    dropLarge()
    return count > 0
  }

  /** Whether the seat that the next call reads from is to be kept. */
  get #isKeeping () {
    return this.#snapshot && this.#seat === null && this.#of.isNewest
  }

  #call (max) {
    this.#begun ??= this.#of.seat
    const seat = this.#seat ?? this.#begun
    const bits = this.#bits | (this.#isKeeping ? KEEP : 0)
    let end = put(this.#from, 0)
    const from = end
    const fromValue = put(this.#fromValue, end)
    end += fromValue
    const to = put(this.#to, end)
    if (this.#batch > FIRST_BATCH && memory.at > memory.output.length / 2) turn()
    for (;;) {
      const count = done(native.nextBatch(
        seat, this.#of.table, bits, from, fromValue, to, max, room(), this.#shown))
      if (count > NO_ROOM) return count
      turn(NO_ROOM - count)
    }
  }

  /** Takes the records out of the output, and remembers the last one to go on behind it. */
  #read (count) {
    const { keys, values } = this.#of
    const { output, sizes } = memory
    const isDistinct = (this.#bits & DISTINCT) !== 0
    let at = memory.at
    let last = 0
    for (let i = 0; i < count; i++) {
      const middle = at + sizes[2 * i]
      const end = middle + sizes[2 * i + 1]
      last = i
      if (this.#shape !== SHAPES.values) this.#keys.push(keys.read(output, at, middle))
      if (isDistinct) this.#values.push(Number(output.readBigUInt64LE(middle)))
      else if (this.#shape !== SHAPES.keys) this.#values.push(values.read(output, middle, end))
      if (i < count - 1) at = end
    }
    const middle = at + sizes[2 * last]
    const end = middle + sizes[2 * last + 1]
    if (this.#more) this.#goOn(output, at, middle, end)
    if (keys.keeps || values.keeps) memory.at = end
    if (values.finish !== null && !isDistinct) this.#values = this.#values.map(values.finish)
  }

  #goOn (output, at, middle, end) {
    const key = Buffer.from(output.subarray(at, middle))
    if (this.#of.isMulti && (this.#bits & DISTINCT) === 0) {
      this.#fromValue = Buffer.from(output.subarray(middle, end))
      this.#bits |= PAIR
    }
    if ((this.#bits & REVERSE) !== 0) {
      this.#to = key
      this.#bits = (this.#bits & ~TO_INCLUDED) | TO
    } else {
      this.#from = key
      this.#bits |= FROM | FROM_EXCLUDED
    }
  }
}

/** The bounds of one key, for the values of a multimap. */
function boundsOfKey (keys, key, reverse) {
  return new Bounds(keys, { gte: key, lte: key, reverse }, 'values')
}

module.exports = { Bounds, Range, Lazy, SHAPES, DISTINCT, OPTIONS, boundsOfKey }
