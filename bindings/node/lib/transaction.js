'use strict'

const { rare, ask } = require('./native')
const { misuse, known } = require('./errors')
const { KINDS, CLASSES } = require('./table')

/** A number that is no seat. */
const ENDED = Number.MAX_SAFE_INTEGER

/** Transactions that a program has forgotten. */
const forgotten = new FinalizationRegistry(end => end())

/** What both kinds of transactions have. */
class Transaction {
  #of = new Map()

  constructor (env, seat) {
    this.env = env
    this.seat = seat
  }

  get isNewest () { return false }
  get isEnded () { return this.seat === ENDED }
  get id () { return rare.id(this.seat) }

  /** Names of the tables that it shows. */
  tables () {
    return rare.tables(this.seat)
  }

  hasTable (name) {
    return this.tables().includes(name)
  }

  /** The same of write-optimised tables. */
  lsmTables () {
    return rare.lsmTables(this.seat)
  }

  /** A table: one of the environment, or by its name. */
  table (table, options) {
    return this.#find(table, options, KINDS.table)
  }

  multimap (table, options) {
    return this.#find(table, options, KINDS.multimap)
  }

  lsmTable (table, options) {
    return this.#find(table, options, KINDS.lsm)
  }

  /** A table that must be there. */
  openTable (name, options) {
    return this.of(this.env.named(name, options, KINDS.table, this.seat))
  }

  openMultimap (name, options) {
    return this.of(this.env.named(name, options, KINDS.multimap, this.seat))
  }

  openLsmTable (name, options) {
    return this.of(this.env.named(name, options, KINDS.lsm, this.seat))
  }

  #find (table, options, kind) {
    if (typeof table === 'string') return this.of(this.env.named(table, options, kind))
    if (table?.source !== this.env || table.named.kind !== kind) {
      const what = ['table', 'multimap', 'write-optimised table'][kind]
      throw misuse(`no ${what} of this environment`)
    }
    return this.of(table.named)
  }

  /** What reads and writes a table here. */
  of (named) {
    let found = this.#of.get(named)
    if (found === undefined) {
      found = this.make(named)
      this.#of.set(named, found)
    }
    return found
  }

  sequenceOf (table) {
    return rare.sequence(this.seat, table)
  }
}

/** A snapshot of all tables. */
class ReadTransaction extends Transaction {
  constructor (env, seat) {
    super(env, seat)
    forgotten.register(this, () => rareEnd(seat), this)
  }

  make (named) {
    return new CLASSES[named.kind].Reading(this, named)
  }

  /** Moves on to the newest snapshot; whether there was a newer one. */
  renew () {
    return rare.renew(this.seat)
  }

  /** Lets a writer that needs its pages have them; `unpark` tells whether one did. */
  park () {
    this.#move(() => rare.park(this.seat))
  }

  unpark () {
    this.#move(() => rare.unpark(this.seat))
  }

  /** What fails without being misuse has lost the snapshot. */
  #move (f) {
    try {
      f()
    } catch (error) {
      if (error.code !== 'Misuse') this.end()
      throw error
    }
  }

  /** Ends it; it may have ended. */
  end () {
    if (this.isEnded) return
    forgotten.unregister(this)
    const { seat } = this
    this.seat = ENDED
    rareEnd(seat)
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')] () {
    this.end()
  }
}

/** Ends what has a seat, unless it went with its environment. */
function rareEnd (seat) {
  try { rare.end(seat) } catch {}
}

/** The one transaction that may change things. */
class WriteTransaction extends Transaction {
  #left
  #savepoints = 0
  #open = []

  /** `left` is called when it has ended. */
  constructor (env, seat, left) {
    super(env, seat)
    this.#left = left
    /** Whatever code runs belongs to it. */
    this.isSync = false
    /** Work will end it. */
    this.isOfWork = false
    forgotten.register(this, () => {
      rareEnd(seat)
      left()
    }, this)
  }

  make (named) {
    return new CLASSES[named.kind].Inside(this, named)
  }

  /** Ends it; `seat` may be taken. */
  #leave (seat) {
    forgotten.unregister(this)
    rareEnd(seat)
    this.seat = ENDED
    this.#left()
  }

  #check () {
    if (this.isEnded) throw misuse('the transaction has ended')
    if (this.#open.length > 0) throw misuse('a nested transaction is open')
  }

  /** Commits on another thread; the id of the new snapshot. */
  async commit (options) {
    this.#check()
    const { durability } = known(options, ['durability'], 'commit')
    const { seat } = this
    const committed = ask(job => rare.commit(seat, job, durability))
    // It is no longer for changes, and ends when that is done.
    this.seat = ENDED
    try {
      return await committed
    } finally {
      this.#leave(seat)
    }
  }

  commitSync (options) {
    this.#check()
    const { durability } = known(options, ['durability'], 'commit')
    const { seat } = this
    try {
      return rare.commitSync(seat, durability)
    } finally {
      this.#leave(seat)
    }
  }

  /** Commits on another thread, and does not wait until that is durable: a ticket for that. */
  async commitTicket () {
    this.#check()
    const { seat } = this
    const committed = ask(job => rare.commitTicket(seat, job))
    this.seat = ENDED
    try {
      return new Ticket(this.env, await committed)
    } finally {
      this.#leave(seat)
    }
  }

  commitTicketSync () {
    this.#check()
    const { seat } = this
    try {
      return new Ticket(this.env, rare.commitTicketSync(seat))
    } finally {
      this.#leave(seat)
    }
  }

  /** Undoes all of it; it may have ended. */
  abort () {
    if (this.isEnded) return
    this.#leave(this.seat)
  }

  /** Names the snapshot from which it goes on, once it is committed; which one that is. */
  nameSnapshot (name) {
    return JSON.parse(rare.nameSnapshotIn(this.seat, name))
  }

  /** Takes its name away from a snapshot; whether there was one. */
  dropSnapshot (name) {
    return rare.dropSnapshotIn(this.seat, name)
  }

  /** A point to go back to: the newest one first. */
  savepoint () {
    if (this.isEnded) throw misuse('the transaction has ended')
    const name = String(++this.#savepoints)
    rare.savepoint(this.seat, name)
    return new Savepoint(this, this.#open, name)
  }

  /** Runs `work`, of which an error undoes all that it did. */
  nested (work) {
    const savepoint = this.savepoint()
    const failed = error => {
      // Savepoints that were set later and left open go with it.
      if (!this.isEnded) savepoint.undo()
      throw error
    }
    let result
    try {
      result = work(this)
    } catch (error) {
      return failed(error)
    }
    if (typeof result?.then === 'function') {
      return result.then(value => { savepoint.release(); return value }, failed)
    }
    savepoint.release()
    return result
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')] () {
    this.abort()
  }
}

class Savepoint {
  #txn
  #open
  #name

  constructor (txn, open, name) {
    this.#txn = txn
    this.#open = open
    this.#name = name
    open.push(name)
  }

  #checkNewest () {
    if (this.#open.at(-1) === this.#name) return
    const is = this.#open.includes(this.#name) ? 'is not the newest one' : 'has ended'
    throw misuse(`the savepoint ${is}`)
  }

  /** Keeps what was done since. */
  release () {
    this.#checkNewest()
    this.#open.pop()
    rare.release(this.#txn.seat, this.#name)
  }

  /** Undoes what was done since. */
  rollBack () {
    this.#checkNewest()
    this.undo()
  }

  /** The same with all that were set later; nothing if it has ended. */
  undo () {
    const at = this.#open.indexOf(this.#name)
    if (at < 0) return
    this.#open.length = at
    rare.rollBackTo(this.#txn.seat, this.#name)
    rare.release(this.#txn.seat, this.#name)
  }
}

/** A commit whose durability can be waited for. */
class Ticket {
  #env
  #seat

  constructor (env, seat) {
    this.#env = env
    this.#seat = seat
    /** The id of the snapshot that the commit made. */
    this.id = rare.id(seat)
    forgotten.register(this, () => rareEnd(seat))
  }

  /** Whether no power loss can take the commit away any more. */
  get isDurable () {
    return rare.isDurable(this.#seat)
  }

  /** Resolves when that is so. What flushes for it goes on behind a signal. */
  async wait (options) {
    const { signal } = known(options, ['signal'], 'wait')
    await this.#env.askFor((env, job) => rare.waitForTicket(env, job, this.#seat), { signal })
  }
}

module.exports = { ReadTransaction, WriteTransaction, Ticket }
