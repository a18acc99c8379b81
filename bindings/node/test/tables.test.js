'use strict'

const assert = require('node:assert/strict')
const test = require('node:test')

const { open, deleteFiles } = require('..')
const { environment, file, randoms } = require('./support')

const BINARY = { keyEncoding: 'binary', valueEncoding: 'binary' }

test('what is put is there, and what is removed is not', async t => {
  const ages = environment(t).table('ages')
  assert.equal(ages.get('ada'), undefined)
  assert.equal(ages.has('ada'), false)
  assert.equal(await ages.put('ada', 36), true)
  assert.equal(ages.get('ada'), 36)
  assert.equal(ages.has('ada'), true)
  assert.equal(await ages.remove('ada'), true)
  assert.equal(await ages.remove('ada'), false)
  assert.equal(ages.count(), 0)
})

test('conditions', async t => {
  const ages = environment(t).table('ages')
  assert.equal(await ages.put('ada', 1, { ifExists: true }), false)
  assert.equal(await ages.put('ada', 1, { ifNoExists: true }), true)
  assert.equal(await ages.put('ada', 2, { ifNoExists: true }), false)
  assert.equal(await ages.put('ada', 2, { ifExists: true }), true)
  assert.equal(await ages.put('ada', 3, { ifValue: 1 }), false)
  assert.equal(await ages.put('ada', 3, { ifValue: 2 }), true)
  assert.equal(await ages.put('bob', 3, { ifValue: 2 }), false)
  assert.equal(await ages.remove('ada', { ifValue: 2 }), false)
  assert.equal(await ages.remove('ada', { ifValue: 3 }), true)
  await assert.rejects(ages.put('ada', 1, { ifNoExists: true, ifValue: 3 }), TypeError)
  await assert.rejects(ages.put('ada', 1, { ifNoExist: true }), /no option "ifNoExist"/)
})

test('of many that race for a key one wins', async t => {
  const table = environment(t).table('t')
  const won = await Promise.all(Array.from({ length: 100 }, (_, n) =>
    table.put('key', n, { ifNoExists: true })))
  assert.deepEqual(won.filter(Boolean), [true])
  assert.equal(table.get('key'), 0)
})

test('writes of a tick are one transaction, in their order', async t => {
  const env = environment(t)
  const [a, b] = [env.table('a'), env.table('b')]
  const before = env.id
  a.put('n', 1)
  b.put('n', 2)
  a.remove('n')
  a.put('m', 3)
  assert.equal(a.get('m'), undefined, 'not yet')
  await env.committed
  assert.equal(env.id, before + 1)
  assert.deepEqual([a.get('n'), a.get('m'), b.get('n')], [undefined, 3, 2])
})

test('writes that come while a commit goes on are gathered', async t => {
  const env = environment(t, {})
  const table = env.table('t')
  await table.put('first', 1)
  const before = env.id
  const all = []
  for (let n = 0; n < 400; n++) {
    all.push(table.put(n, n))
    await new Promise(setImmediate)
  }
  await Promise.all(all)
  assert.equal(table.count(), 401)
  assert.ok(env.id - before < 200, `${env.id - before} transactions`)
})

test('those of one tick stay together, whatever they wait for', async t => {
  const env = environment(t)
  const table = env.table('t')
  for (let n = 0; n < 50; n++) {
    const txn = await env.write()
    const before = table.put('before', n)
    await new Promise(setImmediate)
    txn.commit()
    await table.put('there', n)
    const first = table.put('one', n)
    for (let i = 0; i < 10; i++) await null
    const second = table.put('other', n)
    first.then(() => assert.equal(table.get('other'), n))
    await Promise.all([before, first, second])
  }
})

test('of putMany all is done, or nothing', async t => {
  const env = environment(t)
  const [table, tags] = [env.table('t'), env.multimap('tags')]
  await assert.rejects(table.putMany([['a', 1], [NaN, 2]]), TypeError)
  await assert.rejects(tags.putMany([['a', 1], ['b', 'v'.repeat(5000)]]),
    { code: 'SortedValueTooLong' })
  // The engine refuses this one: there is a table of that name by then.
  const other = table.put('other', 1)
  const [first, wrong] = [env.table('both').put('a', 1), env.multimap('both')]
  await assert.rejects(wrong.putMany([['x', 1], ['y', 2]]), { code: 'TableKind' })
  assert.deepEqual(await Promise.all([other, first]), [true, true])
  const own = { encode: value => { table.put(value, 'by the encoding'); return Buffer.from('x') } }
  const inner = env.table('own', { valueEncoding: { ...own, decode: String } })
  await assert.rejects(inner.putMany([['a', 'done all the same'], [NaN, 2]]), TypeError)
  await env.committed
  assert.deepEqual(table.keysOnly().toArray(), [2, 'done all the same', 'other'])
  assert.deepEqual([tags.count(), inner.count()], [0, 0])
  assert.equal(await table.putMany([]), 0)
})

test('what the engine refuses takes back nothing else of the tick', async t => {
  const env = environment(t)
  const [log, other] = [env.table('log'), env.table('other')]
  const writes = [
    other.put('x', 1), log.append('b', 1), log.append('a', 2), log.put('c', 3),
    env.table('both').put('x', 1), env.multimap('both').put('x', 1),
    other.put('y', 2),
    other.takeSequence(2), other.takeSequence(Number.MAX_SAFE_INTEGER)
  ]
  const said = (await Promise.allSettled(writes)).map(({ value, reason }) => value ?? reason.code)
  assert.deepEqual(said.slice(0, 8),
    [true, true, 'KeyOutOfOrder', true, true, 'TableKind', true, 0])
  assert.deepEqual(other.keysOnly().toArray(), ['x', 'y'])
  assert.deepEqual(log.keysOnly().toArray(), ['b', 'c'])
})

test('each encoding of values gives back what was put', async t => {
  const env = environment(t)
  const values = {
    msgpack: [1, 'a', null, true, [1, 'b'], { a: { b: [1.5, -7, 2 ** 40] } }, Buffer.from('x'),
      new Date(5), 2n ** 60n, { bytes: Buffer.from('inner') }],
    json: [1, 'a', null, true, [1, 'b'], { a: { b: [1.5] } }],
    string: ['', 'a', '\u00e4\u{1f600}', 'long '.repeat(10_000)],
    binary: [Buffer.from(''), Buffer.from([1, 2, 0]), Buffer.alloc(100_000, 7)],
    ordered: [1, 'a', null, ['a', [1n]], Buffer.from([0, 1])]
  }
  for (const [valueEncoding, all] of Object.entries(values)) {
    const table = env.table(valueEncoding, { valueEncoding })
    await Promise.all(all.map((value, n) => table.put(n, value)))
    const keys = all.map((_, n) => n)
    assert.deepEqual(keys.map(n => table.get(n)), all)
    assert.deepEqual(table.getMany(keys), all)
    assert.deepEqual(table.valuesOnly().toArray(), all)
    assert.deepEqual(table.range().map(({ value }) => value).toArray(), all)
    for (const n of keys) assert.deepEqual(table.get(n), all[n], 'what was read before stays')
  }
  for (const [valueEncoding, bad] of [['msgpack', undefined], ['json', () => 1], ['string', 1],
    ['binary', 1], ['ordered', {}]]) {
    await assert.rejects(env.table('bad', { valueEncoding }).put('a', bad), TypeError)
  }
})

test('bytes that were read stay as they were', async t => {
  const table = environment(t).table('t', BINARY)
  const value = n => Buffer.alloc(n % 300, n % 251)
  const key = n => Buffer.from(String(n).padStart(5, '0'))
  await table.putMany(Array.from({ length: 2000 }, (_, n) => [key(n), value(n)]))
  const kept = []
  for (let n = 0; n < 2000; n++) kept.push([n, table.get(key(n))])
  for (const { key, value } of table.range()) kept.push([Number(key), value])
  table.getMany(Array.from({ length: 2000 }, (_, n) => key(n)))
    .forEach((value, n) => kept.push([n, value]))
  for (const [n, found] of kept) assert.deepEqual(found, value(n))
})

test('an encoding of the program may use tables itself', async t => {
  const env = environment(t)
  const names = env.table('names', { valueEncoding: 'string' })
  await names.putMany([[1, 'ada'], [2, 'alan']])
  const byName = env.table('by name', {
    valueEncoding: {
      encode: name => Buffer.from(String(names.range().find(({ value }) => value === name).key)),
      decode: bytes => names.get(Number(bytes.toString()))
    }
  })
  await byName.putMany([['first', 'ada'], ['second', 'alan'], ['third', 'ada']])
  assert.equal(byName.get('second'), 'alan')
  assert.deepEqual(byName.valuesOnly().toArray(), ['ada', 'alan', 'ada'])
  assert.deepEqual(byName.getMany(['third', 'none', 'first']), ['ada', undefined, 'ada'])
  await env.table('json', { valueEncoding: 'json' })
    .put('a key that is long enough to be told from others', { toJSON: () => names.get(1) })
  assert.deepEqual(env.table('json', { valueEncoding: 'json' }).first(),
    { key: 'a key that is long enough to be told from others', value: 'ada' })
})

test('ranges are those of a model', async t => {
  const env = environment(t)
  const table = env.table('t', { valueEncoding: 'ordered' })
  const random = randoms(3)
  const all = new Map()
  for (let n = 0; n < 3000; n++) all.set(random(100_000), n)
  await table.putMany(all)
  const model = [...all].sort(([a], [b]) => a - b).map(([key, value]) => ({ key, value }))
  for (let round = 0; round < 300; round++) {
    const options = {}
    for (const name of ['gt', 'gte', 'lt', 'lte']) {
      if (random(3) > 0) continue
      options[name] = random(2) ? random(100_000) : model[random(model.length)].key
    }
    options.reverse = random(2) === 0
    if (random(2) === 0) options.limit = random(random(2) ? 10 : 2000)
    let expected = model.filter(({ key }) =>
      !(key <= options.gt) && !(key < options.gte) && !(key >= options.lt) && !(key > options.lte))
    const { reverse, limit, ...bounds } = options
    assert.equal(table.count(bounds), expected.length)
    if (reverse) expected.reverse()
    const first = expected[0]
    expected = expected.slice(0, limit)
    assert.deepEqual(table.range(options).toArray(), expected, JSON.stringify(options))
    assert.deepEqual(table.keysOnly(options).toArray(), expected.map(({ key }) => key))
    assert.deepEqual(table.valuesOnly(options).toArray(), expected.map(({ value }) => value))
    assert.deepEqual(table.first({ ...bounds, reverse }), first)
  }
})

test('ranges are lazy, and can be begun again', async t => {
  const table = environment(t).table('t')
  await table.putMany(Array.from({ length: 1000 }, (_, n) => [n, n]))
  let seen = 0
  const even = table.range()
    .map(({ value }) => { seen++; return value })
    .filter(value => value % 2 === 0)
    .drop(1)
    .take(3)
  assert.equal(seen, 0)
  assert.deepEqual([...even], [2, 4, 6])
  assert.ok(seen < 10)
  await table.put(2, 1)
  assert.deepEqual(even.toArray(), [4, 6, 8])
  const numbers = table.valuesOnly({ lt: 5 })
  assert.equal(numbers.reduce((sum, n) => sum + n), 9)
  assert.equal(numbers.reduce((sum, n) => sum + n, ''), '01134')
  assert.deepEqual(numbers.flatMap(n => [n, n]).toArray().length, 10)
  assert.equal(numbers.some(n => n === 4), true)
  assert.equal(numbers.every(n => n < 4), false)
  assert.throws(() => table.valuesOnly({ gt: 5000 }).reduce((a, b) => a + b), TypeError)
  assert.deepEqual([...table].length, 1000)
})

test('a limit is a whole number', async t => {
  const env = environment(t)
  const table = env.table('t')
  await table.putMany([[1, 1], [2, 2]])
  for (const limit of [0.5, 2.5, NaN, '1']) assert.throws(() => table.range({ limit }), TypeError)
  assert.deepEqual(table.keysOnly({ limit: 0 }).toArray(), [])
  for (const limit of [-1, -Infinity, Infinity, 2]) {
    assert.deepEqual(table.keysOnly({ limit }).toArray(), [1, 2])
  }
})

test('a range shows one snapshot, unless it is told not to', async t => {
  const table = environment(t).table('t')
  await table.putMany(Array.from({ length: 1000 }, (_, n) => [n, 'old']))
  const [kept, renewed] = [table.range(), table.range({ snapshot: false })]
    .map(range => range[Symbol.iterator]())
  kept.next()
  renewed.next()
  await table.putMany(Array.from({ length: 1000 }, (_, n) => [n, 'new']))
  assert.equal([...kept].at(-1).value, 'old')
  assert.equal([...renewed].at(-1).value, 'new')
})

test('large keys and values', async t => {
  const env = environment(t)
  const table = env.table('t', { valueEncoding: 'binary' })
  const value = Buffer.alloc(20 << 20, 'a')
  await table.put('large', value)
  assert.ok(table.get('large').equals(value))
  assert.ok(table.getMany(['none', 'large'])[1].equals(value))
  assert.ok(table.first().value.equals(value))
  const longest = 'k'.repeat(env.keyBytesMax)
  await table.put(longest, Buffer.from('v'))
  assert.equal(table.get(longest).toString(), 'v')
  assert.equal(table.get(longest + 'k'), undefined)
  const other = table.put('other', 'v')
  await assert.rejects(table.put(longest + 'k', 'v'), { code: 'KeyTooLong', name: 'HuonError' })
  const tag = env.multimap('tags').put('a', 'v'.repeat(env.keyBytesMax + 1))
  await assert.rejects(tag, { code: 'SortedValueTooLong' })
  assert.equal(await other, true, 'what is refused refuses nothing else')
  assert.equal(await table.remove(longest + 'k'), false)
})

test('ranges are removed, sequences counted, tables cleared and dropped', async t => {
  const env = environment(t)
  const table = env.table('t')
  await table.putMany(Array.from({ length: 100 }, (_, n) => [n, n]))
  assert.equal(await table.removeRange({ gte: 10, lt: 20 }), 10)
  assert.equal(await table.removeRange({ gte: 10, lt: 20 }), 0)
  assert.equal(table.count(), 90)
  assert.equal(await table.takeSequence(5), 0)
  assert.equal(await table.takeSequence(), 5)
  assert.equal(table.sequence(), 6)
  await table.clear()
  assert.equal(table.count(), 0)
  assert.deepEqual(env.tables(), ['t'])
  assert.equal(await table.drop(), true)
  assert.deepEqual(env.tables(), [])
  await table.put(1, 1)
  assert.equal(env.hasTable('t'), true)
})

test('numbers stay numbers, and bigints stay bigints', async t => {
  const env = environment(t)
  const table = env.table('t')
  const numbers = [0, 5, -5, 1.5, 2 ** 31, 2 ** 32, -(2 ** 31) - 1, 2 ** 53]
  const bigints = [0n, 5n, -5n, 2n ** 60n, 2n ** 63n, 2n ** 64n, -(2n ** 200n)]
  for (const value of [...numbers, ...bigints]) {
    await table.put('n', value)
    assert.equal(table.get('n'), value)
  }
})

test('multimaps have one condition', async t => {
  const env = environment(t)
  const tags = env.multimap('tags')
  await assert.rejects(tags.put('a', 'b', { ifValue: 'x' }), TypeError)
  await assert.rejects(tags.put('a', 'b', { ifExists: true }), TypeError)
  assert.equal(await tags.put('a', 'b', { ifNoExists: true }), true)
  assert.equal(await tags.put('a', 'c', { ifNoExists: true }), false)
  assert.equal(tags.count(), 1)
})

test('a range ends with a value that is none', async t => {
  const env = environment(t)
  const raw = env.table('t', { valueEncoding: 'binary' })
  await raw.putMany(Array.from({ length: 100 }, (_, n) => [n, n === 3 ? '{' : '1']))
  const records = env.table('t', { valueEncoding: 'json' }).range()[Symbol.iterator]()
  assert.throws(() => records.next(), SyntaxError)
  assert.deepEqual(records.next(), { done: true, value: undefined })
  assert.equal(env.info().readers.length, 0)
})

test('no bytes are no value of MessagePack', async t => {
  const env = environment(t)
  const raw = env.table('t', { valueEncoding: 'binary' })
  await raw.putMany([['full', Buffer.from([5])], ['empty', Buffer.alloc(0)]])
  const table = env.table('t', { valueEncoding: 'msgpack' })
  assert.equal(table.get('full'), 5)
  assert.throws(() => table.get('empty'), { code: 'Decode' })
})

test('bytes that are no key are not taken for one', async t => {
  const env = environment(t)
  const raw = env.table('t', { keyEncoding: 'binary', valueEncoding: 'binary' })
  const bad = [[], [0x11, 0x90, 1], [0x11, 0x81, 1, 2], [0x10, 1], [0x1e, 0x11, 0x90, 1]]
  for (const bytes of bad) {
    await raw.put('k', Buffer.from(bytes))
    const table = env.table('t', { keyEncoding: 'binary', valueEncoding: 'ordered' })
    assert.throws(() => table.get('k'), TypeError, String(bytes))
  }
})

test('large records leave no memory behind', t => {
  const { execFileSync } = require('node:child_process')
  const program = `
    const huon = require(${JSON.stringify(require.resolve('..'))})
    const env = huon.openInMemory()
    const encodings = ['string', 'json']
    for (const valueEncoding of encodings) {
      env.table(valueEncoding, { valueEncoding }).putSync(1, 'x'.repeat(30e6))
    }
    const used = async () => {
      for (let i = 0; i < 5; i++) { gc(); await new Promise(setImmediate) }
      return process.memoryUsage().arrayBuffers
    }
    const main = async () => {
      const before = await used()
      for (const valueEncoding of encodings) {
        const table = env.table(valueEncoding, { valueEncoding })
        for (const _ of table) {}
        table.getMany([1, 1])
        console.log(await used() - before < 10e6)
      }
    }
    main()`
  const said = execFileSync(process.execPath, ['--expose-gc', '-e', program], { encoding: 'utf8' })
  assert.equal(said, 'true\ntrue\n')
})

test('a batch of the level family is done as a whole, and one that cannot be opened is closed',
  async t => {
    const { HuonLevel } = require('../lib/abstract-level')
    const db = new HuonLevel()
    const put = (key, value) => ({ type: 'put', key, value })
    const large = put('k'.repeat(3000), '2')
    await assert.rejects(db.batch([put('a', '1'), large]), { code: 'KeyTooLong' })
    assert.equal(await db.get('a'), undefined)
    await db.batch([put('a', '1'), put('b', '2'), { type: 'del', key: 'a' }])
    assert.deepEqual(await db.iterator().all(), [['b', '2']])
    await db.close()
    const place = file(t)
    const env = open(place)
    await env.multimap('level').put('a', 1)
    await env.close()
    await assert.rejects(new HuonLevel(place).open(), { code: 'LEVEL_DATABASE_NOT_OPEN' })
    assert.equal(deleteFiles(place), true)
  })

test('getMany shows one snapshot, however large the values are', async t => {
  const { Worker } = require('node:worker_threads')
  const place = file(t)
  const env = open(place, { durability: 'lazy' })
  t.after(() => env.close())
  const table = env.table('t', { valueEncoding: 'ordered' })
  const keys = Array.from({ length: 300 }, (_, n) => n)
  await table.putMany(keys.map(key => [key, [0, 'x'.repeat(key * 40)]]))
  const worker = new Worker(`
    const { parentPort, workerData } = require('node:worker_threads')
    const env = require(workerData.huon).open(workerData.place, { durability: 'lazy' })
    const table = env.table('t', { valueEncoding: 'ordered' })
    for (let n = 1; n <= 300; n++) {
      env.transactionSync(() => {
        for (let key = 0; key < 300; key++) table.put(key, [n, 'x'.repeat(key * 40)])
      })
    }
    env.close()`, { eval: true, workerData: { huon: require.resolve('..'), place } })
  let isAtWork = true
  worker.once('exit', () => { isAtWork = false })
  while (isAtWork) {
    const values = table.getMany(keys)
    assert.deepEqual(values.map(([, text]) => text.length), keys.map(key => key * 40))
    assert.equal(new Set(values.map(([n]) => n)).size, 1)
    await new Promise(setImmediate)
  }
  assert.equal(table.getMany(keys)[299][0], 300)
  assert.equal(env.info().readers.length, 0)
})

test('multimaps', async t => {
  const env = environment(t)
  const tags = env.multimap('tags')
  assert.equal(await tags.put('ada', 'math'), true)
  assert.equal(await tags.put('ada', 'math'), false)
  await tags.putMany([['ada', 'logic'], ['alan', 'logic'], ['alan', 1]])
  assert.deepEqual(tags.valuesOf('ada').toArray(), ['logic', 'math'])
  assert.deepEqual(tags.valuesOf('ada', { reverse: true }).toArray(), ['math', 'logic'])
  assert.deepEqual(tags.valuesOf('bob').toArray(), [])
  assert.equal(tags.get('ada'), 'logic')
  assert.deepEqual(tags.getMany(['alan', 'bob']), [1, undefined])
  assert.equal(tags.has('ada', 'math'), true)
  assert.equal(tags.has('ada', 'art'), false)
  assert.equal(tags.has('bob'), false)
  assert.equal(tags.countOf('alan'), 2)
  assert.equal(tags.count(), 4)
  assert.deepEqual(tags.distinct().toArray(), [{ key: 'ada', count: 2 }, { key: 'alan', count: 2 }])
  assert.deepEqual(tags.keysOnly({ gt: 'ada' }).toArray(), ['alan'])
  assert.equal(await tags.remove('alan', 1), true)
  assert.equal(await tags.remove('alan', 1), false)
  assert.equal(await tags.removeAll('ada'), 2)
  assert.deepEqual(tags.range().toArray(), [{ key: 'alan', value: 'logic' }])
  await assert.rejects(tags.remove('alan'), TypeError)
  assert.throws(() => env.table('tags'), { code: 'TableKind' })
  await env.table('plain').put(1, 1)
  assert.throws(() => env.multimap('plain'), { code: 'TableKind' })
})

test('pairs of a multimap come once each, over many calls, both ways', async t => {
  const tags = environment(t).multimap('tags')
  const pairs = []
  for (let key = 0; key < 7; key++) {
    for (let value = 0; value < key * 200; value++) pairs.push({ key, value })
  }
  await tags.putMany(pairs.map(({ key, value }) => [key, value]))
  assert.deepEqual(tags.range().toArray(), pairs)
  assert.deepEqual(tags.range({ reverse: true }).toArray(), pairs.toReversed())
  assert.deepEqual(tags.range({ gt: 2, lte: 4 }).toArray(),
    pairs.filter(({ key }) => key === 3 || key === 4))
  assert.equal(tags.valuesOf(6).toArray().at(-1), 1199)
  assert.equal(tags.valuesOf(6, { reverse: true, limit: 1000 }).toArray().at(-1), 200)
})
