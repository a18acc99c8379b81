'use strict'

// Copies as streams.

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { pipeline } = require('node:stream/promises')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')

const { open, deleteFiles } = require('..')
const { file, filled } = require('./support')

const root = path.join(__dirname, '..')

/** Waits until nothing is read any more. */
async function unread (env) {
  for (let tries = 0; env.info().readers.length > 0; tries++) {
    assert.ok(tries < 1000, 'a snapshot is kept')
    await sleep(5)
  }
}

for (const compact of [false, true]) {
  test(`a stream is a whole copy, ${compact ? 'compacted' : 'page by page'}`, async t => {
    const { env, table } = await filled(t)
    const copy = file(t)
    const stream = env.copyStream({ compact })
    const [first] = await once(stream, 'readable').then(() => [stream.read(1000)])
    assert.equal(first.length, 1000)
    stream.unshift(first)
    await table.put('later', Buffer.from('x'))
    await table.removeRange({ lt: 100 })
    await pipeline(stream, fs.createWriteStream(copy))
    await unread(env)
    const other = open(copy)
    t.after(() => other.close())
    assert.equal(other.table('t').count(), 2000)
    assert.deepEqual((await other.check()).problems, [])
  })
}

test('a stream makes no more than is read, and a stream that is not read nothing', async t => {
  const { env, table } = await filled(t)
  const idle = env.copyStream()
  const stream = env.copyStream()
  await once(stream, 'readable')
  await sleep(50)
  assert.ok(stream.readableLength <= 512 << 10)
  assert.equal(env.info().readers.length, 1)
  await table.put(1, Buffer.from('a writer is not in its way'))
  stream.destroy()
  await once(stream, 'close')
  assert.equal(env.info().readers.length, 0)
  idle.destroy()
  await once(idle, 'close')
})

test('the end of a loop, and a signal, end the copy', async t => {
  const { env } = await filled(t)
  for await (const piece of env.copyStream()) {
    assert.ok(piece.length > 0)
    break
  }
  await unread(env)
  const controller = new AbortController()
  const reading = (async () => {
    for await (const piece of env.copyStream({ signal: controller.signal })) {
      assert.ok(Buffer.isBuffer(piece))
      controller.abort()
    }
  })()
  await assert.rejects(reading, { name: 'AbortError' })
  await unread(env)
  const late = env.copyStream({ signal: AbortSignal.abort() })
  await assert.rejects(late.toArray(), { name: 'AbortError' })
})

test('closing the environment ends a backup that nobody reads on', async t => {
  const { env } = await filled(t)
  const stream = env.copyStream()
  await once(stream, 'readable')
  await env.close()
  assert.equal(deleteFiles(env.path), true)
  await assert.rejects(stream.toArray(), { code: /Misuse|Io/ })
  assert.throws(() => env.copyStream(), { code: 'Misuse' })
})

test('damage ends a backup before its first byte', async t => {
  const { env } = await filled(t)
  await env.close()
  const bytes = fs.readFileSync(env.path)
  for (let page = 40; page * 4096 + 2000 < bytes.length; page++) bytes[page * 4096 + 2000] ^= 1
  fs.writeFileSync(env.path, bytes)
  const damaged = open(env.path)
  t.after(() => damaged.close())
  let count = 0
  await assert.rejects(async () => {
    for await (const piece of damaged.copyStream()) count += piece.length
  }, { code: 'Corrupt' })
  assert.equal(count, 0)
})

test('a stream that is forgotten lets go of its snapshot, and keeps no program alive', async t => {
  const { env } = await filled(t)
  await env.flushed
  const program = `
    const { open } = require(${JSON.stringify(root)})
    const env = open(${JSON.stringify(env.path)}, { readOnly: true })
    let stream = env.copyStream()
    stream.once('readable', () => {
      stream = null
      const waiting = setInterval(() => {
        gc()
        if (env.info().readers.length > 0) return
        clearInterval(waiting)
        console.log('let go')
        env.copyStream().once('readable', () => console.log('left'))
      }, 10)
    })`
  const said = execFileSync(process.execPath, ['--expose-gc', '-e', program],
    { encoding: 'utf8', timeout: 20_000 })
  assert.equal(said, 'let go\nleft\n')
})

test('a worker may end in the midst of a backup', async t => {
  const { env } = await filled(t)
  await env.flushed
  const worker = new Worker(`
    const { parentPort } = require('node:worker_threads')
    const env = require(${JSON.stringify(root)}).open(${JSON.stringify(env.path)})
    const stream = env.copyStream()
    stream.once('readable', () => parentPort.postMessage('reads'))`, { eval: true })
  await once(worker, 'message')
  await worker.terminate()
  await unread(env)
})
