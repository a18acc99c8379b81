'use strict'

// Tickets, and signals that end waits and work.

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const { open, Ticket } = require('..')
const { environment, file } = require('./support')

const MISUSE = { name: 'HuonError', code: 'Misuse' }

/** A signal, what aborts it, and the reason for that. */
function signal () {
  const controller = new AbortController()
  const reason = new Error('enough')
  return { signal: controller.signal, reason, abort: () => controller.abort(reason) }
}

/** Two environments of one file, closed after the test. */
function two (t, options) {
  const place = file(t)
  const both = [open(place, options), open(place, options)]
  t.after(() => Promise.all(both.map(env => env.close())))
  return both
}

test('a ticket: visible at once, durable later, and one flush for many', async t => {
  const env = environment(t, {})
  const table = env.table('t')
  const tickets = []
  for (let n = 0; n < 5; n++) {
    const txn = await env.write()
    txn.table(table).put(n, n)
    tickets.push(n % 2 === 0 ? txn.commitTicketSync() : await txn.commitTicket())
    assert.equal(table.get(n), n)
    assert.throws(() => txn.commitTicketSync(), MISUSE)
  }
  assert.ok(tickets.every(ticket => ticket instanceof Ticket))
  assert.equal(tickets[4].id, env.id)
  assert.deepEqual(tickets.map(ticket => ticket.isDurable), Array(5).fill(false))
  assert.ok(env.durableId < tickets[0].id)
  const flushes = env.info().io.flushes
  await Promise.all(tickets.map(ticket => ticket.wait()))
  assert.ok(tickets.every(ticket => ticket.isDurable))
  assert.ok(env.durableId >= tickets[4].id)
  assert.ok(env.info().io.flushes - flushes <= 2)
})

test('work may commit by a ticket, and what is committed so is not committed again', async t => {
  const env = environment(t, {})
  const table = env.table('t')
  const ticket = await env.transaction(txn => {
    txn.table(table).put(1, 1)
    return txn.commitTicket()
  })
  assert.equal(table.get(1), 1)
  const second = env.transactionSync(txn => {
    txn.table(table).put(2, 2)
    return txn.commitTicketSync()
  })
  await second.wait()
  assert.equal(ticket.isDurable, true)
  const waiting = (await env.transaction(txn => txn.commitTicket())).wait()
  await env.close()
  await waiting
  assert.throws(() => ticket.isDurable, MISUSE)
  await assert.rejects(ticket.wait(), MISUSE)
})

test('a signal ends the wait for a transaction of the same environment', async t => {
  const env = environment(t)
  const { signal: until, reason, abort } = signal()
  const held = await env.write()
  let ran = false
  const waits = [
    env.write({ signal: until }),
    env.transaction(() => { ran = true }, { signal: until })
  ]
  const later = env.table('t').put(1, 1)
  abort()
  for (const wait of waits) await assert.rejects(wait, reason)
  assert.equal(env.table('t').get(1), undefined)
  held.abort()
  await later
  assert.equal(ran, false)
  await assert.rejects(env.write({ signal: until }), reason)
})

test('a signal ends the wait for the writer lock, which nobody has then', async t => {
  const [env, other] = two(t, { durability: 'lazy', lockTimeout: 20_000 })
  for (let round = 0; round < 20; round++) {
    const { signal: until, reason, abort } = signal()
    const held = await other.write()
    const wait = env.write({ signal: until })
    // Before it has begun, while it waits, and as it gets the lock.
    if (round % 4 > 0) await sleep(round % 4 * 3)
    if (round % 2 === 0) held.abort()
    abort()
    const writer = await wait.catch(error => { assert.equal(error, reason) })
    writer?.abort()
    held.abort()
    env.table('t').putSync(round, 1)
    await other.table('t').put(round, 2)
    await env.table('t').put(round, 3)
  }
  assert.equal(env.table('t').count(), 20)
})

test('a signal that comes too late changes nothing', async t => {
  const env = environment(t)
  const { signal: until, abort } = signal()
  const result = await env.transaction(async txn => {
    abort()
    await sleep(1)
    txn.table('t').put(1, 1)
    return 'done'
  }, { signal: until })
  assert.equal(result, 'done')
  assert.equal(env.table('t').get(1), 1)
})

test('a lock that is not free in time is told as ever, with a signal too', async t => {
  const [env, other] = two(t, { lockTimeout: 60 })
  const held = await other.write()
  await assert.rejects(env.write({ signal: signal().signal }), { code: 'Busy' })
  held.abort()
})

test('a signal ends waits for commits', async t => {
  const env = environment(t)
  const { signal: until, reason, abort } = signal()
  const wait = env.waitForCommit({ signal: until })
  const seen = []
  const loop = (async () => {
    for await (const id of env.commits({ signal: until })) seen.push(id)
  })()
  await env.table('t').put(1, 1)
  assert.equal(await wait, env.id)
  while (seen.length === 0) await sleep(1)
  const second = env.waitForCommit({ signal: until })
  abort()
  await assert.rejects(second, reason)
  await assert.rejects(loop, reason)
  await assert.rejects(env.waitForCommit({ signal: until }), reason)
})

test('a signal ends waits for flushes, which go on', async t => {
  const env = environment(t)
  const { signal: until, reason, abort } = signal()
  const put = env.table('t').put(1, 1)
  const ticket = env.transactionSync(txn => txn.commitTicketSync())
  const waits = [env.sync({ signal: until }), env.whenFlushed({ signal: until })]
  waits.push(ticket.wait({ signal: until }))
  abort()
  const ends = await Promise.allSettled(waits)
  for (const { status, reason: is } of ends) if (status === 'rejected') assert.equal(is, reason)
  assert.equal(ends[1].status, 'rejected')
  await put
  await env.whenFlushed({ signal: signal().signal })
  assert.equal(env.durableId, env.id)
  for (const wait of [env.sync, env.whenFlushed]) {
    await assert.rejects(wait.call(env, { signal: until }), reason)
  }
  await assert.rejects(ticket.wait({ signal: until }), reason)
})

test('work tells how far it is, and ends by a signal or by what it is told with', async t => {
  const env = environment(t)
  const table = env.table('t', { valueEncoding: 'binary' })
  const value = Buffer.alloc(4000, 1)
  await table.putMany(Array.from({ length: 3000 }, (_, n) => [n, value]))
  await table.removeRange({ lt: 1500 })
  const folder = path.dirname(file(t))
  let copies = 0
  const place = () => path.join(folder, `copy ${++copies}`)
  const work = {
    check: how => env.check(how),
    copyTo: how => env.copyTo(place(), how),
    compactCopy: how => env.copyTo(place(), { compact: true, ...how }),
    compact: how => env.compact(how)
  }
  for (const [name, run] of Object.entries(work)) {
    const { signal: until, reason, abort } = signal()
    await assert.rejects(run({ signal: until, onProgress: abort }), reason, name)
    await assert.rejects(run({ onProgress: () => { throw reason } }), reason, name)
    await assert.rejects(run({ signal: until }), reason, name)
  }
  const told = []
  await env.check({ onProgress: at => told.push(at) })
  assert.ok(told.length > 0)
  for (const { doneBytes, totalBytes } of told) assert.ok(doneBytes <= totalBytes && doneBytes > 0)
  await env.close()
  // One that had ended as the signal came is whole.
  for (const name of fs.readdirSync(folder)) {
    assert.match(name, /^copy \d$/)
    const copy = open(path.join(folder, name), { readOnly: true })
    assert.equal(copy.table('t').count(), 1500)
    await copy.close()
  }
})

test('what is no signal is refused', async t => {
  const env = environment(t)
  const ticket = env.transactionSync(txn => txn.commitTicketSync())
  const how = { signal: new EventTarget() }
  const uses = [
    () => env.write(how), () => env.transaction(() => 1, how), () => env.sync(how),
    () => env.whenFlushed(how), () => env.check(how), () => env.copyTo('x', how),
    () => env.compact(how), () => env.waitForCommit(how), () => ticket.wait(how),
    () => env.check({ onProgress: 1 }), async () => env.copyStream(how)
  ]
  for (const use of uses) await assert.rejects(use(), TypeError, use.toString())
})
