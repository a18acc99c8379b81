'use strict'

const assert = require('node:assert/strict')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')

const { open } = require('..')
const { environment, file } = require('./support')

test('a transaction happens as a whole, or not at all', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  assert.equal(await env.transaction(txn => {
    const inside = txn.table(ages)
    inside.put('ada', 36)
    inside.put('alan', 41)
    assert.equal(inside.get('ada'), 36)
    return inside.count()
  }), 2)
  const error = new Error('no')
  await assert.rejects(env.transaction(async txn => {
    txn.table('ages').remove('ada')
    await sleep(1)
    throw error
  }), error)
  assert.deepEqual(ages.keysOnly().toArray(), ['ada', 'alan'])
})

test('in the work of a transaction, tables are those of the transaction', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  let outside
  const inside = env.transaction(async () => {
    assert.equal(await ages.put('ada', 1), true)
    await sleep(20)
    assert.equal(ages.get('ada'), 1)
    assert.equal(ages.putSync('alan', 2), true)
    await Promise.all([ages.put('bob', 3), ages.remove('alan')])
    assert.equal(ages.count(), 2)
    assert.equal(outside, 0)
    return 'done'
  })
  await sleep(10)
  outside = ages.count()
  const later = ages.put('cid', 4)
  assert.equal(await inside, 'done')
  assert.equal(outside, 0, 'nothing of it is seen before')
  await later
  assert.deepEqual(ages.keysOnly().toArray(), ['ada', 'bob', 'cid'])
})

test('what runs on after its transaction does not belong to it', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  let late
  await env.transaction(() => { late = sleep(5).then(() => ages.put('late', 1)) })
  assert.equal(ages.count(), 0)
  await late
  assert.equal(ages.get('late'), 1)
})

test('transactions and writes come one after another', async t => {
  const env = environment(t)
  const table = env.table('t')
  await table.put('n', 0)
  await Promise.all(Array.from({ length: 50 }, async (_, i) => {
    if (i % 3 === 0) await table.put(`other ${i}`, i)
    else {
      await env.transaction(async () => {
        const n = table.get('n')
        await sleep(0)
        table.put('n', n + 1)
      })
    }
  }))
  assert.equal(table.get('n'), 33)
  assert.equal(table.count(), 18)
})

test('a range of a transaction ends with it', async t => {
  const env = environment(t)
  const table = env.table('t')
  const records = await env.transaction(async () => {
    await table.putMany(Array.from({ length: 100 }, (_, n) => [n, n]))
    const records = table.range()[Symbol.iterator]()
    records.next()
    return { next: () => records.next() }
  })
  assert.throws(() => { for (let n = 0; n < 99; n++) records.next() }, { code: 'Misuse' })
})

test('synchronous transactions', t => {
  const env = environment(t)
  const ages = env.table('ages')
  assert.equal(env.transactionSync(() => { ages.put('ada', 1); return ages.get('ada') }), 1)
  const fails = () => { ages.put('ada', 2); throw new Error('no') }
  assert.throws(() => env.transactionSync(fails), /no/)
  assert.equal(ages.get('ada'), 1)
  assert.throws(() => env.transactionSync(async () => {}), TypeError)
  assert.equal(ages.putSync('bob', 2), true)
  assert.equal(ages.removeSync('bob'), true)
  assert.equal(ages.removeSync('bob'), false)
})

test('one that was aborted leaves nothing behind', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  assert.equal(await env.transaction(txn => {
    ages.put('ada', 1)
    txn.abort()
    return 'aborted'
  }), 'aborted')
  assert.equal(ages.count(), 0)
})

test('nested ones', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  await env.transaction(async txn => {
    ages.put('kept', 1)
    assert.throws(() => txn.nested(() => { ages.put('lost', 2); throw new Error('no') }), /no/)
    await assert.rejects(txn.nested(async () => {
      await ages.put('lost', 2)
      throw new Error('no')
    }), /no/)
    await env.transaction(() => ages.put('inner', 3))
    assert.equal(env.transactionSync(() => ages.get('inner')), 3)
    const outer = txn.savepoint()
    ages.put('lost', 4)
    const inner = txn.savepoint()
    assert.throws(() => outer.release(), { code: 'Misuse' })
    await assert.rejects(txn.commit(), { code: 'Misuse' })
    inner.release()
    outer.rollBack()
    assert.throws(() => outer.rollBack(), { code: 'Misuse' })
  })
  assert.deepEqual(ages.keysOnly().toArray(), ['inner', 'kept'])
})

test('a table that was made in what is undone is made again', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  await env.transaction(txn => {
    const savepoint = txn.savepoint()
    ages.put('ada', 1)
    savepoint.rollBack()
    ages.put('alan', 2)
    ages.drop()
    ages.put('bob', 3)
  })
  assert.deepEqual(ages.keysOnly().toArray(), ['bob'])
})

test('one by hand', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  const txn = await env.write()
  txn.table(ages).put('ada', 1)
  assert.equal(ages.get('ada'), undefined)
  const later = ages.put('bob', 2)
  assert.throws(() => env.writeSync(), { code: 'Busy' })
  assert.throws(() => env.transactionSync(() => 1), { code: 'Busy' })
  const id = await txn.commit({ durability: 'durable' })
  assert.ok(env.durableId >= id)
  await later
  assert.equal(ages.count(), 2)
  const second = env.writeSync()
  second.abort()
  second.abort()
  const third = env.writeSync()
  third.table(ages).clear()
  third.commitSync()
  assert.equal(ages.count(), 0)
})

test('one by hand is committed while others wait for it', async t => {
  const env = open(file(t), { durability: 'lazy', lockTimeout: 3000 })
  t.after(() => env.close())
  const ages = env.table('ages')
  for (const wait of [() => ages.put('bob', 2), () => env.transaction(() => ages.put('bob', 3))]) {
    const txn = env.writeSync()
    txn.table(ages).put('ada', 1)
    const waiting = wait()
    await sleep(20)
    await txn.commit()
    assert.equal(await waiting, true)
  }
  const last = env.writeSync()
  last.table(ages).put('cid', 3)
  const committed = last.commit()
  await env.close()
  await committed
})

test('snapshots', async t => {
  const env = environment(t)
  const ages = env.table('ages')
  await ages.put('ada', 1)
  const txn = env.read()
  await ages.put('ada', 2)
  assert.equal(txn.table(ages).get('ada'), 1)
  assert.ok(txn.id < env.id)
  txn.park()
  assert.throws(() => txn.table(ages).get('ada'), { code: 'Misuse' })
  txn.unpark()
  assert.equal(txn.table('ages').first().value, 1)
  assert.equal(txn.renew(), true)
  assert.equal(txn.renew(), false)
  assert.equal(txn.table(ages).get('ada'), 2)
  txn.end()
  txn.end()
  assert.equal(env.view(txn => txn.table(ages).get('ada')), 2)
  const later = async txn => { await sleep(1); return txn.table(ages).get('ada') }
  assert.equal(await env.view(later), 2)
  assert.throws(() => env.view(() => { throw new Error('no') }), /no/)
  assert.equal(env.info().readers.length, 0)
})

test('a snapshot whose pages a writer has taken is lost', async t => {
  const env = open(file(t), { durability: 'lazy', maxBytes: 1 << 20 })
  t.after(() => env.close())
  const table = env.table('t', { valueEncoding: 'binary' })
  await table.put('ada', 'old')
  const fill = n => env.transaction(() => {
    for (let i = 0; i < 30; i++) table.put(i, Buffer.alloc(10_000, n))
  })
  await fill(100)
  const txn = env.read()
  txn.park()
  for (let n = 0; n < 30; n++) await fill(n)
  assert.throws(() => txn.unpark(), { code: 'Evicted' })
  assert.equal(txn.isEnded, true)
  for (const use of [() => txn.table(table).get('ada'), () => txn.id, () => txn.unpark()]) {
    assert.throws(use, { code: 'Misuse' })
  }
  assert.equal(env.info().readers.length, 0)
})

test('what is flushed before it is closed', async t => {
  const env = environment(t)
  env.table('t').put(1, 1)
  const { flushed } = env
  await env.close()
  await flushed
})

test('work with a snapshot may give any thenable', async t => {
  const env = environment(t)
  assert.equal(await env.view(() => ({ then: resolve => resolve(1) })), 1)
  assert.equal(env.info().readers.length, 0)
})

test('many records in order are loaded at once', async t => {
  const env = environment(t)
  const table = env.table('t')
  const records = function * (from, to) { for (let n = from; n < to; n++) yield [n, `value ${n}`] }
  assert.equal(await env.transaction(txn => txn.table(table).load(records(0, 100_000))), 100_000)
  assert.equal(await env.transaction(txn => txn.table(table).load(records(100_000, 100_010))), 10)
  assert.equal(table.count(), 100_010)
  assert.equal(table.get(99_999), 'value 99999')
  await assert.rejects(env.transaction(txn => txn.table(table).load(records(5, 6))),
    { code: 'KeyOutOfOrder' })
  assert.equal(await env.transaction(txn => txn.table(table).append(100_010, 'last')), true)
  assert.deepEqual((await env.check()).problems, [])
})

test('a lost transaction and a lost range let go', { timeout: 60_000 }, async t => {
  const { execFileSync } = require('node:child_process')
  const program = `
    const huon = require(${JSON.stringify(require.resolve('..'))})
    const env = huon.openInMemory()
    const table = env.table('t')
    const begin = async () => { await env.write() }
    const main = async () => {
      await table.putMany(Array.from({ length: 5000 }, (_, n) => [n, n]))
      for (let i = 0; i < 1000; i++) { table.range()[Symbol.iterator]().next(); env.read() }
      const collector = setInterval(gc, 5)
      await begin()
      await table.put('after', 1)
      while (env.info().readers.length > 0) await new Promise(resolve => setTimeout(resolve, 5))
      clearInterval(collector)
      await env.close()
      console.log('done')
    }
    main()`
  const said = execFileSync(process.execPath, ['--expose-gc', '-e', program],
    { encoding: 'utf8', timeout: 60_000 })
  assert.equal(said, 'done\n')
})

test('committed and flushed', async t => {
  const path = file(t)
  const env = open(path, { durability: 'lazy' })
  const table = env.table('t')
  table.put('a', 1)
  await env.committed
  assert.equal(table.get('a'), 1)
  const { id } = env
  assert.ok(env.durableId < id)
  await env.flushed
  assert.ok(env.durableId >= id)
  table.put('b', 2)
  await env.close()
  const again = open(path)
  assert.equal(again.table('t').get('b'), 2, 'what was put before is there')
  await again.close()
})
