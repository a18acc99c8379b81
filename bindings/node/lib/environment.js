'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')

const { native, rare, memory, done, ask, shrink } = require('./native')
const { HuonError, misuse, known } = require('./errors')
const { keyEncoding } = require('./keys')
const { valueEncoding } = require('./values')
const { always, Table, Multimap, REMOVE } = require('./table')
const { ReadTransaction, WriteTransaction } = require('./transaction')

const OPTIONS = [
  'readOnly', 'create', 'exclusive', 'durability', 'pageBytes', 'minBytes', 'maxBytes', 'mapBytes',
  'growBytes', 'shrinkBytes', 'writeBufferBytes', 'journalBytes', 'flushAfterBytes', 'flushAfter',
  'lockTimeout', 'mode', 'verify', 'readAhead', 'syncTimeout'
]
const TABLE_OPTIONS = ['keyEncoding', 'valueEncoding', 'order']
const ORDERS = ['bytes', 'reversed', 'uint32', 'uint64', 'stored']
/** How long keys are in these orders, where all are. */
const KEY_BYTES = [0, 0, 4, 8, 0]

/** How long synchronous writers wait for others, in milliseconds, unless told otherwise. */
const SYNC_TIMEOUT = 5000
/** How long all others wait. */
const LOCK_TIMEOUT = 3_600_000
const TIMER_MAX = 2 ** 31 - 1

/** Numbers before the bytes of a packed change, and where a batch is full and another begins. */
const HEAD_BYTES = 24
const BATCH_BYTES = 1 << 30
const SPARE_BYTES_MAX = 1 << 20
const NONE = 0xffffffff
const VALUE_BYTES_MAX = 0x7ff00000

/** Added to what a change is: it makes a group with the next; its answer is always the same. */
const TOGETHER = 0x80000000
const PLAIN = 0x40000000

/** Changes, packed one behind another. */
class Packed {
  /** `bytes`: memory to begin with. */
  constructor (bytes) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer)
    this.used = 0
    this.count = 0
    /** Where the last one begins. */
    this.last = 0
  }

  /** `bits` are added to what the change is. */
  add (table, change, bits) {
    const end = this.used + HEAD_BYTES + change.bytes
    if (end > this.bytes.length) this.#grow(end)
    const { view, used } = this
    view.setUint32(used, change.what | bits, true)
    view.setUint32(used + 4, table, true)
    view.setUint32(used + 8, change.flags, true)
    view.setUint32(used + 12, change.key, true)
    view.setUint32(used + 16, change.value < 0 ? NONE : change.value, true)
    view.setUint32(used + 20, change.expected < 0 ? NONE : change.expected, true)
    memory.input.copy(this.bytes, used + HEAD_BYTES, 0, change.bytes)
    this.last = used
    this.used = end
    return this.count++
  }

  /** Takes over a group; the place of its first change. */
  addAll (group) {
    // It is no group with what comes behind.
    group.view.setUint32(group.last, group.view.getUint32(group.last, true) & ~TOGETHER, true)
    const end = this.used + group.used
    if (end > this.bytes.length) this.#grow(end)
    group.bytes.copy(this.bytes, this.used, 0, group.used)
    this.used = end
    this.count += group.count
    return this.count - group.count
  }

  #grow (bytes) {
    const { bytes: old } = this
    this.bytes = Buffer.allocUnsafeSlow(Math.max(bytes, old.length * 2))
    this.view = new DataView(this.bytes.buffer)
    old.copy(this.bytes, 0, 0, this.used)
  }
}

/** Writes that are one transaction. */
class Batch extends Packed {
  /** By the number of a table, the promise of all its changes that have nothing to answer. */
  #plain = []

  constructor (bytes) {
    super(bytes)
    this.isLined = false
    this.isWanted = false
    this.answers = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Writes have promises of their own, which their callers look after.
    this.answers.catch(() => {})
  }

  /** Puts a change in; the promise of what `answer` makes of its answer. */
  enqueue (table, answer, change) {
    if (answer === always) {
      this.add(table, change, PLAIN)
      this.#plain[table] ??= this.answers.then(answers => {
        const refused = answers?.find(one => typeof one !== 'number' && one[2] === table)
        return refused === undefined ? true : accepted(refused)
      })
      return this.#plain[table]
    }
    this.isWanted = true
    const at = this.add(table, change, 0)
    return this.answers.then(answers => answer(accepted(answers[at])))
  }

  enqueueAll (group) {
    const at = this.addAll(group)
    return this.answers.then(answers => { if (answers !== undefined) accepted(answers[at]) })
  }
}

/** What a change answers, or the error with which it was refused. */
function accepted (answer) {
  if (typeof answer === 'number') return answer
  throw new HuonError(answer[0], answer[1])
}

/** How a program has named a table. */
class Named {
  constructor (env, name, isMulti, options) {
    const { keyEncoding: keys, valueEncoding: values, order = 'bytes' } = options
    this.name = name
    this.isMulti = isMulti
    this.keys = keyEncoding(keys)
    // Values of a multimap are in order, so their encoding has one.
    this.values = valueEncoding(values ?? (isMulti ? 'ordered' : 'msgpack'))
    this.order = ORDERS.indexOf(order)
    if (this.order < 0) throw new TypeError(`no order: ${order}; there are ${ORDERS.join(', ')}`)
  }
}

/** An open environment. */
class Environment {
  #env
  #newest
  #batch = null
  /** Memory for the next batch. */
  #spare = null
  #jobs = []
  #isRunning = false
  #isClosing = false
  #closed = null
  #storage = null
  #named = new Map()
  #options
  #keyBytesMax
  /** The write transaction that is open, if it is not forgotten. */
  #held = null
  /** Resolves when it has ended. */
  #ended = null
  /** Another thread waits for the writer lock, and will give it to this one. */
  #isAsking = false
  /** What other threads are to do, and have not done. */
  #asked = new Set()
  /** The program has to end the one that all others wait for. */
  #isHeldByHand = false

  constructor (path, options) {
    const { syncTimeout = SYNC_TIMEOUT, ...native } = known(options, OPTIONS, 'open')
    this.path = path
    this.#options = { ...native, syncTimeout }
    this.#env = rare.open(path, native)
    this.#newest = rare.newest(this.#env)
    this.#keyBytesMax = rare.keyBytesMax(this.#env)
    /** The write transaction in which work of the program runs, if any does. */
    this.writing = null
  }

  get isClosed () { return this.#isClosing }
  get isReadOnly () { return this.#options.readOnly === true }
  get keyBytesMax () { return this.#keyBytesMax }

  #check () {
    if (this.#isClosing) throw misuse('the environment is closed')
  }

  // What tables ask of their source.

  get seat () {
    const txn = this.ambient
    return txn === null ? this.#newest : txn.seat
  }

  get isNewest () { return this.ambient === null }

  sequenceOf (table) {
    return rare.sequence(this.seat, table)
  }

  /** The transaction that the code which runs belongs to. */
  get ambient () {
    const { writing } = this
    if (writing === null) return null
    return writing.isSync || this.#storage?.getStore() === writing ? writing : null
  }

  // Tables.

  table (name, options) {
    return this.#table(name, options, false)
  }

  multimap (name, options) {
    return this.#table(name, options, true)
  }

  #table (name, options, isMulti) {
    // Closing waits for work.
    if (this.ambient === null) this.#check()
    const Kind = isMulti ? Multimap : Table
    const named = this.named(name, options, isMulti)
    // One of another kind is refused now, and not when it is written.
    rare.openTable(this.seat, name, isMulti, named.order)
    return new Kind(this, named)
  }

  /** What a name and options mean. With a seat the table must be there. */
  named (name, options, isMulti, seat) {
    if (typeof name !== 'string') throw new TypeError('a table has a string for a name')
    const given = known(options, TABLE_OPTIONS, isMulti ? 'multimap' : 'table')
    const kept = `${isMulti} ${name}`
    if (options === undefined && seat === undefined && this.#named.has(kept)) {
      return this.#named.get(kept)
    }
    const named = new Named(this, name, isMulti, given)
    named.number = seat === undefined
      ? rare.table(this.#env, name, isMulti, named.order)
      : rare.openTable(seat, name, isMulti, named.order)
    if (named.number < 0) {
      throw new HuonError('TableNotFound', `there is no table ${JSON.stringify(name)}`)
    }
    if (seat === undefined) this.#named.set(kept, named)
    return named
  }

  tables () {
    return rare.tables(this.seat)
  }

  hasTable (name) {
    return this.tables().includes(name)
  }

  // Writes of a tick.

  /** Has a change of a table done with all others of the tick; `make` writes it into the input. */
  enqueue ({ named }, answer, make) {
    try {
      const change = this.#made(named, make)
      const batch = this.#batch ?? this.#begin()
      const promise = batch.enqueue(named.number, answer, change)
      if (batch.used > BATCH_BYTES) this.#flush()
      if (change.bytes > 1 << 20) shrink()
      return promise
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Has changes done, or none of them: pairs of a table and what makes one. */
  async enqueueAll (changes) {
    const group = new Packed(Buffer.allocUnsafeSlow(4096))
    for (const [{ named }, make] of changes) {
      group.add(named.number, this.#made(named, make), TOGETHER)
    }
    shrink()
    if (group.count === 0) return
    if (this.#batch !== null && this.#batch.used + group.used > BATCH_BYTES) this.#flush()
    const batch = this.#batch ?? this.#begin()
    const promise = batch.enqueueAll(group)
    if (batch.used > BATCH_BYTES) this.#flush()
    await promise
  }

  /** A change whose bytes are in the input. */
  #made (named, make) {
    this.#check()
    if (this.isReadOnly) throw new HuonError('ReadOnly', 'the environment was opened read-only')
    const change = make()
    this.#checkLengths(named, change)
    return change
  }

  /** What can be refused here is not done and undone there. */
  #checkLengths ({ isMulti, order }, { what, key, value }) {
    if (what > REMOVE) return
    const max = this.#keyBytesMax
    if (what !== REMOVE && key > max) throw tooLong('KeyTooLong', 'the key', key, max)
    if (isMulti && value > max) throw tooLong('SortedValueTooLong', 'the value', value, max)
    if (value > VALUE_BYTES_MAX) throw tooLong('ValueTooLong', 'the value', value, VALUE_BYTES_MAX)
    const length = KEY_BYTES[order]
    if (length > 0 && key !== length) {
      throw new HuonError('KeyLength', `keys of this table have ${length} bytes`)
    }
  }

  #begin () {
    const batch = new Batch(this.#spare ?? Buffer.allocUnsafeSlow(4096))
    this.#spare = null
    this.#batch = batch
    setImmediate(() => this.#line(batch))
    return batch
  }

  /** Queues a batch at the end of its tick. If it has to wait, it goes on taking writes. */
  #line (batch) {
    if (batch.isLined) return
    batch.isLined = true
    if (!this.#isRunning) this.#batch = null
    this.#enter(() => this.#submit(batch), error => {
      if (this.#batch === batch) this.#batch = null
      batch.reject(error)
    })
  }

  /** Has the batch take no more: what follows comes behind it. */
  #flush () {
    if (this.#batch === null) return
    this.#line(this.#batch)
    this.#batch = null
  }

  async #submit (batch) {
    if (this.#batch === batch) {
      // All writes of this tick are to be together.
      await new Promise(setImmediate)
      if (this.#batch === batch) this.#batch = null
    }
    try {
      batch.resolve(await ask(job => {
        done(native.submit(this.#env, job, batch.used, batch.bytes, batch.isWanted ? 1 : 0))
        // They were copied: the next batch may have the memory.
        if (batch.bytes.length <= SPARE_BYTES_MAX) this.#spare = batch.bytes
      }))
    } catch (error) {
      batch.reject(error)
    }
  }

  /** Runs `job`, which fails never, behind all others. */
  #enter (run, refuse) {
    const job = { run, refuse, timer: undefined }
    this.#jobs.push(job)
    if (!this.#isRunning) this.#next()
    else if (this.#isHeldByHand) this.#watch(job)
  }

  async #next () {
    this.#isRunning = true
    while (this.#jobs.length > 0) await this.#jobs.shift().run()
    this.#isRunning = false
  }

  /** Refuses a job, if a transaction that the program has to end itself lasts too long. */
  #watch (job) {
    const { lockTimeout = LOCK_TIMEOUT } = this.#options
    job.timer = setTimeout(() => {
      this.#jobs.splice(this.#jobs.indexOf(job), 1)
      job.refuse(new HuonError('Busy', 'a write transaction of this environment is open'))
    }, Math.min(lockTimeout, TIMER_MAX))
  }

  /** What runs in a transaction would wait for itself. */
  #checkOutside () {
    if (this.ambient !== null) throw misuse('a transaction is open here, for which this would wait')
  }

  /** Behind all writes so far. */
  async #behindAll () {
    this.#checkOutside()
    this.#flush()
    if (!this.#isRunning) return
    await new Promise((resolve, reject) => this.#enter(async () => resolve(), reject))
  }

  /** Resolves when all writes so far are visible. */
  get committed () {
    return this.#behindAll()
  }

  /** Resolves when all writes so far are durable. */
  get flushed () {
    return this.#allFlushed()
  }

  async #allFlushed () {
    this.#check()
    await this.#behindAll()
    // It may be closing by now, behind this.
    await this.#ask(job => rare.sync(this.#env, job))
  }

  // Transactions.

  /** A snapshot. */
  read () {
    this.#check()
    return new ReadTransaction(this, rare.beginRead(this.#env))
  }

  /** Runs `work` with a snapshot, which ends with it. */
  view (work) {
    const txn = this.read()
    let result
    try {
      result = work(txn)
    } catch (error) {
      txn.end()
      throw error
    }
    if (typeof result?.then === 'function') {
      return Promise.resolve(result).finally(() => txn.end())
    }
    txn.end()
    return result
  }

  /** Begins the write transaction behind all writes so far. */
  async write () {
    return this.#write(false)
  }

  /** `isOfWork`: some work will end it, for which closing waits. */
  #write (isOfWork) {
    this.#check()
    if (this.ambient !== null) throw misuse('a transaction is open here: nest in it')
    this.#flush()
    const asked = { isOfWork }
    const begun = new Promise((resolve, reject) => Object.assign(asked, { resolve, reject }))
    this.#enter(() => this.#waitForEnd(asked), asked.reject)
    return begun
  }

  /** Begins a write transaction, and waits until it has ended. */
  async #waitForEnd (asked) {
    try {
      if (!asked.isOfWork) this.#check()
      this.#give(await this.#seatToWrite(), asked)
    } catch (error) {
      asked.reject(error)
      return
    }
    await this.#ended
  }

  /** Gives it to its caller, and keeps nothing by which it could be reached. */
  #give (seat, asked) {
    const txn = this.#hold(seat)
    txn.isOfWork = asked.isOfWork
    this.#isHeldByHand = !asked.isOfWork
    if (this.#isHeldByHand) for (const job of this.#jobs) this.#watch(job)
    asked.resolve(txn)
    asked.resolve = asked.reject = null
  }

  async #seatToWrite () {
    try {
      return rare.beginWrite(this.#env, 0)
    } catch (error) {
      if (error.code !== 'Busy') throw error
    }
    this.#isAsking = true
    try {
      return await ask(job => rare.beginWriteLater(this.#env, job))
    } finally {
      this.#isAsking = false
    }
  }

  #hold (seat) {
    let left
    this.#ended = new Promise(resolve => { left = resolve })
    const txn = new WriteTransaction(this, seat, () => {
      this.#held = null
      this.#isHeldByHand = false
      for (const { timer } of this.#jobs) clearTimeout(timer)
      left()
    })
    this.#held = new WeakRef(txn)
    return txn
  }

  /** Begins it now, or throws `Busy`. */
  writeSync (options) {
    this.#check()
    const { timeout = this.#options.syncTimeout } = known(options, ['timeout'], 'writeSync')
    if (this.#held !== null) {
      throw new HuonError('Busy', 'a write transaction of this environment is open')
    }
    // The lock that is asked for may be held already, for a time when this thread does not wait.
    return this.#hold(rare.beginWrite(this.#env, this.#isAsking ? 0 : timeout))
  }

  /** Runs `work` in a write transaction: commits what it did, or undoes all if it throws. */
  async transaction (work, options) {
    const { durability } = known(options, ['durability'], 'transaction')
    const outer = this.ambient
    if (outer !== null) return outer.nested(work)
    const txn = await this.#write(true)
    this.#storage ??= new AsyncLocalStorage()
    this.writing = txn
    try {
      const result = await this.#storage.run(txn, work, txn)
      this.writing = null
      if (!txn.isEnded) await txn.commit({ durability })
      return result
    } catch (error) {
      txn.abort()
      throw error
    } finally {
      // Behind a commit it may be another one.
      if (this.writing === txn) this.writing = null
    }
  }

  /** The same at once, for a `work` that is synchronous. */
  transactionSync (work, options) {
    const { durability, timeout } = known(options, ['durability', 'timeout'], 'transactionSync')
    const outer = this.ambient
    if (outer !== null) return synchronous(outer.nested(work))
    const txn = this.writeSync(timeout === undefined ? undefined : { timeout })
    txn.isSync = true
    this.writing = txn
    try {
      const result = synchronous(work(txn))
      this.writing = null
      if (!txn.isEnded) txn.commitSync({ durability })
      return result
    } catch (error) {
      txn.abort()
      throw error
    } finally {
      this.writing = null
    }
  }

  // Care.

  /** Has a thread of its own do something that takes long. */
  #ask (begin) {
    const answer = ask(begin)
    this.#asked.add(answer)
    const forget = () => { this.#asked.delete(answer) }
    answer.then(forget, forget)
    return answer
  }

  /** Flushes all commits: the newest one that is durable then. */
  async sync () {
    this.#check()
    return this.#ask(job => rare.sync(this.#env, job))
  }

  get durableId () {
    this.#check()
    return rare.durableId(this.#env)
  }

  info () {
    this.#check()
    return camel(JSON.parse(rare.info(this.#env)))
  }

  async stat () {
    this.#check()
    return report(this.#ask(job => rare.stat(this.#env, job)))
  }

  async check () {
    this.#check()
    return report(this.#ask(job => rare.check(this.#env, job)))
  }

  async copyTo (path, options) {
    this.#check()
    const { compact = false } = known(options, ['compact'], 'copyTo')
    return report(this.#ask(job => rare.copyTo(this.#env, job, path, compact)))
  }

  async compact (options) {
    this.#check()
    this.#checkOutside()
    const { target, timeLimit } = known(options, ['target', 'timeLimit'], 'compact')
    return report(this.#ask(job => rare.compact(this.#env, job, target, timeLimit)))
  }

  /** The id of the newest snapshot. */
  get id () {
    return rare.id(this.#newest)
  }

  /** The id of a commit after that of `after`, by any thread or process; undefined if none came. */
  async waitForCommit (options) {
    this.#check()
    const { after = this.id, timeout = Infinity } =
      known(options, ['after', 'timeout'], 'waitForCommit')
    return this.#ask(job => rare.waitForCommit(this.#env, job, after, timeout))
  }

  /** The ids of commits as they come, newest ones only, until the environment is closed. */
  async * commits (options) {
    let { after = this.id } = known(options, ['after'], 'commits')
    while (!this.#isClosing) {
      const id = await this.waitForCommit({ after })
      if (id === undefined) return
      after = id
      yield id
    }
  }

  /** Closes it behind all writes so far. Transactions that are open are undone. */
  close () {
    if (this.#closed !== null) return this.#closed
    if (this.ambient !== null) return Promise.reject(misuse('a transaction is open here'))
    this.#closed = this.#close()
    return this.#closed
  }

  async #close () {
    const behind = this.#behindAll()
    this.#isClosing = true
    // What the program would have to end itself it may want to end behind this.
    const held = this.#held?.deref()
    if (held?.isOfWork === false) held.abort()
    await behind
    // One that is being committed, and was not begun behind others.
    if (this.#held?.deref() !== undefined) await this.#ended
    await ask(job => rare.close(this.#env, job))
    // It stays open for what other threads do with it.
    await Promise.allSettled(this.#asked)
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')] () {
    await this.close()
  }
}

const tooLong = (code, what, bytes, max) =>
  new HuonError(code, `${what} has ${bytes} bytes, and at most ${max} are possible`)

function synchronous (result) {
  if (typeof result?.then === 'function') {
    result.then(undefined, () => {})
    throw new TypeError('transactionSync wants a function that is synchronous')
  }
  return result
}

const report = async text => camel(JSON.parse(await text))

/** The names of a report as JavaScript writes them. */
function camel (item) {
  if (Array.isArray(item)) return item.map(camel)
  if (item === null || typeof item !== 'object') return item
  const named = ([name, value]) =>
    [name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()), camel(value)]
  return Object.fromEntries(Object.entries(item).map(named))
}

module.exports = { Environment }
