'use strict'

// Snapshots with names.

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const { open, openInMemory } = require('..')
const { environment, file } = require('./support')

const MISUSE = { name: 'HuonError', code: 'Misuse' }
const INVALID = { name: 'HuonError', code: 'Invalid' }
const NOT_FOUND = { name: 'HuonError', code: 'SnapshotNotFound', message: /"other"/ }

/** What a table shows in the snapshot of a name. */
const shown = (env, snapshot, key = 'key') => env.view(txn => txn.table('t').get(key), { snapshot })

test('a named snapshot stays, over restarts, until it is dropped', async t => {
  const place = file(t)
  const env = open(place)
  const table = env.table('t')
  await table.put('key', 'old')
  const before = await env.nameSnapshot('before\n')
  assert.equal(before.id, env.durableId - 1)
  assert.match(before.checksum, /^[0-9a-f]{16}$/)
  await table.put('key', 'new')
  await env.close()

  const again = open(place)
  t.after(() => again.close())
  assert.deepEqual(again.namedSnapshots(), [{ name: 'before\n', ...before }])
  assert.equal(shown(again, 'before\n'), 'old')
  assert.equal(shown(again), 'new')
  const txn = again.read({ snapshot: 'before\n' })
  assert.equal(txn.id, before.id)
  assert.equal(await again.dropSnapshot('before\n'), true)
  assert.equal(await again.dropSnapshot('before\n'), false)
  assert.deepEqual(again.namedSnapshots(), [])
  assert.equal(txn.table('t').get('key'), 'old')
  assert.equal(txn.renew(), true)
  assert.equal(txn.table('t').get('key'), 'new')
  txn.end()
  assert.deepEqual((await again.check()).problems, [])
})

test('what is named is what all writes so far have made', async t => {
  const env = environment(t)
  const table = env.table('t')
  const writes = [table.put('key', 1), env.nameSnapshot('one'), table.put('key', 2)]
  writes.push(env.nameSnapshot('two'), env.dropSnapshot('one'), env.nameSnapshot('three'))
  writes.push(table.put('key', 3))
  await Promise.all(writes)
  assert.deepEqual(env.namedSnapshots().map(({ name }) => name), ['two', 'three'])
  assert.deepEqual([shown(env, 'two'), shown(env, 'three'), shown(env)], [2, 2, 3])
  // A name that is given again leaves its snapshot.
  await env.nameSnapshot('two')
  assert.equal(shown(env, 'two'), 3)
  assert.deepEqual(env.namedSnapshots().map(({ name }) => name), ['three', 'two'])
})

test('a transaction names what was there before it, if it is committed', async t => {
  for (const options of [{}, { durability: 'lazy' }, { journalBytes: 1 << 20 }]) {
    const env = environment(t, options)
    const table = env.table('t')
    await table.put('key', 'old')
    const failed = env.transaction(txn => {
      txn.nameSnapshot('never')
      throw new Error('enough')
    })
    await assert.rejects(failed, /enough/)
    const named = await env.transaction(async txn => {
      table.put('key', 'new')
      const named = txn.nameSnapshot('before')
      assert.throws(() => txn.nested(txn => {
        txn.nameSnapshot('inner')
        throw new Error('undone')
      }), /undone/)
      // In its work the environment means the transaction.
      assert.deepEqual(await env.nameSnapshot('same'), named)
      assert.equal(await env.dropSnapshot('same'), true)
      assert.throws(() => env.read({ snapshot: 'before' }), { code: 'SnapshotNotFound' })
      return named
    })
    assert.deepEqual(env.namedSnapshots(), [{ name: 'before', ...named }])
    assert.deepEqual([shown(env, 'before'), shown(env)], ['old', 'new'])
    assert.equal(env.transactionSync(txn => txn.dropSnapshot('before')), true)
    assert.equal(env.transactionSync(txn => txn.dropSnapshot('before')), false)
  }
})

test('all kinds of tables are read in it', async t => {
  const env = environment(t)
  const [table, tags, events] = [env.table('t'), env.multimap('m'), env.lsmTable('l')]
  const put = n => Promise.all([table.put('key', n), tags.put('key', n), events.put('key', n)])
  await put(1)
  await env.nameSnapshot('one')
  await put(2)
  await env.table('later').put(1, 1)
  await events.compact({ how: 'all' })
  const txn = env.read({ snapshot: 'one' })
  assert.equal(txn.table(table).get('key'), 1)
  assert.deepEqual(txn.multimap(tags).valuesOf('key').toArray(), [1])
  assert.equal(txn.lsmTable(events).get('key'), 1)
  assert.deepEqual(txn.tables().filter(name => name.length < 6), ['m', 't'])
  txn.park()
  txn.unpark()
  assert.equal(txn.openTable('t').get('key'), 1)
  txn.end()
})

test('names that are none are refused', async t => {
  const env = environment(t)
  const table = env.table('t')
  await table.put('key', 1)
  for (const name of ['', 'x'.repeat(256), '\u00fc'.repeat(128)]) {
    await assert.rejects(env.nameSnapshot(name), INVALID)
    assert.throws(() => env.transactionSync(txn => txn.nameSnapshot(name)), INVALID)
    assert.equal(await env.dropSnapshot(name), false)
    assert.throws(() => env.read({ snapshot: name }), { code: 'SnapshotNotFound' })
  }
  const longest = 'x'.repeat(253) + '\u00fc'
  await env.nameSnapshot(longest)
  assert.equal(shown(env, longest), 1)
  assert.throws(() => env.read({ snapshot: 'other' }), NOT_FOUND)
  assert.throws(() => env.view(() => 1, { snapshot: 'other' }), NOT_FOUND)
  for (const name of [undefined, null, 7, Buffer.from('x')]) {
    await assert.rejects(env.nameSnapshot(name), TypeError)
    await assert.rejects(env.dropSnapshot(name), TypeError)
    assert.throws(() => env.transactionSync(txn => txn.nameSnapshot(name)), TypeError)
    if (name !== undefined) assert.throws(() => env.read({ snapshot: name }), TypeError)
  }
  assert.throws(() => env.read('longest'), TypeError)
  assert.throws(() => env.read({ name: longest }), TypeError)
  await assert.rejects(env.nameSnapshot('n', { durable: true }), TypeError)
  await assert.rejects(env.nameSnapshot('n', { signal: new EventTarget() }), TypeError)
  // What was refused has left nothing open.
  await table.put('key', 2)
  assert.equal(env.info().readers.length, 0)
})

test('a table of the program\'s own that has the name of the engine\'s is left alone', async t => {
  const env = environment(t)
  await env.table('huon.snapshots').put('mine', 1)
  await assert.rejects(env.nameSnapshot('n'), { code: 'TableExists' })
  assert.equal(env.table('huon.snapshots').get('mine'), 1)
})

test('names are for writers, and for nobody after the end', async t => {
  const place = file(t)
  const env = open(place)
  await env.table('t').put('key', 1)
  await env.nameSnapshot('one')
  const txn = await env.write()
  txn.abort()
  assert.throws(() => txn.nameSnapshot('two'), MISUSE)
  assert.throws(() => txn.dropSnapshot('one'), MISUSE)
  await env.close()
  await assert.rejects(env.nameSnapshot('two'), MISUSE)
  await assert.rejects(env.dropSnapshot('one'), MISUSE)
  for (const use of [() => env.namedSnapshots(), () => env.read({ snapshot: 'one' })]) {
    assert.throws(use, MISUSE)
  }
  const reader = open(place, { readOnly: true })
  t.after(() => reader.close())
  assert.equal(shown(reader, 'one'), 1)
  await assert.rejects(reader.nameSnapshot('two'), { code: 'ReadOnly' })
  await assert.rejects(reader.dropSnapshot('one'), { code: 'ReadOnly' })
})

test('a signal ends the wait for others, and closing waits for names', async t => {
  const place = file(t)
  const [env, other] = [open(place), open(place, { lockTimeout: 20_000 })]
  t.after(() => Promise.all([env.close(), other.close()]))
  await env.table('t').put('key', 1)
  const reason = new Error('enough')
  for (const [holder, pause] of [[env, 0], [other, 0], [other, 10]]) {
    const held = await holder.write()
    const controller = new AbortController()
    const naming = env.nameSnapshot('never', { signal: controller.signal })
    const dropping = env.dropSnapshot('never', { signal: controller.signal })
    await sleep(pause)
    controller.abort(reason)
    await assert.rejects(naming, reason)
    await assert.rejects(dropping, reason)
    held.abort()
  }
  await assert.rejects(env.nameSnapshot('n', { signal: AbortSignal.abort(reason) }), reason)
  const held = await other.write()
  const naming = other.nameSnapshot('behind')
  const closing = other.close()
  await naming
  await closing
  assert.equal(held.isEnded, true)
  assert.deepEqual(env.namedSnapshots().map(({ name }) => name), ['behind'])
})

test('a writer that is held by hand too long refuses a name as it does all others', async t => {
  const env = open(file(t), { lockTimeout: 50 })
  t.after(() => env.close())
  const held = await env.write()
  await assert.rejects(env.nameSnapshot('n'), { code: 'Busy' })
  held.abort()
  await env.nameSnapshot('n')
})

test('in memory, and beside a copy, which has none', async t => {
  const env = openInMemory()
  await env.table('t').put('key', 1)
  await env.nameSnapshot('one')
  await env.table('t').put('key', 2)
  assert.equal(shown(env, 'one'), 1)
  const copy = path.join(path.dirname(file(t)), 'copy')
  await env.copyTo(copy)
  await env.close()
  assert.ok(fs.existsSync(copy))
  const other = open(copy)
  assert.deepEqual(other.namedSnapshots(), [])
  await other.close()
})
