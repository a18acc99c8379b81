'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const { open, openInMemory, deleteFiles } = require('..')
const { environment, file } = require('./support')

async function filled (t, options) {
  const env = environment(t, options)
  const table = env.table('t')
  await table.putMany(Array.from({ length: 5000 }, (_, n) => [n, `value ${n}`]))
  return { env, table }
}

test('reports', async t => {
  const { env } = await filled(t)
  const info = env.info()
  assert.equal(info.pageBytes, 4096)
  assert.equal(info.keyBytesMax, env.keyBytesMax)
  assert.equal(info.newest, env.id)
  const stat = await env.stat()
  assert.equal(stat.tables.find(({ name }) => name === 't').entries, 5000)
  assert.deepEqual((await env.check()).problems, [])
})

test('copies while writers go on, and less of the file', async t => {
  const { env, table } = await filled(t)
  const copy = file(t)
  const copying = env.copyTo(copy, { compact: true })
  await table.put('later', 1)
  const { bytes } = await copying
  assert.equal(fs.statSync(copy).size, bytes)
  await assert.rejects(env.copyTo('/no/such/folder/x'), { code: 'Io' })
  const other = open(copy)
  assert.equal(other.table('t').get(4999), 'value 4999')
  await other.close()
  await table.removeRange({ gte: 100 })
  await env.compact({ timeLimit: 5000 })
  assert.deepEqual(table.count(), 100)
  assert.equal(deleteFiles(copy), true)
  assert.equal(deleteFiles(copy), false)
})

test('damage is named', async t => {
  const place = file(t)
  const env = open(place)
  await env.table('t').putMany(Array.from({ length: 5000 }, (_, n) => [n, `value ${n}`]))
  await env.close()
  const bytes = fs.readFileSync(place)
  for (let page = 4; page * 4096 + 2000 < bytes.length; page++) bytes[page * 4096 + 2000] ^= 1
  fs.writeFileSync(place, bytes)
  let damaged
  try {
    damaged = open(place)
  } catch (error) {
    assert.equal(error.code, 'Corrupt')
    return
  }
  const table = damaged.table('t')
  assert.throws(() => [...table], { code: 'Corrupt' })
  assert.throws(() => { for (let n = 0; n < 5000; n++) table.get(n) }, { code: 'Corrupt' })
  assert.ok((await damaged.check()).problems.length > 0)
  await damaged.close()
})

test('commits are told of, also those of others', async t => {
  const place = file(t)
  const [one, other] = [open(place), open(place)]
  t.after(() => other.close())
  const seen = []
  const watching = (async () => { for await (const id of one.commits()) seen.push(id) })()
  const first = one.waitForCommit()
  await other.table('t').put(1, 1)
  assert.equal(await first, other.id)
  await other.table('t').put(2, 2)
  assert.equal(await one.waitForCommit({ timeout: 1 }), undefined)
  while (seen.at(-1) !== other.id) await sleep(5)
  await one.close()
  await watching
})

test('a time that is over is not waited for', async t => {
  const place = file(t)
  const [one, other] = [open(place), open(place)]
  t.after(() => Promise.all([one.close(), other.close()]))
  const txn = await one.write()
  for (const timeout of [-1, -Infinity]) {
    assert.throws(() => other.writeSync({ timeout }), { code: 'Busy' })
    assert.equal(await one.waitForCommit({ timeout }), undefined)
  }
  assert.throws(() => other.writeSync({ timeout: NaN }), { code: 'Invalid' })
  txn.abort()
})

test('what is closed is open no longer, whatever was asked of it before', async t => {
  const place = file(t)
  for (let round = 0; round < 10; round++) {
    const env = open(place, { durability: 'lazy' })
    await env.table('t').put(1, 1)
    const asked = [env.waitForCommit(), env.check(), env.stat(), env.sync(), env.copyTo(file(t))]
    await env.close()
    assert.equal(deleteFiles(place), true)
    assert.equal((await Promise.all(asked))[0], undefined)
  }
})

test('in memory', async () => {
  const env = openInMemory()
  assert.equal(env.path, undefined)
  await env.table('t').put(1, 1)
  assert.equal(env.table('t').get(1), 1)
  await env.close()
})

test('options are those of the file', async t => {
  const place = file(t)
  const env = open(place, {
    pageBytes: 8192, maxBytes: 1 << 24, durability: 'lazy', flushAfterBytes: 1 << 20,
    flushAfter: 1000, verify: 'pagesAndValues', readAhead: 'never', lockTimeout: 50, mode: 0o640
  })
  assert.equal(env.info().pageBytes, 8192)
  assert.equal(env.info().maxBytes, 1 << 24)
  assert.equal(fs.statSync(place).mode & 0o777, 0o640)
  const other = open(place, { lockTimeout: 50 })
  const txn = await env.write()
  await assert.rejects(other.table('t').put(1, 1), { code: 'Busy' })
  txn.abort()
  await other.close()
  await env.close()
})

test('a journal', async t => {
  const place = file(t)
  const env = open(place, { journalBytes: 1 << 20 })
  await env.table('t').put(1, 1)
  assert.equal(env.info().journal.bytes, 1 << 20)
  await env.close()
})

test('tables of other orders', async t => {
  const env = environment(t)
  const numbers = env.table('n', { keyEncoding: 'binary', order: 'uint32' })
  const key = n => Buffer.from(Uint32Array.of(n).buffer)
  await numbers.putMany([[key(300), 'c'], [key(2), 'b'], [key(1), 'a']])
  assert.deepEqual(numbers.valuesOnly().toArray(), ['a', 'b', 'c'])
  await assert.rejects(numbers.put(Buffer.from('abc'), 'd'), { code: 'KeyLength' })
  assert.throws(() => numbers.range({ prefix: key(1) }), { code: 'PrefixOrder' })
  assert.throws(() => numbers.range({ gt: key(256), gte: key(2) }), TypeError)
  assert.throws(() => numbers.count({ lt: key(256), lte: key(2) }), TypeError)
  assert.throws(() => env.table('n', { keyEncoding: 'binary' }), { code: 'TableKind' })
  assert.equal(env.table('n', { keyEncoding: 'binary', order: 'stored' }).get(key(2)), 'b')
})
