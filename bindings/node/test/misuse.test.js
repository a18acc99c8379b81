'use strict'

const assert = require('node:assert/strict')
const { execFileSync, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')

const huon = require('..')
const { environment, file } = require('./support')

const MISUSE = { name: 'HuonError', code: 'Misuse' }

test('nothing works after close, and closing again is fine', async t => {
  const env = environment(t)
  const table = env.table('t')
  const tags = env.multimap('tags')
  await table.putMany(Array.from({ length: 1000 }, (_, n) => [n, n]))
  const [read, records] = [env.read(), table.range()[Symbol.iterator]()]
  records.next()
  const inside = read.table(table)
  const write = await env.write()
  const waiting = env.waitForCommit()
  const closing = env.close()
  assert.equal(env.close(), closing)
  await assert.rejects(table.put(1, 1), MISUSE)
  await closing
  assert.equal(await waiting, undefined)
  assert.equal(env.isClosed, true)
  const uses = [
    () => table.get(1), () => table.has(1), () => table.getMany([1]), () => table.first(),
    () => table.count(), () => table.sequence(), () => tags.valuesOf(1).toArray(),
    () => tags.has(1, 2), () => table.putSync(1, 1), () => [...records], () => inside.get(1),
    () => read.id, () => read.renew(), () => read.park(), () => read.tables(), () => env.info(),
    () => env.tables(), () => env.table('u'), () => env.read(), () => env.id, () => env.durableId,
    () => env.transactionSync(() => 1), () => write.table('t').put(1, 1), () => write.commitSync(),
    () => write.savepoint(), () => write.commitTicketSync(), () => env.copyStream()
  ]
  for (const use of uses) assert.throws(use, MISUSE, use.toString())
  const promises = [
    () => env.transaction(() => 1), () => env.write(), () => env.check(), () => env.stat(),
    () => env.sync(), () => env.copyTo('x'), () => env.compact(), () => env.waitForCommit(),
    () => env.flushed, () => env.whenFlushed(), () => write.commit(), () => write.commitTicket(),
    () => table.remove(1), () => tags.removeAll(1)
  ]
  for (const use of promises) await assert.rejects(use(), MISUSE, use.toString())
  read.end()
  write.abort()
  records.return()
})

test('nothing works after the end of a transaction', async t => {
  const env = environment(t)
  let kept
  await env.transaction(txn => { kept = txn; txn.table('t').put(1, 1) })
  const table = kept.table('t')
  for (const use of [() => table.put(2, 2), () => table.get(1), () => [...table],
    () => kept.id, () => kept.savepoint(), () => kept.nested(() => 1), () => kept.commitSync()]) {
    assert.throws(use, MISUSE, use.toString())
  }
  await assert.rejects(kept.commit(), MISUSE)
  const read = env.read()
  read.end()
  assert.throws(() => read.table('t').get(1), MISUSE)
  assert.throws(() => read.renew(), MISUSE)
  // Its number is used again, and is another one's.
  const next = env.read()
  assert.throws(() => read.table('t').get(1), MISUSE)
  next.end()
})

test('a transaction whose commit is refused is undone, and others go on', async t => {
  const env = huon.open(file(t), { durability: 'lazy', lockTimeout: 2000, syncTimeout: 100 })
  t.after(() => env.close())
  const ages = env.table('ages')
  const put = txn => txn.table(ages).put('ada', 1)
  const open = txn => { txn.savepoint(); put(txn) }
  const never = new Promise(() => {})
  const nested = txn => { txn.nested(() => { put(txn); return never }) }
  const wrong = { durability: true }
  const refused = [
    [MISUSE, () => env.transaction(open)],
    [MISUSE, () => env.transaction(nested)],
    [MISUSE, async () => env.transactionSync(open)],
    [MISUSE, () => env.transaction(async () => {
      const [first, second] = [sleep(1), sleep(20)]
      await Promise.all([env.transaction(() => first), env.transaction(() => second)])
    })],
    [TypeError, () => env.transaction(put, wrong)],
    [TypeError, async () => env.transactionSync(put, wrong)],
    [TypeError, async () => { const txn = await env.write(); put(txn); await txn.commit(wrong) }],
    [TypeError, async () => { const txn = env.writeSync(); put(txn); txn.commitSync(wrong) }]
  ]
  for (const [error, work] of refused) {
    await assert.rejects(work, error, work.toString())
    assert.equal(await ages.put('after', work.toString().length), true)
    assert.equal(ages.putSync('sync', 1), true)
  }
  assert.equal(ages.has('ada'), false)
})

test('a nested one that fails undoes what it left open, with its own error', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  const error = new Error('mine')
  await env.transaction(async txn => {
    ages.put('kept', 1)
    const fail = () => { txn.savepoint(); ages.put('lost', 1); throw error }
    assert.throws(() => txn.nested(fail), error)
    await assert.rejects(txn.nested(async () => { txn.savepoint(); throw error }), error)
  })
  assert.deepEqual(ages.keysOnly().toArray(), ['kept'])
})

test('a table of another environment is refused', async t => {
  const [one, other] = [environment(t), environment(t)]
  const table = one.table('t')
  const read = other.read()
  assert.throws(() => read.table(table), MISUSE)
  assert.throws(() => read.multimap(table), MISUSE)
  assert.throws(() => read.table({}), MISUSE)
  read.end()
})

test('what is no option, no path and no encoding is refused', async t => {
  const env = environment(t)
  assert.throws(() => huon.open(), TypeError)
  assert.throws(() => huon.open('x', { durabilty: 'lazy' }), /no option "durabilty"/)
  assert.throws(() => huon.openInMemory({ durability: 'maybe' }), { code: 'Invalid' })
  assert.throws(() => huon.openInMemory({ pageBytes: 17 }), { code: 'Invalid' })
  assert.throws(() => huon.openInMemory({ pageBytes: '4096' }), TypeError)
  assert.throws(() => huon.openInMemory({ lockTimeout: NaN }), { code: 'Invalid' })
  assert.throws(() => huon.deleteFiles(5), TypeError)
  await assert.rejects(env.copyTo(), TypeError)
  await assert.rejects(env.waitForCommit({ after: 'x' }), TypeError)
  assert.throws(() => env.table(7), TypeError)
  assert.throws(() => env.table('t', { keyEncoding: 'utf8' }), TypeError)
  assert.throws(() => env.table('t', { valueEncoding: {} }), TypeError)
  assert.throws(() => env.table('t', { order: 'random' }), TypeError)
  const table = env.table('t')
  assert.throws(() => table.range({ start: 1 }), TypeError)
  assert.throws(() => table.range({ limit: 'ten' }), TypeError)
  assert.throws(() => table.get(), TypeError)
  assert.throws(() => table.count(7), TypeError)
})

test('files that are none, and none that is to be created', async t => {
  const place = file(t)
  assert.throws(() => huon.open(place, { create: false }), { code: 'Io' })
  fs.writeFileSync(place, 'not a database, '.repeat(1000))
  assert.throws(() => huon.open(place), { code: 'NotADatabase' })
  assert.throws(() => huon.open(path.dirname(place)), huon.HuonError)
})

test('nothing is written where it was opened read-only', async t => {
  const place = file(t)
  const env = huon.open(place)
  await env.table('t').put(1, 1)
  await env.close()
  const reader = huon.open(place, { readOnly: true })
  const table = reader.table('t')
  assert.equal(table.get(1), 1)
  await assert.rejects(table.put(1, 2), { code: 'ReadOnly' })
  await assert.rejects(reader.transaction(() => 1), { code: 'ReadOnly' })
  await assert.rejects(reader.write(), { code: 'ReadOnly' })
  assert.throws(() => reader.transactionSync(() => 1), { code: 'ReadOnly' })
  await reader.close()
})

test('a failure of a tick is one of all that was put in it', async t => {
  const env = huon.open(file(t), { maxBytes: 1 << 20, durability: 'lazy' })
  t.after(() => env.close())
  const table = env.table('t', { valueEncoding: 'binary' })
  await table.put('before', Buffer.from('x'))
  const full = [table.put('small', Buffer.from('x')), table.put('large', Buffer.alloc(4 << 20))]
  for (const promise of full) await assert.rejects(promise, { code: 'MapFull' })
  assert.equal(table.has('small'), false)
  assert.equal(await table.put('after', Buffer.from('x')), true)
})

test('an environment is not closed in its own transaction', async t => {
  const env = environment(t)
  await env.transaction(async () => {
    await assert.rejects(env.close(), MISUSE)
    await assert.rejects(env.write(), MISUSE)
  })
})

test('nothing in a transaction waits for its end', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  for (const wait of [() => env.committed, () => env.flushed, () => env.compact()]) {
    await assert.rejects(env.transaction(async () => { ages.put('a', 1); await wait() }), MISUSE)
  }
  assert.equal(ages.count(), 0)
})

test('what waits for a transaction by hand waits no longer than it may', async t => {
  const env = huon.open(file(t), { durability: 'lazy', lockTimeout: 20 })
  t.after(() => env.close())
  const ages = env.table('ages')
  const txn = await env.write()
  const waiting = [ages.put('x', 1), env.write(), env.transaction(() => 1), env.committed]
  for (const promise of waiting) await assert.rejects(promise, { code: 'Busy' })
  const later = ages.put('y', 1)
  await txn.commit()
  assert.equal(await later, true)
  // Work is waited for as long as it takes.
  const work = env.transaction(() => sleep(60))
  assert.equal(await ages.put('x', 1), true)
  await work
  // A process that has nothing else to do does not end in the midst.
  assert.equal(run(`
    const env = huon.openInMemory({ lockTimeout: 20 })
    const main = async () => {
      const txn = await env.write()
      await env.table('t').put(1, 1).catch(error => console.log(error.code))
    }
    main()`), 'Busy\n')
})

test('closing waits for work, and undoes what is open by hand', async t => {
  const env = environment(t)
  const table = env.table('t')
  const work = env.transaction(async () => {
    await sleep(20)
    await table.put('late', 1)
    return env.table('t').get('late')
  })
  await sleep(5)
  await env.close()
  assert.equal(await work, 1)
})

test('closing takes back what waits to be begun by hand, and waits for queued work', async t => {
  const env = environment(t)
  const table = env.table('t')
  const held = await env.write()
  const waiting = env.write()
  const work = env.transaction(() => { table.put(1, 1); return table.count() })
  const closing = env.close()
  await assert.rejects(waiting, MISUSE)
  assert.equal(await work, 1)
  await closing
  assert.equal(held.isEnded, true)
})

test('two environments of one file do not wait for each other without end', async t => {
  const place = file(t)
  const [one, other] = [huon.open(place), huon.open(place, { syncTimeout: 20 })]
  t.after(() => Promise.all([one.close(), other.close()]))
  const txn = await one.write()
  assert.throws(() => other.transactionSync(() => 1), { code: 'Busy' })
  const waiting = other.transaction(() => 'its turn')
  await sleep(20)
  txn.abort()
  assert.equal(await waiting, 'its turn')
})

test('errors of the program in callbacks are its own', async t => {
  const env = environment(t)
  const table = env.table('t')
  await table.putMany([[1, 1], [2, 2]])
  const error = new Error('mine')
  const fail = () => { throw error }
  assert.throws(() => table.range().map(fail).toArray(), error)
  assert.throws(() => table.range().filter(fail).toArray(), error)
  assert.throws(() => table.range().forEach(fail), error)
  const own = env.table('own', { valueEncoding: { encode: fail, decode: fail } })
  await assert.rejects(own.put(1, 1), error)
  await env.table('own', { valueEncoding: 'msgpack' }).put(1, 1)
  assert.throws(() => own.get(1), error)
  assert.throws(() => [...own], error)
  assert.throws(() => env.table('t', { valueEncoding: { encode: x => x, decode: x => x } })
    .putSync(1, 'no bytes'), TypeError)
  assert.equal(env.info().readers.length, 0)
})

const TEXT = { encoding: 'utf8', timeout: 60_000 }

/** What a program says that runs in a process of its own. */
function run (program, ...flags) {
  const script = `const huon = require(${JSON.stringify(require.resolve('..'))})\n${program}`
  return execFileSync(process.execPath, [...flags, '-e', script], TEXT)
}

test('a program that takes the memory of a value away takes none of ours', t => {
  const env = environment(t)
  const bytes = env.table('bytes', { valueEncoding: 'binary' })
  bytes.putSync('a', 'one')
  const value = bytes.get('a')
  try {
    structuredClone(value, { transfer: [value.buffer] })
  } catch (error) {
    assert.equal(error.name, 'DataCloneError')
  }
  assert.equal(value.toString(), 'one')
  // That is refused to nobody: so each look comes after one.
  assert.equal(run(`
    const env = huon.openInMemory()
    const bytes = env.table('bytes', { valueEncoding: 'binary' })
    const text = env.table('text', { valueEncoding: 'string' })
    bytes.putSync('a', 'one')
    text.putSync('b', 'two')
    const own = { encode: x => x, decode: bytes => { bytes.buffer.transfer(); return 'taken' } }
    const taken = env.table('bytes', { valueEncoding: own })
    const looks = [
      () => text.get('b'), () => text.getMany(['b', 'c', 'b']), () => [...text.valuesOnly()],
      () => text.first().value, () => bytes.get('a').toString(), () => text.has('b'),
      () => taken.get('a'), () => taken.getMany(['a']), () => taken.valuesOnly().toArray()
    ]
    for (const look of looks) {
      bytes.get('a').buffer.transfer()
      gc()
      console.log(look().toString())
    }`, '--expose-gc', '--harmony-rab-gsab-transfer'),
  ['two', 'two,,two', 'two', 'two', 'one', 'true', 'taken', 'taken', 'taken', ''].join('\n'))
})

test('a program ends that has left all of it open', t => {
  const place = JSON.stringify(file(t))
  assert.equal(run(`
    const env = huon.open(${place}, { durability: 'lazy' })
    const table = env.table('t')
    table.put(1, 1).then(() => {
      env.read(); env.writeSync(); table.range()[Symbol.iterator]().next()
      env.waitForCommit({ timeout: 10 })
      console.log('left')
    })`), 'left\n')
  assert.equal(run(`
    const env = huon.open(${place})
    const table = env.table('t')
    console.log(table.get(1))
    table.put(2, 2)
    process.exit()`), '1\n')
})

test('a synchronous writer does not wait for a lock that is given to its own thread', t => {
  assert.equal(run(`
    const main = async () => {
      const place = ${JSON.stringify(file(t))}
      const [one, other] = [huon.open(place), huon.open(place, { syncTimeout: 3600e3 })]
      const held = one.writeSync()
      const waiting = other.write()
      await new Promise(resolve => setTimeout(resolve, 10))
      held.abort()
      // Meanwhile another thread gets it, and cannot say so to this one.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
      try { other.writeSync() } catch (error) { console.log(error.code) }
      (await waiting).abort()
      other.writeSync().abort()
    }
    main()`), 'Busy\n')
})

test('it can be imported, and opened for a block', t => {
  const script = `import huon, { open, HuonError } from ${JSON.stringify(require.resolve('..'))}
    const env = open(${JSON.stringify(file(t))})
    await env.table('t').put(1, 1)
    await env[Symbol.asyncDispose]()
    console.log(env.isClosed, huon.HuonError === HuonError)`
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], TEXT),
    'true true\n')
})

for (const [what, files] of [['its files', /^lib/], ['all of it', /^lib|^huon.node$/]]) {
  test(`${what} may be loaded again in the same thread`, async t => {
    const env = environment(t)
    const table = env.table('t')
    await table.put('first', 1)
    const inside = path.join(__dirname, '..')
    const isOld = ([name]) => files.test(path.relative(inside, name))
    const old = Object.entries(require.cache).filter(isOld)
    for (const [name] of old) delete require.cache[name]
    const again = require('..')
    for (const [name, module] of old) require.cache[name] = module
    assert.notEqual(again, huon)
    const other = again.openInMemory()
    const both = [other.table('t').put('second', 2), table.put('third', 3)]
    assert.equal(table.get('first'), 1)
    await Promise.all(both)
    assert.deepEqual([other.table('t').get('second'), table.get('third')], [2, 3])
    assert.equal(table.get('first'), 1)
    await assert.rejects(other.copyTo('/no/such/folder/x'), again.HuonError)
    await other.close()
  })
}

test('a promise that is waited for keeps the program alive', t => {
  assert.equal(run(`
    const env = huon.open(${JSON.stringify(file(t))})
    env.table('t').put(1, 1).then(() => console.log('put'))`), 'put\n')
})

test('a failure that is looked after by no code is reported as any other', t => {
  const script = `const huon = require(${JSON.stringify(require.resolve('..'))})
    huon.openInMemory().table('t').put('k'.repeat(5000), 1)`
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], TEXT)
  assert.equal(status, 1)
  assert.match(stderr, /KeyTooLong/)
})

/** Runs code in a worker thread; what it posts. */
function inWorker (code, workerData) {
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    const huon = require(${JSON.stringify(require.resolve('..'))})
    const main = async () => { ${code} }
    main().then(answer => parentPort.postMessage(answer))`
  return new Worker(script, { eval: true, workerData })
}

const answer = worker => new Promise((resolve, reject) => {
  worker.once('message', resolve)
  worker.once('error', reject)
})

test('worker threads share a file', async t => {
  const place = file(t)
  const env = huon.open(place, { durability: 'lazy' })
  t.after(() => env.close())
  const table = env.table('t')
  await table.put('n', 0)
  const answers = Array.from({ length: 4 }, (_, n) => answer(inWorker(`
    const env = huon.open(workerData.place, { durability: 'lazy' })
    const table = env.table('t')
    for (let i = 0; i < 50; i++) {
      await env.transaction(() => { table.put('n', table.get('n') + 1) })
      table.putSync([workerData.n, i], i)
    }
    await env.close()
    return table.name`, { place, n })))
  for (let i = 0; i < 50; i++) await env.transaction(() => { table.put('n', table.get('n') + 1) })
  assert.deepEqual(await Promise.all(answers), ['t', 't', 't', 't'])
  assert.equal(table.get('n'), 250)
  assert.equal(table.count({ prefix: [] }), 200)
})

test('worker threads end in the midst of everything', async t => {
  const place = file(t)
  const env = huon.open(place, { durability: 'lazy' })
  t.after(() => env.close())
  for (let round = 0; round < 10; round++) {
    const worker = inWorker(`
      const env = huon.open(workerData.place, { durability: 'lazy' })
      const table = env.table('t')
      await table.put(1, 1)
      parentPort.postMessage('begun')
      env.read()
      table.range()[Symbol.iterator]().next()
      env.waitForCommit()
      const more = () => { for (let i = 0; i < 100; i++) table.put(i, i); setImmediate(more) }
      more()
      if (workerData.round % 2) await env.write()
      await new Promise(() => {})`, { place, round })
    await answer(worker)
    await sleep(round)
    await worker.terminate()
    assert.equal(await env.table('t').put('after', round), true)
  }
  assert.deepEqual((await env.check()).problems, [])
  assert.equal(env.info().readers.length, 0)
})

test('a worker that waits for a commit leaves nothing open', { timeout: 30_000 }, async t => {
  const place = file(t)
  const worker = inWorker(`
    const env = huon.open(workerData.place)
    env.waitForCommit()
    parentPort.postMessage('waits')
    for await (const _ of env.commits()) {}`, { place })
  assert.equal(await answer(worker), 'waits')
  await worker.terminate()
  const deleted = () => {
    try {
      return huon.deleteFiles(place)
    } catch (error) {
      assert.equal(error.code, 'Busy')
      return false
    }
  }
  while (!deleted()) await sleep(5)
})

test('a worker that waits for the writer can be ended', async t => {
  const place = file(t)
  const env = huon.open(place, { durability: 'lazy' })
  t.after(() => env.close())
  const txn = await env.write()
  const worker = inWorker(`
    const env = huon.open(workerData.place)
    const waiting = env.table('t').put(1, 1)
    setTimeout(() => parentPort.postMessage('waits'), 20)
    await waiting`, { place })
  assert.equal(await answer(worker), 'waits')
  await worker.terminate()
  txn.abort()
  assert.equal(await env.table('t').put('after', 1), true)
})

test('memory does not grow', { timeout: 120_000 }, t => {
  const said = run(`
    const main = async () => {
      const env = huon.openInMemory()
      const table = env.table('t', { valueEncoding: 'binary' })
      await table.putMany(Array.from({ length: 1000 }, (_, n) => [n, Buffer.alloc(1000)]))
      const round = async () => {
        for (let i = 0; i < 30; i++) {
          for (let n = 0; n < 1000; n++) table.get(n)
          for (const _ of table.range()) {}
          table.getMany(Array.from({ length: 1000 }, (_, n) => n))
          for (let n = 0; n < 100; n++) {
            env.read().end()
            table.range()[Symbol.iterator]().next()
          }
          await env.transaction(txn => txn.table(table).put(1, Buffer.alloc(1000)))
          try { await env.transaction(() => { throw new Error('no') }) } catch {}
          try { table.get(NaN) } catch {}
          const other = huon.openInMemory()
          other.table('x').put(1, 1)
          await other.close()
        }
        gc()
        await new Promise(resolve => setTimeout(resolve, 10))
        gc()
      }
      await round()
      await round()
      const before = process.memoryUsage().rss
      for (let i = 0; i < 4; i++) await round()
      console.log(process.memoryUsage().rss - before < 30e6)
    }
    main()`, '--expose-gc')
  assert.equal(said, 'true\n')
})
