'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')

const { native, rare, memory, done, ask, stayFor, shrink } = require('./native')
const { HuonError, misuse, known } = require('./errors')
const { keyEncoding } = require('./keys')
const { valueEncoding } = require('./values')
const { checkSignal, checkProgress, until } = require('./signal')
const { REMOVE, KINDS, CLASSES } = require('./table')
const { Packed, Batch, TOGETHER } = require('./batch')
const { WriteTransaction } = require('./transaction')
const { Snapshots } = require('./snapshots')

const OPTIONS = [
  'readOnly', 'create', 'exclusive', 'durability', 'pageBytes', 'minBytes', 'maxBytes', 'mapBytes',
  'growBytes', 'shrinkBytes', 'writeBufferBytes', 'journalBytes', 'flushAfterBytes', 'flushAfter',
  'lockTimeout', 'mode', 'verify', 'readAhead', 'syncTimeout', 'lsm'
]
const LSM_OPTIONS = [
  'fan', 'filterBits', 'small', 'openBytes', 'baseBytes', 'stepBytes', 'batchBytes', 'filterMemory',
  'runsMax', 'lease'
]
/** Options of a table, by its kind. */
const TABLE_OPTIONS = [
  ['keyEncoding', 'valueEncoding', 'order'],
  ['keyEncoding', 'valueEncoding', 'order'],
  ['keyEncoding', 'valueEncoding']
]
const ORDERS = ['bytes', 'reversed', 'uint32', 'uint64', 'stored']
/** How long keys are in these orders, where all are. */
const KEY_BYTES = [0, 0, 4, 8, 0]

/** How long synchronous writers wait for others, in milliseconds, unless told otherwise. */
const SYNC_TIMEOUT = 5000
/** How long all others wait. */
const LOCK_TIMEOUT = 3_600_000
const TIMER_MAX = 2 ** 31 - 1

/** Where a batch is full, and another begins. */
const BATCH_BYTES = 1 << 30
/** Memory that is kept for the next batch. */
const SPARE_BYTES_MAX = 1 << 20
const VALUE_BYTES_MAX = 0x7ff00000

/** How a program has named a table. */
class Named {
  constructor (name, kind, options) {
    const { keyEncoding: keys, valueEncoding: values, order = 'bytes' } = options
    this.name = name
    this.kind = kind
    this.isMulti = kind === KINDS.multimap
    this.keys = keyEncoding(keys)
    // Values of a multimap are in order, so their encoding has one.
    this.values = valueEncoding(values ?? (this.isMulti ? 'ordered' : 'msgpack'))
    this.order = ORDERS.indexOf(order)
    if (this.order < 0) throw new TypeError(`no order: ${order}; there are ${ORDERS.join(', ')}`)
  }
}

/** An open environment. */
class Environment extends Snapshots {
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
  /** What other threads are to do, and have not done: the ends of jobs, and their numbers. */
  #asked = new Map()
  /** The program has to end the one that all others wait for. */
  #isHeldByHand = false

  constructor (path, options) {
    super()
    const { syncTimeout = SYNC_TIMEOUT, ...native } = known(options, OPTIONS, 'open')
    known(native.lsm, LSM_OPTIONS, 'lsm')
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
    return this.#table(name, options, KINDS.table)
  }

  multimap (name, options) {
    return this.#table(name, options, KINDS.multimap)
  }

  lsmTable (name, options) {
    return this.#table(name, options, KINDS.lsm)
  }

  #table (name, options, kind) {
    // Closing waits for work.
    if (this.ambient === null) this.#check()
    const named = this.named(name, options, kind)
    // One of another kind is refused now, and not when it is written.
    rare.openTable(this.seat, name, kind, named.order)
    return new CLASSES[kind].Outside(this, named)
  }

  /** What a name and options mean. With a seat the table must be there. */
  named (name, options, kind, seat) {
    if (typeof name !== 'string') throw new TypeError('a table has a string for a name')
    const given = known(options, TABLE_OPTIONS[kind], Object.keys(KINDS)[kind])
    const kept = `${kind} ${name}`
    if (options === undefined && seat === undefined && this.#named.has(kept)) {
      return this.#named.get(kept)
    }
    const named = new Named(name, kind, given)
    named.number = seat === undefined
      ? rare.table(this.#env, name, kind, named.order)
      : rare.openTable(seat, name, kind, named.order)
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

  lsmTables () {
    return rare.lsmTables(this.seat)
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
    return job
  }

  /** Takes out a job that does not run yet. */
  #leave (job) {
    clearTimeout(job.timer)
    const at = this.#jobs.indexOf(job)
    if (at >= 0) this.#jobs.splice(at, 1)
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
      this.#leave(job)
      job.refuse(new HuonError('Busy', 'a write transaction of this environment is open'))
    }, Math.min(lockTimeout, TIMER_MAX))
  }

  /** Has the thread that writes do something behind all writes so far. */
  async queue (begin, signal) {
    this.#check()
    checkSignal(signal)
    this.#flush()
    const asked = { job: 0 }
    const ended = new Promise((resolve, reject) => Object.assign(asked, { resolve, reject }))
    const run = () => ask(number => begin(this.#env, asked.job = number))
    const job = this.#enter(() => run().then(asked.resolve, asked.reject), asked.reject)
    return until(signal, ended, () => {
      this.#leave(job)
      if (asked.job !== 0) rare.stop(asked.job)
    })
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
    await this.#ask(rare.sync)
  }

  /** The same, until a signal. */
  async whenFlushed (options) {
    const { signal } = known(options, ['signal'], 'whenFlushed')
    checkSignal(signal)
    return until(signal, this.#allFlushed())
  }

  // Transactions.

  /** Begins the write transaction behind all writes so far. */
  async write (options) {
    return this.#write(false, known(options, ['signal'], 'write').signal)
  }

  /** `isOfWork`: some work will end it, for which closing waits. */
  #write (isOfWork, signal) {
    this.#check()
    if (this.ambient !== null) throw misuse('a transaction is open here: nest in it')
    checkSignal(signal)
    this.#flush()
    const asked = { isOfWork, signal, job: 0 }
    const begun = new Promise((resolve, reject) => Object.assign(asked, { resolve, reject }))
    const job = this.#enter(() => this.#waitForEnd(asked), asked.reject)
    return until(signal, begun, () => {
      this.#leave(job)
      if (asked.job === 0) return
      rare.stop(asked.job)
      this.#isAsking = false
    })
  }

  /** Begins a write transaction, and waits until it has ended. */
  async #waitForEnd (asked) {
    try {
      if (!asked.isOfWork) this.#check()
      const seat = await this.#seatToWrite(asked)
      if (asked.signal?.aborted) {
        rare.end(seat)
        return
      }
      this.#give(seat, asked)
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

  async #seatToWrite (asked) {
    try {
      return rare.beginWrite(this.#env, 0)
    } catch (error) {
      if (error.code !== 'Busy') throw error
    }
    this.#isAsking = true
    try {
      return await ask(job => {
        asked.job = job
        rare.beginWriteLater(this.#env, job, asked.signal !== undefined)
      })
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
    const { durability, signal } = known(options, ['durability', 'signal'], 'transaction')
    const outer = this.ambient
    if (outer !== null) return outer.nested(work)
    const txn = await this.#write(true, signal)
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

  // What takes long.

  /** Its number for the native part. */
  get open () {
    this.#check()
    return this.#env
  }

  checkOpen () { this.#check() }

  /** Has a thread of its own do something that takes long: `begin(environment, job)`. */
  async askFor (begin, { signal, onProgress, quiet } = {}) {
    this.#check()
    checkSignal(signal)
    checkProgress(onProgress)
    return this.#ask(begin, { signal, onProgress, quiet })
  }

  /** The same without a look at what was passed, also while it is being closed. */
  #ask (begin, { signal, onProgress, quiet } = {}) {
    let job
    const ended = ask(number => begin(this.#env, job = number), { onProgress, quiet })
    this.#asked.set(ended, job)
    const forget = () => { this.#asked.delete(ended) }
    ended.then(forget, forget)
    return until(signal, ended, () => rare.stop(job))
  }

  async compact (options) {
    this.#check()
    this.#checkOutside()
    return super.compact(options)
  }

  /** The same that no signal ends: the number of its job, and a promise of its end. */
  askQuietly (begin) {
    this.#check()
    let job
    const ended = this.#ask((env, number) => begin(env, job = number), { quiet: true })
    // A stream that nobody reads keeps no program alive, and fails for nobody.
    ended.catch(() => {})
    return { job, ended }
  }

  /** The id of the newest snapshot. */
  get id () {
    return rare.id(this.#newest)
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
    for (const job of this.#asked.values()) stayFor(job)
    await Promise.allSettled(this.#asked.keys())
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

module.exports = { Environment }
