'use strict'

// Write-optimised tables.

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')

const { open, openInMemory, deleteFiles, Compactor } = require('..')
const { environment, file, randoms } = require('./support')

const MISUSE = { name: 'HuonError', code: 'Misuse' }

/** Small runs and short steps, so that a test has many of both. */
const SMALL = { durability: 'lazy', lsm: { fan: 2, small: 4, openBytes: 4096, stepBytes: 4096 } }

test('puts of a tick are one transaction, with those of other tables', async t => {
  const env = environment(t)
  const events = env.lsmTable('events')
  const names = env.table('names')
  const before = env.id
  const done = await Promise.all([
    events.put([2, 'b'], { kind: 'sale' }), events.put([1, 'a'], { kind: 'visit' }),
    names.put('b', 'Bob'), events.putMany([[[3, 'c'], 1], [[4, 'd'], 2]]), events.remove([3, 'c'])
  ])
  assert.deepEqual(done, [true, true, true, 2, undefined])
  assert.equal(env.id, before + 1)
  assert.deepEqual(events.get([1, 'a']), { kind: 'visit' })
  assert.equal(events.get([3, 'c']), undefined)
  assert.equal(events.has([3, 'c']), false)
  assert.deepEqual(events.getMany([[4, 'd'], [9, 'x'], [2, 'b']]), [2, undefined, { kind: 'sale' }])
  assert.deepEqual(env.lsmTables(), ['events'])
  assert.deepEqual(events.keysOnly({ prefix: [2] }).toArray(), [[2, 'b']])
})

test('it does what a map does, whatever is merged meanwhile', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t', { valueEncoding: 'string' })
  const model = new Map()
  const random = randoms(7)
  for (let round = 0; round < 40; round++) {
    const txn = await env.write()
    const inside = txn.lsmTable(table)
    for (let n = 0; n < 60; n++) {
      const key = random(500)
      if (random(4) === 0) {
        inside.remove(key)
        model.delete(key)
      } else {
        const value = `${round} ${'x'.repeat(random(200))}`
        inside.put(key, value)
        model.set(key, value)
      }
    }
    if (round % 10 === 9) {
      const from = random(400)
      inside.removeRange({ gte: from, lt: from + 50 })
      for (let key = from; key < from + 50; key++) model.delete(key)
    }
    check(inside, model, random)
    await txn.commit()
    if (round % 7 === 6) await table.compact({ how: round % 2 === 0 ? 'due' : 'all' })
    check(table, model, random)
  }
  assert.deepEqual((await table.check()).problems, [])
  assert.deepEqual((await env.check()).problems, [])
})

/** Compares reads of all kinds. */
function check (table, model, random) {
  const entries = [...model].sort(([one], [other]) => one - other)
  const shown = ({ key, value }) => [key, value]
  assert.deepEqual([...table].map(shown), entries)
  assert.deepEqual(table.range({ reverse: true }).map(shown).toArray(), entries.toReversed())
  const [from, to, limit] = [random(500), random(500), random(30)]
  const within = entries.filter(([key]) => key > from && key <= to)
  assert.deepEqual(table.range({ gt: from, lte: to, limit }).map(shown).toArray(),
    within.slice(0, limit))
  assert.deepEqual(
    table.keysOnly({ gt: from, lte: to, limit, reverse: true }).toArray(),
    within.toReversed().slice(0, limit).map(([key]) => key))
  assert.equal(table.count({ gt: from, lte: to }), within.length)
  const keys = Array.from({ length: 100 }, () => random(500))
  assert.deepEqual(table.getMany(keys), keys.map(key => model.get(key)))
  for (const key of keys) assert.equal(table.has(key), model.has(key))
  assert.deepEqual(table.first()?.key, entries[0]?.[0])
  assert.deepEqual(table.last()?.key, entries.at(-1)?.[0])
}

test('transactions: parts are undone, and snapshots stay', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t')
  await table.put('a', 1)
  const before = env.read()
  await env.transaction(async txn => {
    assert.equal(await table.put('b', 2), true)
    const inside = txn.lsmTable(table)
    assert.throws(() => txn.nested(() => {
      inside.put('c', 3)
      inside.removeRange()
      assert.equal(inside.count(), 0)
      throw new Error('no')
    }), /no/)
    assert.deepEqual(inside.keysOnly().toArray(), ['a', 'b'])
  })
  await assert.rejects(env.transaction(() => {
    table.putSync('d', 4)
    assert.equal(table.get('d'), 4)
    throw new Error('no')
  }), /no/)
  assert.deepEqual(table.keysOnly().toArray(), ['a', 'b'])
  await table.clear()
  await table.compact({ how: 'all' })
  assert.equal(table.count(), 0)
  assert.deepEqual(before.lsmTable(table).range().toArray(), [{ key: 'a', value: 1 }])
  assert.equal(before.openLsmTable('t').get('a'), 1)
  before.end()
  await table.drop()
  assert.deepEqual(env.lsmTables(), [])
  assert.throws(() => env.view(txn => txn.openLsmTable('t')), { code: 'TableNotFound' })
  await table.put('again', 1)
  assert.equal(table.get('again'), 1)
})

test('a range keeps its snapshot while runs are merged under it', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t')
  for (let n = 0; n < 3000; n += 300) {
    await table.putMany(Array.from({ length: 300 }, (_, i) => [(n + i) * 7 % 3001, n + i]))
  }
  const records = table.range()[Symbol.iterator]()
  const keys = Array.from({ length: 20 }, () => records.next().value.key)
  await table.removeRange({ gte: 0 })
  await table.compact({ how: 'all' })
  for (let item = records.next(); !item.done; item = records.next()) keys.push(item.value.key)
  assert.equal(keys.length, 3000)
  assert.equal(table.count(), 0)
})

test('conditions look first, and what ends at a time is absent then', async t => {
  const env = environment(t)
  const table = env.lsmTable('t')
  assert.equal(await table.put('a', 1, { ifNoExists: true }), true)
  assert.equal(await table.put('a', 2, { ifNoExists: true }), false)
  assert.equal(await table.put('b', 2, { ifExists: true }), false)
  assert.equal(await table.put('a', 3, { ifValue: 1 }), true)
  assert.equal(await table.put('a', 4, { ifValue: 1 }), false)
  assert.equal(table.get('a'), 3)
  await table.put('old', 1, { until: Date.now() - 1000 })
  await table.put('young', 1, { until: new Date(Date.now() + 100_000) })
  await table.put('soon', 1, { until: Date.now() + 300 })
  assert.deepEqual(table.getMany(['old', 'young']), [undefined, 1])
  while (table.has('soon')) await sleep(20)
  assert.deepEqual(table.keysOnly().toArray(), ['a', 'young'])
  for (const until of [-1, NaN, 'now', new Date(NaN), 1.5, null]) {
    await assert.rejects(table.put('x', 1, { until }), TypeError)
  }
  await assert.rejects(table.put('x', 1, { until: 1, ifExists: true }), TypeError)
})

test('what is refused takes back nothing else of its tick', async t => {
  const env = environment(t)
  const table = env.lsmTable('t', { keyEncoding: 'binary', valueEncoding: 'binary' })
  const long = Buffer.alloc(env.keyBytesMax + 1)
  const all = await Promise.allSettled([
    table.put('a', 'b'), table.put(long, 'b'), table.put(long, 'b', { until: 2 ** 50 }),
    table.putMany([['c', 'd'], [long, 'e']]), table.putMany([['f', 'g']])
  ])
  assert.deepEqual(all.map(({ reason }) => reason?.code),
    [undefined, 'KeyTooLong', 'KeyTooLong', 'KeyTooLong', undefined])
  assert.deepEqual(table.keysOnly().toArray().map(String), ['a', 'f'])
  const large = Buffer.alloc(3 << 20, 7)
  await table.put('large', large)
  assert.ok(large.equals(table.get('large')))
  assert.ok(large.equals(table.last().value))
  assert.ok(large.equals(table.getMany(['a', 'large'])[1]))
})

test('merges tell how far they are, and end by a signal', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t')
  const value = 'v'.repeat(100)
  const fill = async () => {
    for (let round = 0; round < 6; round++) {
      await table.putMany(Array.from({ length: 400 }, (_, n) => [n * 7 % 401 + round / 10, value]))
    }
  }
  await fill()
  const before = await table.stat()
  assert.ok(before.runs > 1 && before.totalPutBytes > 0 && before.classes.length > 0)
  const controller = new AbortController()
  const reason = new Error('enough')
  const ended = table.compact({
    how: 'all', signal: controller.signal, onProgress: () => controller.abort(reason)
  })
  await assert.rejects(ended, reason)
  await assert.rejects(table.compact({ how: 'all', onProgress: () => { throw reason } }), reason)
  await assert.rejects(env.compactLsm({ signal: controller.signal }), reason)
  const told = []
  const steps = await env.compactLsm({ how: 'all', onProgress: at => told.push(at.steps) })
  assert.ok(steps > 1 && told.length > 0 && told.at(-1) === steps)
  const after = await table.stat()
  assert.deepEqual([after.runs, after.debtBytes, after.records], [1, 0, 2400])
  assert.ok(after.totalMergedBytes > before.totalMergedBytes)
  await fill()
  await env.compactLsm()
  assert.equal((await table.stat()).debtBytes, 0)
  await table.clear()
  const { fileBytes } = env.info()
  await env.compactLsm({ how: 'all' })
  await env.compactLsm({ how: 'shorten' })
  assert.ok(env.info().fileBytes <= fileBytes)
})

test('a signal ends a merge that waits for a writer of the program', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t')
  for (let n = 0; n < 10; n++) await table.putMany([[n, 1], [n + 100, 1], [-n, 1], [n / 7, 1]])
  const held = await env.write()
  await assert.rejects(table.compact({ how: 'all', signal: AbortSignal.timeout(50) }),
    { name: 'TimeoutError' })
  held.abort()
  await table.compact({ how: 'all' })
  assert.equal((await table.stat()).runs, 1)
})

test('threads merge until they are stopped, or the environment is closed', async t => {
  const place = file(t)
  const env = open(place, SMALL)
  const table = env.lsmTable('t')
  const compactor = env.startCompactor()
  assert.ok(compactor instanceof Compactor)
  for (let round = 0; round < 30; round++) {
    await table.putMany(Array.from({ length: 50 }, (_, n) => [n * 31 % 97 + round, round]))
  }
  const stopped = compactor.stop()
  assert.equal(compactor.stop(), stopped)
  await stopped
  const other = env.startCompactor()
  const third = env.startCompactor()
  await third[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]()
  await table.put('last', 1)
  // What is open goes with it: threads, snapshots, ranges and transactions.
  const [snapshot, records] = [env.read(), table.range()[Symbol.iterator]()]
  records.next()
  snapshot.lsmTable(table).get('last')
  const txn = await env.write()
  txn.lsmTable(table).put('never', 1)
  await env.close()
  await other.stop()
  assert.throws(() => table.get('last'), MISUSE)
  assert.throws(() => env.startCompactor(), MISUSE)
  for (const use of [() => table.stat(), () => table.check(), () => table.compact()]) {
    await assert.rejects(use(), MISUSE)
  }
  const again = open(place, { readOnly: true })
  assert.equal(again.lsmTable('t').get('last'), 1)
  assert.equal(again.lsmTable('t').has('never'), false)
  await assert.rejects(again.lsmTable('t').put(1, 1), { code: 'ReadOnly' })
  await again.close()
  assert.equal(deleteFiles(place), true)
})

test('a worker may end while its threads merge', async t => {
  const env = environment(t, SMALL)
  const root = path.join(__dirname, '..')
  const worker = new Worker(`
    const { parentPort } = require('node:worker_threads')
    const { open } = require(${JSON.stringify(root)})
    const env = open(${JSON.stringify(env.path)}, ${JSON.stringify(SMALL)})
    env.startCompactor()
    const table = env.lsmTable('t')
    const fill = async () => {
      for (let round = 0; ; round++) {
        await table.putMany(Array.from({ length: 50 }, (_, n) => [n * 31 % 97 + round, round]))
        if (round === 20) parentPort.postMessage('fills')
      }
    }
    fill()`, { eval: true })
  await once(worker, 'message')
  await worker.terminate()
  const table = env.lsmTable('t')
  assert.ok(table.count() > 100)
  await table.put('after', 1)
  await table.compact({ how: 'all' })
  assert.deepEqual((await table.check()).problems, [])
})

test('a program ends while its threads wait for a writer in another process', async t => {
  const env = environment(t, SMALL)
  const table = env.lsmTable('t')
  for (let n = 0; n < 40; n++) await table.putMany([[n, 1], [n + 100, 1], [-n, 1], [n / 7, 1]])
  const held = await env.write()
  const program = `
    const { open } = require(${JSON.stringify(path.join(__dirname, '..'))})
    const env = open(${JSON.stringify(env.path)}, ${JSON.stringify(SMALL)})
    env.startCompactor()
    const merging = env.compactLsm({ how: 'all' })
    setTimeout(() => process.exit(7), 200)`
  const { status } = spawnSync(process.execPath, ['-e', program], { timeout: 20_000 })
  assert.equal(status, 7)
  held.abort()
  await table.compact({ how: 'all' })
  assert.equal((await table.stat()).runs, 1)
})

test('kinds of tables are told apart, and wrong options refused', async t => {
  const env = environment(t)
  const events = env.lsmTable('t')
  const table = env.table('t')
  await Promise.all([events.put(1, 'lsm'), table.put(1, 'ordinary')])
  assert.deepEqual([events.get(1), table.get(1)], ['lsm', 'ordinary'])
  await env.transaction(txn => {
    assert.throws(() => txn.table(events), MISUSE)
    assert.throws(() => txn.lsmTable(table), MISUSE)
    assert.equal(txn.lsmTable('t').get(1), 'lsm')
  })
  assert.throws(() => env.lsmTable('u', { order: 'uint32' }), TypeError)
  assert.throws(() => env.lsmTable(''), { code: 'Invalid' })
  assert.throws(() => env.lsmTable(7), TypeError)
  assert.throws(() => openInMemory({ lsm: { fans: 3 } }), TypeError)
  for (const lsm of [{ fan: 1 }, { fan: 2.5 }, { filterBits: 65 }, { stepBytes: -1 },
    { lease: NaN }, { fan: 1e9 }]) {
    assert.throws(() => openInMemory({ lsm }), { code: 'Invalid' }, JSON.stringify(lsm))
  }
  for (const lsm of [1, null, { fan: 'two' }]) assert.throws(() => openInMemory({ lsm }), TypeError)
  await assert.rejects(env.compactLsm({ how: 'some' }), TypeError)
  await assert.rejects(env.compactLsm({ table: 1 }), TypeError)
  await assert.rejects(env.compactLsm({ onProgress: 1 }), TypeError)
  await assert.rejects(events.compact({ table: 'u', when: 1 }), TypeError)
  assert.equal(await env.compactLsm({ table: 'there is none' }), 0)
})
