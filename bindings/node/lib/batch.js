'use strict'

// Changes that another thread does, packed as the native part reads them.

const { memory } = require('./native')
const { HuonError } = require('./errors')
const { always } = require('./table')

/** Numbers before the bytes of a packed change. */
const HEAD_BYTES = 24
const NONE = 0xffffffff

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

module.exports = { Packed, Batch, TOGETHER }
