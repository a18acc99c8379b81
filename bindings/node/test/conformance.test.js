'use strict'

// The cases that every binding runs: ../../conformance/README.md says what they mean.

const assert = require('node:assert/strict')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const test = require('node:test')

const { open, HuonError } = require('..')

const CASES = path.join(__dirname, '..', '..', 'conformance')
const BINARY = { keyEncoding: 'binary', valueEncoding: 'binary' }

/** What a step may have beside its operation, its answer and its part. */
const RANGE = ['from', 'to', 'prefix', 'reverse', 'limit']
const ARGUMENTS = {
  read: ['txn'],
  write: ['txn'],
  try_write: ['txn'],
  begin_nested: ['txn', 'parent'],
  commit: ['txn'],
  abort: ['txn'],
  reopen: ['read_only'],
  create: ['txn', 'table', 'kind'],
  has_table: ['txn', 'table'],
  tables: ['txn'],
  drop: ['txn', 'table'],
  clear: ['txn', 'table'],
  count: ['txn', 'table'],
  put: ['txn', 'table', 'key', 'value'],
  insert: ['txn', 'table', 'key', 'value'],
  get: ['txn', 'table', 'key'],
  has: ['txn', 'table', 'key'],
  delete: ['txn', 'table', 'key'],
  put_many: ['txn', 'table', 'pairs'],
  get_many: ['txn', 'table', 'keys'],
  delete_range: ['txn', 'table', 'from', 'to'],
  scan: ['txn', 'table', ...RANGE],
  scan_put: ['txn', 'table', 'value', ...RANGE],
  scan_delete: ['txn', 'table', ...RANGE],
  first: ['txn', 'table'],
  last: ['txn', 'table'],
  sequence: ['txn', 'table', 'by'],
  multi_put: ['txn', 'table', 'key', 'value'],
  multi_values: ['txn', 'table', 'key', 'reverse'],
  multi_delete: ['txn', 'table', 'key', 'value'],
  multi_delete_all: ['txn', 'table', 'key'],
  multi_scan: ['txn', 'table', ...RANGE]
}

function bytes (form) {
  if (typeof form === 'string') {
    assert.match(form, /^([0-9a-f]{2})*$/)
    return Buffer.from(form, 'hex')
  }
  assert.deepEqual(Object.keys(form).sort(), ['repeat', 'times'])
  return Buffer.from(form.repeat.repeat(form.times), 'hex')
}

const hex = value => value === undefined ? null : Buffer.from(value).toString('hex')
const pair = record => record === undefined ? null : [hex(record.key), hex(record.value)]

/** An answer with all bytes written out. */
function plain (answer) {
  if (Array.isArray(answer)) return answer.map(plain)
  return answer !== null && typeof answer === 'object' ? hex(bytes(answer)) : answer
}

function range ({ from, to, prefix, reverse, limit }) {
  const options = {}
  if (from !== undefined && from !== null) options.gte = bytes(from)
  if (to !== undefined && to !== null) options.lt = bytes(to)
  if (prefix !== undefined && prefix !== null) options.prefix = bytes(prefix)
  if (reverse !== undefined) options.reverse = reverse
  if (limit !== undefined && limit !== null) options.limit = limit
  return options
}

const misuse = () => new HuonError('Misuse', 'there is no such thing to ask')

/** A method of a table: a table of a snapshot does not have those that change something. */
function call (table, name, ...args) {
  if (typeof table[name] !== 'function') throw misuse()
  return table[name](...args)
}

/** One case, on one file. */
class Runner {
  constructor (file, options) {
    this.file = file
    this.options = options
    this.env = open(file, options)
    this.txns = new Map()
  }

  txn (name) {
    if (!this.txns.has(name)) throw misuse()
    return this.txns.get(name).txn
  }

  table ({ txn, table }) {
    return this.txn(txn).openTable(table, BINARY)
  }

  multi ({ txn, table }) {
    return this.txn(txn).openMultimap(table, BINARY)
  }

  either (step) {
    try {
      return this.table(step)
    } catch (error) {
      if (error.code !== 'TableKind') throw error
      return this.multi(step)
    }
  }

  async run (step) {
    const { op } = step
    assert.ok(Object.hasOwn(ARGUMENTS, op), `operation ${op}`)
    for (const name of Object.keys(step)) {
      const isKnown = ['op', 'is', 'error', 'part'].includes(name) || ARGUMENTS[op].includes(name)
      assert.ok(isKnown, `argument ${name} of ${op}`)
    }
    return this[op](step)
  }

  begin (name, txn) { this.txns.set(name, { txn }) }

  read ({ txn }) { this.begin(txn, this.env.read()) }
  async write ({ txn }) { this.begin(txn, await this.env.write()) }
  try_write ({ txn }) { this.begin(txn, this.env.writeSync({ timeout: 0 })) }

  begin_nested ({ txn, parent }) {
    const outer = this.txn(parent)
    if (outer.savepoint === undefined) throw misuse()
    this.txns.set(txn, { txn: outer, savepoint: outer.savepoint() })
  }

  async commit (step) {
    this.txn(step.txn)
    const { txn, savepoint } = this.txns.get(step.txn)
    if (savepoint !== undefined) savepoint.release()
    else await call(txn, 'commit')
    this.txns.delete(step.txn)
  }

  abort (step) {
    this.txn(step.txn)
    const { txn, savepoint } = this.txns.get(step.txn)
    if (savepoint !== undefined) savepoint.rollBack()
    else if (txn.abort !== undefined) txn.abort()
    else txn.end()
    this.txns.delete(step.txn)
  }

  async reopen ({ read_only: readOnly = false }) {
    await this.env.close()
    this.env = open(this.file, readOnly ? { ...this.options, readOnly } : this.options)
  }

  create ({ txn, table, kind = 'bytes' }) {
    assert.ok(['bytes', 'multi'].includes(kind), kind)
    const named = kind === 'multi' ? 'multimap' : 'table'
    call(this.txn(txn)[named](table, BINARY), 'create')
  }

  has_table ({ txn, table }) { return this.txn(txn).hasTable(table) }
  tables ({ txn }) { return this.txn(txn).tables() }
  drop (step) { call(this.either(step), 'drop') }
  clear (step) { call(this.either(step), 'clear') }
  count (step) { return this.either(step).count() }

  put (step) { call(this.table(step), 'put', bytes(step.key), bytes(step.value)) }

  insert (step) {
    return call(this.table(step), 'put', bytes(step.key), bytes(step.value), { ifNoExists: true })
  }

  get (step) { return hex(this.table(step).get(bytes(step.key))) }
  has (step) { return this.table(step).has(bytes(step.key)) }
  delete (step) { return call(this.table(step), 'remove', bytes(step.key)) }

  put_many (step) {
    call(this.table(step), 'putMany', step.pairs.map(([key, value]) => [bytes(key), bytes(value)]))
  }

  get_many (step) { return this.table(step).getMany(step.keys.map(bytes)).map(hex) }
  delete_range (step) { return call(this.table(step), 'removeRange', range(step)) }
  scan (step) { return this.table(step).range(range(step)).toArray().map(pair) }

  scan_put (step) {
    const table = this.table(step)
    if (table.put === undefined) throw misuse()
    let count = 0
    for (const { key } of table.range(range(step))) {
      table.put(key, bytes(step.value))
      count++
    }
    return count
  }

  scan_delete (step) {
    const table = this.table(step)
    if (table.remove === undefined) throw misuse()
    let count = 0
    for (const { key } of table.range(range(step))) {
      table.remove(key)
      count++
    }
    return count
  }

  first (step) { return pair(this.table(step).first()) }
  last (step) { return pair(this.table(step).last()) }
  sequence (step) { return call(this.table(step), 'takeSequence', step.by) }

  multi_put (step) { return call(this.multi(step), 'put', bytes(step.key), bytes(step.value)) }

  multi_values (step) {
    const options = step.reverse === undefined ? {} : { reverse: step.reverse }
    return this.multi(step).valuesOf(bytes(step.key), options).toArray().map(hex)
  }

  multi_delete (step) {
    return call(this.multi(step), 'remove', bytes(step.key), bytes(step.value))
  }

  multi_delete_all (step) { return call(this.multi(step), 'removeAll', bytes(step.key)) }
  multi_scan (step) { return this.multi(step).range(range(step)).toArray().map(pair) }

  async close () {
    for (const { txn } of this.txns.values()) txn.abort === undefined ? txn.end() : txn.abort()
    await this.env.close()
  }
}

let steps = 0

async function runAll (file, options, all, name) {
  const runner = new Runner(file, options)
  for (const [at, step] of all.entries()) {
    const where = `${name}, step ${at}: ${JSON.stringify(step).slice(0, 300)}`
    let answer
    let failed = null
    try {
      answer = await runner.run(step)
    } catch (error) {
      if (error.code === undefined || error instanceof assert.AssertionError) throw error
      failed = error
    }
    if (step.error !== undefined) assert.equal(failed?.code, step.error, where)
    else assert.equal(failed, null, `${where}\n${failed?.stack}`)
    if (Object.hasOwn(step, 'is')) assert.deepEqual(answer, plain(step.is), where)
    steps++
  }
  await runner.close()
}

function casesOf (file) {
  const { format, cases } = JSON.parse(fs.readFileSync(path.join(CASES, file), 'utf8'))
  assert.equal(format, 1)
  return cases
}

function inFolder (work) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'huon-'))
  return work(folder).finally(() => fs.rmSync(folder, { recursive: true }))
}

const { HUON_EXCHANGE_WRITE: WRITE, HUON_EXCHANGE_READ: READ } = process.env
const isExchange = WRITE !== undefined || READ !== undefined

test('all cases', { skip: isExchange }, async () => {
  let count = 0
  for (const file of fs.readdirSync(CASES).filter(name => /^cases.*\.json$/.test(name)).sort()) {
    for (const { name, steps } of casesOf(file)) {
      const options = { durability: 'lazy' }
      await inFolder(folder => runAll(path.join(folder, 'case.huon'), options, steps, name))
      count++
    }
  }
  const said = `conformance: ${count} cases, ${steps} steps`
  process.on('exit', () => console.log(said))
})

test('files that languages exchange', async () => {
  const [{ name, steps }] = casesOf('exchange.json')
  const part = wanted => steps.filter(({ part }) => part === wanted)
  const run = (file, wanted) => runAll(file, {}, part(wanted), name)
  if (WRITE !== undefined) await run(WRITE, 'write')
  for (const file of READ === undefined ? [] : READ.split(':')) await run(file, 'read')
  if (isExchange) return
  await inFolder(async folder => {
    const file = path.join(folder, 'exchange.huon')
    await run(file, 'write')
    await run(file, 'read')
  })
})
