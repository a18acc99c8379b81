'use strict'

// A database of the `level` family over a table of Huon.

const fs = require('node:fs')
const path = require('node:path')

const { AbstractLevel, AbstractIterator, AbstractSnapshot } = require('abstract-level')
const { open, openInMemory } = require('.')

const BOUNDS = ['gt', 'gte', 'lt', 'lte']
/** What an encoding of abstract-level is called here. */
const ENCODINGS = { buffer: 'binary', utf8: 'string' }

class HuonLevel extends AbstractLevel {
  #location
  #table
  #options
  #env = null
  /** The table as each pair of encodings reads it. */
  #tables = null

  /** `location` is the path of a file; without one it is in memory. */
  constructor (location, options = {}) {
    const { table = 'level', huon = {}, ...rest } = options
    super({
      encodings: { buffer: true, utf8: true },
      createIfMissing: true,
      errorIfExists: true,
      permanence: true,
      seek: true,
      has: true,
      getSync: true,
      implicitSnapshots: true,
      explicitSnapshots: true
    }, rest)
    this.#location = location
    this.#table = table
    // As in LevelDB, writes are durable where `sync` is asked for.
    this.#options = { durability: 'lazy', ...huon }
  }

  get location () { return this.#location }
  /** The environment, while it is open. */
  get env () { return this.#env }

  async _open ({ createIfMissing, errorIfExists }) {
    if (this.#location === undefined) {
      this.#env = openInMemory(this.#options)
    } else {
      if (errorIfExists && fs.existsSync(this.#location)) {
        throw new Error(`${this.#location} exists`)
      }
      if (createIfMissing) fs.mkdirSync(path.dirname(this.#location), { recursive: true })
      else if (!fs.existsSync(this.#location)) throw new Error(`${this.#location} does not exist`)
      this.#env = open(this.#location, { ...this.#options, create: createIfMissing })
    }
    try {
      this.#tables = {}
      for (const [keys, keyEncoding] of Object.entries(ENCODINGS)) {
        for (const [values, valueEncoding] of Object.entries(ENCODINGS)) {
          this.#tables[keys + values] =
            this.#env.table(this.#table, { keyEncoding, valueEncoding })
        }
      }
    } catch (error) {
      await this._close()
      throw error
    }
  }

  async _close () {
    await this.#env.close()
    this.#env = null
    this.#tables = null
  }

  #at ({ keyEncoding = 'buffer', valueEncoding = 'buffer' }) {
    return this.#tables[keyEncoding + valueEncoding]
  }

  /** The table as its reader wants it: in a snapshot, if one is given. */
  #reader (options) {
    const table = this.#at(options)
    return options.snapshot === undefined ? table : options.snapshot.txn.table(table)
  }

  async #written (changes, { sync = false }) {
    await changes
    if (sync) await this.#env.sync()
  }

  _getSync (key, options) {
    return this.#reader(options).get(key)
  }

  async _get (key, options) {
    return this._getSync(key, options)
  }

  async _getMany (keys, options) {
    return this.#reader(options).getMany(keys)
  }

  async _has (key, options) {
    return this.#reader(options).has(key)
  }

  async _hasMany (keys, options) {
    const of = txn => keys.map(key => txn.table(this.#at(options)).has(key))
    return options.snapshot === undefined ? this.#env.view(of) : of(options.snapshot.txn)
  }

  async _put (key, value, options) {
    await this.#written(this.#at(options).put(key, value), options)
  }

  async _del (key, options) {
    await this.#written(this.#at(options).remove(key), options)
  }

  async _batch (operations, options) {
    const changes = operations.map(({ type, key, value, ...how }) => {
      const table = this.#at(how)
      const make = () => type === 'put' ? table.changeOfPut(key, value) : table.changeOfRemove(key)
      return [table, make]
    })
    await this.#written(this.#env.enqueueAll(changes), options)
  }

  async _clear (options) {
    const table = this.#at(options)
    const { limit, reverse, snapshot } = options
    if (limit === -1 && snapshot === undefined) {
      await table.removeRange(bounds(options))
      return
    }
    const doomed = this.#reader(options).keysOnly({ ...bounds(options), limit, reverse })
    await Promise.all(doomed.map(key => table.remove(key)).toArray())
  }

  _snapshot (options) {
    return new HuonSnapshot(options, this.#env.read())
  }

  _iterator (options) {
    const { snapshot } = options
    const txn = snapshot === undefined ? this.#env.read() : snapshot.txn
    return new HuonIterator(this, options, txn.table(this.#at(options)),
      snapshot === undefined ? txn : null)
  }
}

/** The bounds of a range, of which those that include count more. */
function bounds (options) {
  const all = {}
  for (const name of BOUNDS) if (options[name] !== undefined) all[name] = options[name]
  if (all.gte !== undefined) delete all.gt
  if (all.lte !== undefined) delete all.lt
  return all
}

/** Whether a key is on the right side of a bound. */
function holds (name, key, bound) {
  const order = Buffer.compare(Buffer.from(key), Buffer.from(bound))
  switch (name) {
    case 'gt': return order > 0
    case 'gte': return order >= 0
    case 'lt': return order < 0
    default: return order <= 0
  }
}

class HuonSnapshot extends AbstractSnapshot {
  constructor (options, txn) {
    super(options)
    this.txn = txn
  }

  async _close () {
    this.txn.end()
  }
}

class HuonIterator extends AbstractIterator {
  #reader
  #own
  #options
  #records

  /** `own` is the snapshot to end with it, if that is its own. */
  constructor (db, options, reader, own) {
    super(db, options)
    this.#reader = reader
    this.#own = own
    this.#options = { ...bounds(options), reverse: options.reverse }
    this.#records = reader.range(this.#options)[Symbol.iterator]()
  }

  #entry () {
    const { done, value } = this.#records.next()
    return done ? undefined : [value.key, value.value]
  }

  async _next () {
    return this.#entry()
  }

  async _nextv (size) {
    const entries = []
    while (entries.length < size) {
      const entry = this.#entry()
      if (entry === undefined) break
      entries.push(entry)
    }
    return entries
  }

  async _all () {
    return this._nextv(this.limit < 0 ? Infinity : this.limit - this.count)
  }

  /** Outside of its range it is at its end. */
  _seek (target) {
    const { reverse, ...bounds } = this.#options
    const isWithin = Object.entries(bounds).every(([name, bound]) => holds(name, target, bound))
    const [from, drop] = reverse ? ['lte', 'lt'] : ['gte', 'gt']
    const rest = { ...this.#options, [from]: target }
    delete rest[drop]
    this.#records = (isWithin ? this.#reader.range(rest) : [])[Symbol.iterator]()
  }

  async _close () {
    this.#own?.end()
  }
}

module.exports = { HuonLevel }
