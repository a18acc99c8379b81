'use strict'

const assert = require('node:assert/strict')
const test = require('node:test')

const { environment, randoms } = require('./support')

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
