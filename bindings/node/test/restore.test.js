'use strict'

// Backups, and environments that are made of them.

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { PassThrough, Readable, Writable } = require('node:stream')
const { pipeline } = require('node:stream/promises')
const test = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const zlib = require('node:zlib')

const { open, restore, deleteFiles } = require('..')
const { environment, file, filled } = require('./support')

const root = path.join(__dirname, '..')
const MISUSE = { name: 'HuonError', code: 'Misuse' }
const IO = { name: 'HuonError', code: 'Io' }
const NOT_FOUND = { name: 'HuonError', code: 'SnapshotNotFound', message: /"other"/ }

/** Paths in a folder of the test, and what is in it. */
function folder (t) {
  const inside = path.dirname(file(t))
  return { at: name => path.join(inside, name), names: () => fs.readdirSync(inside).sort() }
}

/** A small one, with a whole backup and what changed since. */
async function saved (t) {
  const env = environment(t)
  const table = env.table('t')
  const { at, names } = folder(t)
  await table.put('key', 'old')
  const first = await env.backupTo(at('one'))
  await table.put('key', 'new')
  const second = await env.backupTo(at('two'), { since: first.snapshot })
  return { env, table, at, names, first, second }
}

/** What a restored file shows. */
async function shown (place, key = 'key') {
  const env = open(place)
  const value = env.table('t').get(key)
  assert.deepEqual((await env.check()).problems, [])
  await env.close()
  return value
}

/** Waits until it holds. */
async function until (holds) {
  for (let tries = 0; !holds(); tries++) {
    assert.ok(tries < 1000, holds.toString())
    await sleep(5)
  }
}

const unread = env => until(() => env.info().readers.length === 0)

/** A signal, what aborts it, and the reason for that. */
function signal () {
  const controller = new AbortController()
  const reason = new Error('enough')
  return { signal: controller.signal, reason, abort: () => controller.abort(reason) }
}

test('a backup, and what changed since, to files and back', async t => {
  const { env, table, at, first, second } = await saved(t)
  assert.equal(first.since, undefined)
  assert.equal(first.snapshot.id, env.id - 1)
  assert.match(first.snapshot.checksum, /^[0-9a-f]{16}$/)
  assert.equal(first.bytes, fs.statSync(at('one')).size)
  assert.equal(fs.statSync(at('one')).mode & 0o777, 0o600)
  assert.deepEqual(second.since, first.snapshot)
  await env.nameSnapshot('second')
  await table.put('key', 'newest')
  assert.deepEqual(env.namedSnapshots()[0], { name: 'second', ...second.snapshot })
  const again = await env.backupTo(at('again'), { snapshot: 'second', since: first.snapshot })
  assert.deepEqual(again, second)
  assert.deepEqual(fs.readFileSync(at('again')), fs.readFileSync(at('two')))
  const third = await env.backupTo(at('three'), { since: 'second' })
  assert.deepEqual(third.since, second.snapshot)

  assert.equal((await restore(at('a'), at('one'))).snapshot.id, first.snapshot.id)
  const restored = await restore(at('b'), [at('one'), at('two')])
  assert.deepEqual(restored, { snapshot: second.snapshot, bytes: fs.statSync(at('b')).size })
  const all = ['one', 'two', 'three'].map(at)
  await restore(at('c'), all)
  assert.deepEqual(await Promise.all([at('a'), at('b'), at('c')].map(place => shown(place))),
    ['old', 'new', 'newest'])
  // A stream may have several, one after another.
  await pipeline(async function * () {
    for (const place of all) yield * fs.createReadStream(place)
  }, fs.createWriteStream(at('all')))
  for (const backups of [at('all'), fs.createReadStream(at('all'))]) {
    await restore(at('d'), backups)
    assert.equal(await shown(at('d')), 'newest')
    deleteFiles(at('d'))
  }
})

test('streams of all kinds, and no more ahead than one piece', async t => {
  const { env, table } = await filled(t)
  const { at } = folder(t)
  const stream = env.backupStream()
  assert.equal(stream.report, undefined)
  await once(stream, 'readable')
  await sleep(50)
  assert.ok(stream.readableLength <= 512 << 10)
  await table.put('later', Buffer.from('x'))
  await pipeline(stream, zlib.createGzip(), fs.createWriteStream(at('one.gz')))
  const first = stream.report
  assert.ok(first.bytes > 8e6)
  const told = []
  const second = await env.backupTo(fs.createWriteStream(at('two')),
    { since: first.snapshot, onProgress: progress => told.push(progress) })
  assert.equal(second.bytes, fs.statSync(at('two')).size)
  assert.deepEqual(told.at(-1), { doneBytes: second.bytes, totalBytes: 0 })
  const pieces = await env.backupStream({ since: second.snapshot }).toArray()
  const unzipped = fs.createReadStream(at('one.gz')).compose(zlib.createGunzip())
  let given = 0
  async function * small () {
    for (const byte of Buffer.concat(pieces)) {
      given++
      yield Uint8Array.of(byte)
    }
  }
  const report = await restore(at('b'), [unzipped, fs.createReadStream(at('two')), small()])
  assert.equal(given, Buffer.concat(pieces).length)
  assert.deepEqual(report.snapshot, second.snapshot)
  const restored = open(at('b'))
  t.after(() => restored.close())
  assert.equal(restored.table('t').count(), 2001)
  await unread(env)
  assert.equal(stream.destroyed, true)
})

test('bytes of web streams and of shared memory are bytes', async t => {
  const { at } = await saved(t)
  const bytes = fs.readFileSync(at('one'))
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  const web = Readable.toWeb(fs.createReadStream(at('one')))
  const sources = [Readable.from([bytes]), Readable.from([shared, Buffer.alloc(0)]), web]
  for (const [n, source] of sources.entries()) {
    await restore(at(`r${n}`), source)
    assert.equal(await shown(at(`r${n}`)), 'old')
  }
})

test('a target that is slow is waited for, and one that fails ends the backup', async t => {
  const { env } = await filled(t)
  let [held, most, written] = [0, 0, 0]
  const slow = new Writable({
    highWaterMark: 1,
    async write (piece, _, done) {
      most = Math.max(most, ++held)
      await sleep(1)
      written += piece.length
      held--
      done()
    }
  })
  assert.equal((await env.backupTo(slow)).bytes, written)
  assert.equal(most, 1)
  const reason = new Error('the disk is gone')
  const broken = new Writable({ write: (_, __, done) => done(reason) })
  await assert.rejects(env.backupTo(broken), reason)
  await unread(env)
  const closed = new PassThrough()
  closed.destroy()
  await assert.rejects(env.backupTo(closed))
  const progress = { onProgress: () => { throw reason } }
  const target = new PassThrough().resume()
  await assert.rejects(env.backupTo(target, progress), reason)
  assert.equal(target.destroyed, true)
  await unread(env)
})

test('a signal ends backups and restores, and so does what they are told with', async t => {
  const { env } = await filled(t)
  const { at, names } = folder(t)
  await env.backupTo(at('one'))
  const stalled = () => new PassThrough()
  let saves = 0
  const work = {
    // One that had ended as the signal came is whole, and has its name.
    toFile: how => env.backupTo(at(`saved ${++saves}`), how),
    toStream: how => env.backupTo(new PassThrough().resume(), how),
    fromFile: how => restore(at('never'), at('one'), how),
    fromStream: how => restore(at('never'), fs.createReadStream(at('one')), how)
  }
  for (const [name, run] of Object.entries(work)) {
    const { signal: end, reason, abort } = signal()
    await assert.rejects(run({ signal: end, onProgress: abort }), reason, name)
    await assert.rejects(run({ onProgress: () => { throw reason } }), reason, name)
    await assert.rejects(run({ signal: end }), reason, name)
  }
  const { signal: end, reason, abort } = signal()
  const [source, unread2] = [stalled(), stalled()]
  const ends = [
    env.backupTo(stalled(), { signal: end }),
    restore(at('never'), [at('one'), source, unread2], { signal: end }),
    restore(at('never'), [async function * () { await new Promise(() => {}) }()], { signal: end })
  ]
  await sleep(50)
  abort()
  await Promise.all(ends.map(ended => assert.rejects(ended, reason)))
  assert.deepEqual([source.destroyed, unread2.destroyed], [true, true])
  await unread(env)
  await until(() => names().every(name => /^one$|^saved [12]$/.test(name)))
  const told = []
  await restore(at('b'), at('one'), { signal: signal().signal, onProgress: at => told.push(at) })
  assert.deepEqual(told.at(-1), { doneBytes: fs.statSync(at('one')).size, totalBytes: 0 })
  assert.ok(told.length > 1)
})

test('snapshots that are not there', async t => {
  const { env, at, names, first, second } = await saved(t)
  await assert.rejects(env.backupTo(at('never'), { snapshot: 'other' }), NOT_FOUND)
  await assert.rejects(env.backupTo(at('never'), { since: 'other' }), NOT_FOUND)
  await assert.rejects(env.backupTo(new PassThrough(), { snapshot: 'other' }), NOT_FOUND)
  await assert.rejects(env.backupStream({ snapshot: 'other' }).toArray(), NOT_FOUND)
  assert.throws(() => env.backupStream({ since: 'other' }), NOT_FOUND)
  const late = { ...second.snapshot, id: second.snapshot.id + 1 }
  for (const since of [late, { id: 0, checksum: '0' }, { id: 1, checksum: 'xyz' }]) {
    await assert.rejects(env.backupTo(at('never'), { since }), { code: 'Invalid' })
  }
  // Nothing knows here that there is no backup of it.
  const unknown = { ...first.snapshot, checksum: '0123456789abcdef' }
  await env.backupTo(at('three'), { since: unknown })
  await assert.rejects(restore(at('b'), [at('one'), at('three')]), { code: 'Diverged' })
  assert.deepEqual(names(), ['one', 'three', 'two'])
})

test('backups that do not follow are refused, and so is a file that is there', async t => {
  const { at, names } = await saved(t)
  const DIVERGED = { name: 'HuonError', code: 'Diverged' }
  const wrong = [['two'], ['one', 'one'], ['one', 'two', 'two'], ['two', 'one']]
  for (const backups of wrong) {
    await assert.rejects(restore(at('b'), backups.map(at)), DIVERGED)
    const streams = backups.map(name => fs.createReadStream(at(name)))
    await assert.rejects(restore(at('b'), streams), DIVERGED)
    await until(() => streams.every(stream => stream.closed))
  }
  await assert.rejects(restore(at('b'), []), { code: 'Invalid' })
  assert.deepEqual(names(), ['one', 'two'])
  await restore(at('b'), at('one'))
  for (const backups of [at('two'), fs.createReadStream(at('one')), [], new PassThrough()]) {
    await assert.rejects(restore(at('b'), backups), { ...IO, message: /there is a file/ })
  }
  assert.equal(await shown(at('b')), 'old')
  await assert.rejects(restore(at('no/folder'), at('one')), IO)
})

test('what is damaged or cut is refused, from files and streams', async t => {
  const { at, names } = await saved(t)
  const whole = fs.readFileSync(at('one'))
  const changed = Buffer.from(whole)
  changed[5000] ^= 1
  const wrong = [
    [whole.subarray(0, 0), 'Io'], [whole.subarray(0, 100), 'Io'],
    [whole.subarray(0, whole.length - 1), 'Io'], [changed, 'Io'],
    [Buffer.concat([whole, Buffer.alloc(5000)]), 'NotADatabase'],
    [Buffer.concat([whole, Buffer.from('x')]), 'Io'], [Buffer.alloc(5000), 'NotADatabase']
  ]
  for (const [bytes, code] of wrong) {
    fs.writeFileSync(at('wrong'), bytes)
    await assert.rejects(restore(at('b'), at('wrong')), { code })
    for (const highWaterMark of [1 << 20, 1000]) {
      const stream = fs.createReadStream(at('wrong'), { highWaterMark })
      await assert.rejects(restore(at('b'), stream), { code })
      await until(() => stream.closed)
    }
  }
  await assert.rejects(restore(at('b'), at('none')), { ...IO, message: /none/ })
  assert.deepEqual(names(), ['one', 'two', 'wrong'])
})

test('a stream that fails ends the restore with its error', async t => {
  const { at, names } = await saved(t)
  const reason = new Error('the net is gone')
  async function * failing () {
    yield fs.readFileSync(at('one')).subarray(0, 3000)
    throw reason
  }
  await assert.rejects(restore(at('b'), failing()), reason)
  await assert.rejects(restore(at('b'), Readable.from(failing())), reason)
  await assert.rejects(restore(at('b'), [at('one'), failing()]), reason)
  const missing = fs.createReadStream(at('none'))
  await once(missing, 'error')
  await assert.rejects(restore(at('b'), missing), { code: 'ENOENT' })
  // One that fails before its turn is told of in its turn.
  const later = [fs.createReadStream(at('one')), fs.createReadStream(at('none'))]
  await assert.rejects(restore(at('b'), later), { code: 'ENOENT' })
  const ended = new PassThrough()
  ended.destroy()
  await assert.rejects(restore(at('b'), ended), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
  for (const piece of ['text', 7, {}]) {
    await assert.rejects(restore(at('b'), Readable.from([piece])), TypeError)
  }
  assert.deepEqual(names(), ['one', 'two'])
})

test('what is no target, source or option is refused', async t => {
  const { env, at, names } = await saved(t)
  const uses = [
    () => env.backupTo(), () => env.backupTo(7), () => env.backupTo({ since: 'x' }),
    () => env.backupTo(Readable.from([])), () => env.backupTo(at('x'), { compact: true }),
    () => env.backupTo(at('x'), { snapshot: 7 }), () => env.backupTo(at('x'), { since: 7 }),
    () => env.backupTo(at('x'), { since: null }), () => env.backupTo(at('x'), { since: { id: 1 } }),
    () => env.backupTo(at('x'), { signal: new EventTarget() }),
    () => env.backupTo(at('x'), { onProgress: 1 }),
    () => env.backupTo(new PassThrough(), { signal: new EventTarget() }),
    () => env.backupTo(new PassThrough(), { onProgress: 1 }),
    async () => env.backupStream({ signal: new EventTarget() }),
    async () => env.backupStream({ onProgress: () => {} }), async () => env.backupStream('x'),
    () => restore(), () => restore(7, at('one')), () => restore(at('b')),
    () => restore(at('b'), 7), () => restore(at('b'), [at('one'), Buffer.from('x')]),
    () => restore(at('b'), at('one'), { signal: new EventTarget() }),
    () => restore(at('b'), at('one'), { onProgress: 1 }),
    () => restore(at('b'), at('one'), { since: 1 })
  ]
  for (const use of uses) await assert.rejects(use, TypeError, use.toString())
  const existing = fs.readFileSync(at('one'))
  await assert.rejects(env.backupTo(at('one')), IO)
  assert.deepEqual(fs.readFileSync(at('one')), existing)
  await assert.rejects(env.backupTo(at('no/folder')), IO)
  assert.deepEqual(names(), ['one', 'two'])
})

test('closing waits for files, and ends streams', async t => {
  const { env } = await filled(t)
  const { at } = folder(t)
  const target = new PassThrough()
  const toStream = assert.rejects(env.backupTo(target), MISUSE)
  const stream = env.backupStream()
  await Promise.all([once(stream, 'readable'), once(target, 'readable')])
  const toFile = env.backupTo(at('one'))
  await env.close()
  assert.equal(deleteFiles(env.path), true)
  const { bytes } = await toFile
  assert.equal(fs.statSync(at('one')).size, bytes)
  await toStream
  assert.equal(target.destroyed, true)
  await assert.rejects(stream.toArray(), MISUSE)
  await assert.rejects(env.backupTo(at('two')), MISUSE)
  await assert.rejects(env.backupTo(new PassThrough()), MISUSE)
  await assert.rejects(env.backupTo(new PassThrough(), { since: 'x' }), MISUSE)
  assert.throws(() => env.backupStream(), MISUSE)
  await restore(at('b'), at('one'))
  const restored = open(at('b'))
  assert.equal(restored.table('t').count(), 2000)
  await restored.close()
})

test('damage ends a backup, and leaves no file', async t => {
  const { env } = await filled(t)
  await env.close()
  const bytes = fs.readFileSync(env.path)
  for (let page = 40; page * 4096 + 2000 < bytes.length; page++) bytes[page * 4096 + 2000] ^= 1
  fs.writeFileSync(env.path, bytes)
  const damaged = open(env.path)
  t.after(() => damaged.close())
  const { at, names } = folder(t)
  await assert.rejects(damaged.backupTo(at('one')), { code: 'Corrupt' })
  await assert.rejects(damaged.backupTo(new PassThrough().resume()), { code: 'Corrupt' })
  assert.deepEqual(names(), [])
})

/** What a program says that runs in a process of its own. */
function run (program) {
  const script = `
    const fs = require('node:fs')
    const { PassThrough } = require('node:stream')
    const { open, restore } = require(${JSON.stringify(root)})
    const main = async () => { ${program} }
    main()`
  return execFileSync(process.execPath, ['--expose-gc', '-e', script],
    { encoding: 'utf8', timeout: 20_000 })
}

test('what is forgotten lets go of everything, and keeps no program alive', async t => {
  const { env } = await filled(t)
  await env.flushed
  const { at } = folder(t)
  await env.backupTo(at('one'))
  assert.equal(run(`
    const env = open(${JSON.stringify(env.path)}, { readOnly: true })
    const names = () => fs.readdirSync(${JSON.stringify(path.dirname(at('x')))})
    let stream = env.backupStream()
    stream.once('readable', () => { stream = null })
    const half = fs.readFileSync(${JSON.stringify(at('one'))}).subarray(0, 2 << 20)
    for (const options of [undefined, { onProgress () {} }]) {
      const source = new PassThrough()
      source.write(half)
      restore(${JSON.stringify(at('b'))}, source, options)
    }
    while (names().length < 3 || env.info().readers.length < 1) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    console.log('begun')
    const waiting = setInterval(() => {
      gc()
      if (env.info().readers.length > 0 || names().length > 1) return
      clearInterval(waiting)
      console.log('let go')
      env.backupStream().once('readable', () => console.log('left'))
      restore(${JSON.stringify(at('c'))}, new PassThrough())
    }, 10)`), 'begun\nlet go\nleft\n')
})

test('a restore that is waited for keeps the program alive', async t => {
  const { at } = await saved(t)
  assert.equal(run(`
    restore(${JSON.stringify(at('b'))}, fs.createReadStream(${JSON.stringify(at('one'))}))
      .then(({ snapshot }) => console.log(typeof snapshot.checksum))`), 'string\n')
  assert.equal(await shown(at('b')), 'old')
})

test('a worker may end in the midst of all of it', async t => {
  const { env } = await filled(t)
  await env.flushed
  const { at, names } = folder(t)
  await env.backupTo(at('one'))
  const workerData = { place: env.path, one: at('one'), never: at('never'), two: at('two') }
  for (let round = 0; round < 8; round++) {
    const worker = new Worker(`
      const { parentPort, workerData } = require('node:worker_threads')
      const { PassThrough } = require('node:stream')
      const fs = require('node:fs')
      const { open, restore } = require(${JSON.stringify(root)})
      const env = open(workerData.place)
      const [source, target] = [new PassThrough(), new PassThrough()]
      source.write(fs.readFileSync(workerData.one).subarray(0, 3 << 20))
      restore(workerData.never, [source, workerData.one]).catch(() => {})
      env.backupTo(target).catch(() => {})
      target.once('readable', () => {
        env.nameSnapshot('of a worker').catch(() => {})
        parentPort.postMessage('reads')
      })`, { eval: true, workerData })
    await once(worker, 'message')
    await sleep(round * 2)
    await worker.terminate()
    await unread(env)
    await until(() => names().length === 1)
  }
  assert.deepEqual((await env.check()).problems, [])
})
