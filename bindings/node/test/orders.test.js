'use strict'

// Tables whose keys a function of another program compares.

const assert = require('node:assert/strict')
const fs = require('node:fs')
const test = require('node:test')

const { open } = require('..')
const { backwards } = require('./backwards')
const { file } = require('./support')

const UNKNOWN = { name: 'HuonError', code: 'OrderUnknown' }
const TEXT = { keyEncoding: 'string', valueEncoding: 'string' }
const STORED = { ...TEXT, order: 'stored' }

/** An environment with the tables of that file. */
function made (t) {
  const place = file(t)
  fs.writeFileSync(place, backwards)
  const env = open(place)
  t.after(() => env.close())
  return { env, table: env.table('t', STORED), pairs: env.multimap('m', STORED) }
}

const keys = Array.from({ length: 300 }, (_, n) => String(299 - n).padStart(3, '0'))

test('it is read from end to end, both ways', t => {
  const { env, table, pairs } = made(t)
  assert.deepEqual(table.keysOnly().toArray(), keys)
  assert.deepEqual(table.keysOnly({ reverse: true, limit: 250 }).toArray(),
    keys.toReversed().slice(0, 250))
  assert.deepEqual(table.range({ snapshot: false }).map(({ key }) => key).toArray(), keys)
  assert.deepEqual([table.first().key, table.last().key, table.count()], ['299', '000', 300])
  const shown = [...pairs].map(({ key, value }) => key + value)
  assert.equal(shown.length, 100)
  assert.deepEqual(shown.slice(0, 3), ['490', '491', '480'])
  assert.deepEqual([...pairs.range({ reverse: true })].map(({ key, value }) => key + value),
    shown.toReversed())
  env.view(txn => {
    assert.deepEqual([...txn.table(table)].length, 300)
    assert.equal(txn.openTable('t', STORED).count(), 300)
  })
  env.transactionSync(txn => assert.equal(txn.table(table).keysOnly().toArray().length, 300))
})

test('what compares keys is refused by name', async t => {
  const { env, table, pairs } = made(t)
  const uses = [
    () => table.get('001'), () => table.has('001'), () => table.getMany(['001']),
    () => table.range({ gte: '001' }).toArray(), () => table.count({ lt: '2' }),
    () => table.putSync('a', 'b'), () => table.removeSync('001'), () => pairs.get('01'),
    () => pairs.valuesOf('01').toArray(), () => pairs.keysOnly().toArray(),
    () => pairs.putSync('a', 'b')
  ]
  for (const use of uses) assert.throws(use, UNKNOWN, use.toString())
  const changes = [
    () => table.put('a', 'b'), () => table.removeRange({ gte: '1' }), () => pairs.removeAll('01')
  ]
  for (const use of changes) await assert.rejects(use(), UNKNOWN, use.toString())
  assert.throws(() => table.range({ prefix: '1' }), { code: 'PrefixOrder' })
  for (const order of ['bytes', 'reversed']) {
    assert.throws(() => env.table('t', { ...TEXT, order }), { code: 'TableKind' })
  }
  assert.throws(() => env.table('u', { order: (one, other) => 0 }), TypeError)
  assert.equal(table.count(), 300)
  assert.deepEqual((await env.check()).problems, [])
})
