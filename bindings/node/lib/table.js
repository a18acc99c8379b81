'use strict'

// Tables as a program sees them. A reader has a source, which is an environment or a transaction:
//   source.seat       from where it is read
//   source.isNewest   that is the newest snapshot, another one with each call
// and writes through it, at once in a transaction and with all writes of a tick outside of one.

const {
  native, rare, memory, turn, room, done, shrink, ABSENT, FAILED, SIZES, failure
} = require('./native')
const { HuonError, known } = require('./errors')
const { report } = require('./report')
const { writeBytes } = require('./text')
const {
  Bounds, Range, SHAPES, DISTINCT, OPTIONS, boundsOfKey
} = require('./range')

// What a change is, by the numbers of the native part.
const PUT = 0
const PUT_NEW = 1
const UPDATE = 2
const APPEND = 3
const REMOVE = 4
const REMOVE_RANGE = 5
const CLEAR = 6
const DROP = 7
const SEQUENCE = 8
const CREATE = 9
const PUT_UNTIL = 10

/** Kinds of tables, by the numbers of the native part. */
const KINDS = { table: 0, multimap: 1, lsm: 2 }

/** How many keys are looked up with a call. */
const MANY = 256
/** The same where values are large. */
const MANY_LEAST = 16

/** How many bytes of records are loaded with a call. */
const LOAD_BYTES = 1 << 20

/** The bounds of a range. How keys lie is known where they are ordered as bytes. */
function boundsOf ({ keys, named }, options, of) {
  if (named.order !== 0) checkBounds(options ?? {})
  return new Bounds(keys, options, of)
}

function checkBounds ({ prefix, gt, gte, lt, lte }) {
  if (prefix !== undefined) {
    throw new HuonError('PrefixOrder', 'keys that begin alike do not lie together in this order')
  }
  const areTwo = (one, other) => one !== undefined && other !== undefined
  if (areTwo(gt, gte) || areTwo(lt, lte)) {
    throw new TypeError('which of two bounds is narrower is not known in this order')
  }
}

/** How to read records of any kind from a source: the table's number there, and its encodings. */
class Records {
  constructor (source, named) {
    this.source = source
    this.named = named
    this.table = named.number
    this.keys = named.keys
    this.values = named.values
  }

  get name () { return this.named.name }
  get isMulti () { return this.named.isMulti }
  get seat () { return this.source.seat }
  get isNewest () { return this.source.isNewest }

  get (key) {
    const found = this.#find(this.source.seat, this.keys.write(key, 0))
    if (found === ABSENT) return undefined
    const { values } = this
    if (typeof found !== 'number') return this.#large(found)
    const { at, output } = memory
    const value = values.read(output, at, at + found)
    if (values.keeps) memory.at = (at + found + 7) & ~7
    return values.finish === null ? value : values.finish(value)
  }

  /** The length of a value in the output, ABSENT, or a buffer of its own if it had no room. */
  #find (seat, keyBytes) {
    const { sizes } = memory
    sizes[0] = seat
    sizes[1] = seat / 2 ** 32
    sizes[2] = this.table
    sizes[3] = keyBytes
    sizes[4] = room()
    const found = native.get()
    if (found === undefined) return sizes[0]
    if (found === FAILED) throw failure()
    return found
  }

  /** A value that had no room in the output, in a buffer of its own. */
  #large (buffer) {
    if (memory.at > 0) turn()
    const value = this.values.read(buffer, 0, buffer.length)
    return this.values.finish === null ? value : this.values.finish(value)
  }

  has (key) {
    return done(native.has(this.source.seat, this.table, this.keys.write(key, 0), -1)) === 1
  }

  getMany (keys) {
    const all = Array.from(keys)
    const values = []
    /** How many at a time, and from where: one call may not be enough, and the snapshot is one. */
    const how = { count: MANY, seat: this.source.seat, own: 0 }
    try {
      while (values.length < all.length) this.#lookUp(all, values, how)
    } finally {
      if (how.own !== 0) rare.end(how.own)
    }
    return this.values.finish === null
      ? values
      : values.map(value => value === undefined ? value : this.values.finish(value))
  }

  /** Looks up the next keys, as many as fit. */
  #lookUp (keys, values, how) {
    const left = keys.length - values.length
    const count = Math.min(how.count, left)
    let end = 0
    for (let i = 0; i < count; i++) {
      const start = end
      end = this.keys.write(keys[values.length + i], start)
      memory.sizes[i] = end - start
    }
    const more = count < left ? 1 : 0
    const looked = done(native.getMany(how.seat, this.table, count, room(), more))
    const { output, sizes } = memory
    const own = sizes[SIZES - 2] + sizes[SIZES - 1] * 2 ** 32
    if (own !== 0) how.seat = how.own = own
    let at = memory.at
    for (let i = 0; i < looked; i++) {
      const start = at
      at += sizes[2 * i + 1]
      values.push(sizes[2 * i] === 0 ? undefined : this.values.read(output, start, at))
    }
    if (this.values.keeps) memory.at = at
    if (looked === count) return
    how.count = Math.max(MANY_LEAST, looked * 2)
    // The next one has no room: it gets more, or a buffer of its own.
    if (memory.at > 0) turn()
    else if (looked === 0) values.push(this.#unfinished(keys[values.length], how.seat))
  }

  #unfinished (key, seat) {
    const found = this.#find(seat, this.keys.write(key, 0))
    if (found === ABSENT) return undefined
    const bytes = typeof found === 'number' ? memory.output : found
    const at = typeof found === 'number' ? memory.at : 0
    const length = typeof found === 'number' ? found : found.length
    const value = this.values.read(bytes, at, at + length)
    if (bytes === memory.output && this.values.keeps) memory.at += length
    return value
  }

  range (options) {
    return new Range(this, boundsOf(this, options, 'range'), options)
  }

  keysOnly (options) {
    return new Range(this, boundsOf(this, options, 'range'), options, SHAPES.keys)
  }

  valuesOnly (options) {
    return new Range(this, boundsOf(this, options, 'range'), options, SHAPES.values)
  }

  [Symbol.iterator] () {
    return this.range()[Symbol.iterator]()
  }

  first (options) {
    return this.range({ ...options, limit: 1, snapshot: false }).find(() => true)
  }

  last (options) {
    return this.first({ ...options, reverse: true })
  }

  count (options) {
    const bounds = boundsOf(this, options, 'count')
    const [from, to] = bounds.write()
    return done(native.count(this.source.seat, this.table, bounds.bits, from, to))
  }

  get [Symbol.toStringTag] () { return this.constructor.name }
}

/** A table. */
class Reader extends Records {
  sequence () {
    return this.source.sequenceOf(this.table)
  }
}

/** A write-optimised table. */
class LsmReader extends Records {}

/** The same of a multimap. */
class MultiReader extends Reader {
  has (key, value) {
    if (value === undefined) return super.has(key)
    const prepared = this.values.prepare(value)
    const end = this.keys.write(key, 0)
    const length = this.values.write(prepared, end) - end
    return done(native.has(this.source.seat, this.table, end, length)) === 1
  }

  /** The values of a key, in their order. */
  valuesOf (key, options = {}) {
    known(options, ['reverse', 'limit', 'snapshot'], 'valuesOf')
    return new Range(this, boundsOfKey(this.keys, key, options.reverse), options, SHAPES.values)
  }

  countOf (key) {
    return this.count({ gte: key, lte: key })
  }

  /** Each key once, with how many values it has. */
  distinct (options) {
    const bounds = boundsOf(this, options, 'distinct')
    if (options?.reverse) throw new TypeError('distinct goes forward only')
    const pairs = new Range(this, bounds, options, SHAPES.entries, DISTINCT)
    return pairs.map(({ key, value }) => ({ key, count: value }))
  }

  keysOnly (options) {
    return this.distinct(options).map(({ key }) => key)
  }
}

/** A change, of which the bytes are in the input. */
class Change {
  constructor (what, flags, key, value, expected) {
    this.what = what
    this.flags = flags
    this.key = key
    this.value = value
    this.expected = expected
    this.bytes = key + Math.max(value, 0) + Math.max(expected, 0)
  }
}

const isDone = answer => answer !== 0
/** Of what is always done: a tick needs one promise for all of these. */
const always = () => true
const asNumber = answer => answer
const nothing = () => undefined

const CONDITIONS = ['ifNoExists', 'ifExists', 'ifValue']
const MULTI_CONDITIONS = ['ifNoExists']

/** Writes what a change needs into the input. */
function changeOf ({ keys, values }, what, key, value, expected) {
  const given = value === undefined ? undefined : values.prepare(value)
  const wanted = expected === undefined ? undefined : values.prepare(expected)
  const keyEnd = key === undefined ? 0 : keys.write(key, 0)
  const valueEnd = given === undefined ? keyEnd : values.write(given, keyEnd)
  const end = wanted === undefined ? valueEnd : values.write(wanted, valueEnd)
  return new Change(what, 0, keyEnd,
    given === undefined ? -1 : valueEnd - keyEnd, wanted === undefined ? -1 : end - valueEnd)
}

/** The change that removes a range. */
function changeOfRange (reader, options) {
  const given = known(options, OPTIONS.slice(0, 5), 'removeRange')
  const bounds = boundsOf(reader, given, 'removeRange')
  const [from, to] = bounds.write()
  return new Change(REMOVE_RANGE, bounds.bits, from, to, -1)
}

/** What a put is, by its conditions. */
function howToPut (options, names) {
  const { ifNoExists = false, ifExists = false, ifValue } = known(options, names, 'put')
  if (ifNoExists && (ifExists || ifValue !== undefined)) {
    throw new TypeError('a key cannot be both there and not there')
  }
  return { what: ifNoExists ? PUT_NEW : ifExists ? UPDATE : PUT, expected: ifValue }
}

/** Gives readers the changes that they can make; `perform` does one, of which it has the bytes. */
const writing = Base => class extends Base {
  put (key, value, options) {
    const isSure = options === undefined && !this.isMulti
    return this.perform(isSure ? always : isDone, () => this.changeOfPut(key, value, options))
  }

  changeOfPut (key, value, options) {
    if (key === undefined || value === undefined) throw new TypeError('put wants a key and a value')
    if (options === undefined) return changeOf(this, PUT, key, value)
    const names = this.isMulti ? MULTI_CONDITIONS : CONDITIONS
    const { what, expected } = howToPut(options, names)
    return changeOf(this, what, key, value, expected)
  }

  append (key, value) {
    return this.perform(isDone, () => changeOf(this, APPEND, key, value))
  }

  remove (key, options) {
    return this.perform(isDone, () => this.changeOfRemove(key, options))
  }

  changeOfRemove (key, options) {
    if (key === undefined) throw new TypeError('remove wants a key')
    return changeOf(this, REMOVE, key, undefined, known(options, ['ifValue'], 'remove').ifValue)
  }

  removeRange (options) {
    return this.perform(asNumber, () => changeOfRange(this, options))
  }

  clear () {
    return this.perform(nothing, () => changeOf(this, CLEAR))
  }

  drop () {
    return this.perform(isDone, () => changeOf(this, DROP))
  }

  create () {
    return this.perform(nothing, () => changeOf(this, CREATE))
  }

  takeSequence (count = 1) {
    return this.perform(asNumber, () => {
      if (!Number.isSafeInteger(count) || count < 0) throw new TypeError('count is a whole number')
      memory.view.setBigUint64(0, BigInt(count), true)
      return new Change(SEQUENCE, 0, 0, 8, -1)
    })
  }
}

/** The same of a multimap, where a pair is put and removed. */
const multiWriting = Base => class extends writing(Base) {
  remove (key, value) {
    return this.perform(isDone, () => {
      if (value === undefined) throw new TypeError('remove wants a key and a value; see removeAll')
      return changeOf(this, REMOVE, key, value)
    })
  }

  removeAll (key) {
    return this.perform(asNumber, () => {
      if (key === undefined) throw new TypeError('removeAll wants a key')
      return changeOf(this, REMOVE, key)
    })
  }
}

/** The same of a write-optimised table, where changes do not look at what is there. */
const lsmWriting = Base => class extends Base {
  put (key, value, options) {
    const answer = options === undefined ? always : isDone
    return this.perform(answer, () => this.changeOfPut(key, value, options))
  }

  changeOfPut (key, value, options) {
    if (key === undefined || value === undefined) throw new TypeError('put wants a key and a value')
    if (options === undefined) return changeOf(this, PUT, key, value)
    const { until, ...conditions } = known(options, [...CONDITIONS, 'until'], 'put')
    const { what, expected } = howToPut(conditions, CONDITIONS)
    if (until === undefined) return changeOf(this, what, key, value, expected)
    if (what !== PUT || expected !== undefined) {
      throw new TypeError('a put with an end has no condition')
    }
    return this.#changeUntil(key, value, until)
  }

  /** The end lies where a condition would. */
  #changeUntil (key, value, until) {
    const time = typeof until === 'number' ? until : until?.getTime?.()
    if (!Number.isSafeInteger(time) || time < 0) {
      throw new TypeError('until is a Date, or milliseconds since 1970')
    }
    const change = changeOf(this, PUT_UNTIL, key, value)
    writeBytes(bytesOf(time), change.bytes)
    return new Change(PUT_UNTIL, 0, change.key, change.value, TIME_BYTES)
  }

  remove (key) {
    return this.perform(nothing, () => {
      if (key === undefined) throw new TypeError('remove wants a key')
      return changeOf(this, REMOVE, key)
    })
  }

  removeRange (options) {
    return this.perform(nothing, () => changeOfRange(this, options))
  }

  clear () {
    return this.perform(nothing, () => changeOf(this, CLEAR))
  }

  drop () {
    return this.perform(nothing, () => changeOf(this, DROP))
  }
}

const TIME_BYTES = 8

function bytesOf (time) {
  const bytes = Buffer.alloc(TIME_BYTES)
  bytes.writeBigUInt64LE(BigInt(time))
  return bytes
}

/** Does a change in a transaction. */
function now (reader, seat, make) {
  const { what, flags, key, value, expected, bytes } = make()
  const answer = done(native.write(seat, reader.table, what, flags, key, value, expected))
  if (bytes > LOAD_BYTES) shrink()
  return answer
}

/** In a transaction: each change is done at once. */
const inTransaction = Base => class extends Base {
  perform (answer, make) {
    return answer(now(this, this.source.seat, make))
  }

  putMany (records) {
    let count = 0
    for (const [key, value] of records) {
      this.put(key, value)
      count++
    }
    return count
  }
}

/** Outside: a change is done with all others of the tick, and promised. */
const onItsOwn = Base => class extends Base {
  perform (answer, make) {
    const txn = this.source.ambient
    if (txn === null) return this.source.enqueue(this, answer, make)
    try {
      return Promise.resolve(answer(now(this, txn.seat, make)))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** All of them, or none. */
  async putMany (records) {
    const { ambient } = this.source
    if (ambient !== null) return ambient.of(this.named).putMany(records)
    const all = Array.from(records, ([key, value]) => [this, () => this.changeOfPut(key, value)])
    await this.source.enqueueAll(all)
    return all.length
  }

  putSync (key, value, options) {
    return this.source.transactionSync(txn => txn.of(this.named).put(key, value, options))
  }

  removeSync (...args) {
    return this.source.transactionSync(txn => txn.of(this.named).remove(...args))
  }
}

class Table extends onItsOwn(writing(Reader)) {}
class Multimap extends onItsOwn(multiWriting(MultiReader)) {}

class LsmTable extends onItsOwn(lsmWriting(LsmReader)) {
  /** What it consists of, and what it has cost. */
  stat () {
    return report(this.source.askFor((env, job) => rare.lsmStat(env, job, this.table)))
  }

  /** Reads every run. */
  check () {
    return report(this.source.askFor((env, job) => rare.lsmCheck(env, job, this.table)))
  }

  /** Merges its runs on another thread; how many steps that took. */
  compact (options) {
    return this.source.compactLsm({ ...options, table: this.name })
  }
}
class LsmInTransaction extends inTransaction(lsmWriting(LsmReader)) {}
class MultimapInTransaction extends inTransaction(multiWriting(MultiReader)) {}

class TableInTransaction extends inTransaction(writing(Reader)) {
  /** Puts records, in the order of their keys, behind all that are there: the fastest way. */
  load (records) {
    let count = 0
    let packed = []
    let bytes = 0
    const flush = () => {
      const all = Buffer.concat(packed, bytes)
      this.#load(all)
      packed = []
      bytes = 0
    }
    for (const [key, value] of records) {
      const record = this.#record(key, value)
      packed.push(record)
      bytes += record.length
      count++
      if (bytes >= LOAD_BYTES) flush()
    }
    if (bytes > 0) flush()
    return count
  }

  #record (key, value) {
    const given = this.values.prepare(value)
    const keyEnd = this.keys.write(key, 8)
    const end = this.values.write(given, keyEnd)
    memory.view.setUint32(0, keyEnd - 8, true)
    memory.view.setUint32(4, end - keyEnd, true)
    return Buffer.from(memory.input.subarray(0, end))
  }

  #load (packed) {
    return done(native.load(this.source.seat, this.table, packed.length, packed))
  }
}

/** The classes of a kind of tables: outside of transactions, in one that writes, to read. */
const CLASSES = [
  { Outside: Table, Inside: TableInTransaction, Reading: Reader },
  { Outside: Multimap, Inside: MultimapInTransaction, Reading: MultiReader },
  { Outside: LsmTable, Inside: LsmInTransaction, Reading: LsmReader }
]

module.exports = { always, REMOVE, KINDS, CLASSES }
