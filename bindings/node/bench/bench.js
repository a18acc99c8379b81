'use strict'

// Huon beside lmdb in one process: a million records of 16 + 100 bytes, keys in hashed order.
// `node bench.js [records [row]]` prints nanoseconds, and how many times as fast Huon is; the best
// of some rounds in turns.

const crypto = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const lmdb = require('lmdb')
const huon = require('..')

const RECORDS = Number(process.argv[2] ?? 1_000_000)
const ONLY = process.argv[3]
const ROUNDS = 3
const SAMPLE = Math.min(RECORDS, 200_000)
const DURABLE = 200

const folder = fs.mkdtempSync(path.join(process.env.HUON_BENCH ?? os.tmpdir(), 'huon-bench-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true }))

/** All keys in one piece: a million objects would have the collector measured. */
const keys = Buffer.alloc(16 * RECORDS)
for (let n = 0; n < RECORDS; n++) {
  crypto.createHash('md5').update(String(n)).digest().copy(keys, 16 * n)
}
const key = n => keys.subarray(16 * n, 16 * n + 16)
const value = Buffer.alloc(100, 'v')
/** Those that are looked up, in an order of their own, one behind another. */
const chosen = Buffer.alloc(16 * SAMPLE)
for (let n = 0; n < SAMPLE; n++) key((n * 7919) % RECORDS).copy(chosen, 16 * n)
const wanted = n => chosen.subarray(16 * n, 16 * n + 16)
const wantedMany = n => Array.from({ length: Math.min(64, SAMPLE - n) }, (_, i) => wanted(n + i))

const binary = { keyEncoding: 'binary', valueEncoding: 'binary' }

function openHuon (name, options) {
  const env = huon.open(path.join(folder, `${name}.huon`), options)
  return { env, table: env.table('t', binary) }
}

function openLmdb (name, options) {
  return lmdb.open({
    path: path.join(folder, `${name}.mdb`),
    keyEncoding: 'binary',
    encoding: 'binary',
    mapSize: 4 * 2 ** 30,
    ...options
  })
}

async function fill (put) {
  for (let at = 0; at < RECORDS; at += 1000) {
    let last
    for (let i = at; i < Math.min(at + 1000, RECORDS); i++) last = put(key(i), value)
    await last
  }
}

/** The time of one of `count` things, in nanoseconds. */
async function time (count, work) {
  global.gc?.()
  const begin = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - begin) / count
}

async function row (name, count, ours, theirs) {
  if (ONLY !== undefined && name !== ONLY) return
  let [best, theirBest] = [Infinity, Infinity]
  for (let round = 0; round < ROUNDS; round++) {
    best = Math.min(best, await time(count, ours))
    theirBest = Math.min(theirBest, await time(count, theirs))
  }
  const times = (theirBest / best).toFixed(2)
  const figures = [best, theirBest].map(time => time.toFixed(0).padStart(9))
  console.log(`${name.padEnd(34)} ${figures.join(' ')}  x ${times}`)
}

function gets (get) {
  let bytes = 0
  for (let i = 0; i < SAMPLE; i++) bytes += get(wanted(i)).length
  if (bytes !== SAMPLE * 100) throw new Error('values are missing')
}

function scan (records) {
  let count = 0
  for (const { key, value } of records) count += key.length + value.length
  if (count !== RECORDS * 116) throw new Error(`${count} bytes`)
}

async function puts (put) {
  for (let at = 0; at < 50_000; at += 1000) {
    let last
    for (let i = at; i < at + 1000; i++) last = put(wanted(i % SAMPLE), other())
    await last
  }
}

/** A value that was not there before: Huon writes nothing for one that was. */
let fresh = 0
function other () {
  const made = Buffer.from(value)
  made.writeUInt32LE(++fresh)
  return made
}

async function durable (put) {
  for (let i = 0; i < DURABLE; i++) await put(key(i), other())
}

/** Of lmdb a put resolves when it is committed, and this when it is on the disk. */
async function flushed (db, key, value) {
  await db.put(key, value)
  await db.flushed
}

async function main () {
  const { env, table } = openHuon('lazy', { durability: 'lazy' })
  const db = openLmdb('lazy', { noSync: true })
  await fill((key, value) => table.put(key, value))
  await fill((key, value) => db.put(key, value))
  console.log(`${'nanoseconds'.padEnd(34)} ${'huon'.padStart(9)} ${'lmdb'.padStart(9)}`)
  await row('get', SAMPLE, () => gets(key => table.get(key)), () => gets(key => db.get(key)))
  await row('get against getBinaryFast', SAMPLE,
    () => gets(key => table.get(key)), () => gets(key => db.getBinaryFast(key)))
  await row('has', SAMPLE, () => { for (let i = 0; i < SAMPLE; i++) table.has(wanted(i)) },
    () => { for (let i = 0; i < SAMPLE; i++) db.doesExist(wanted(i)) })
  await row('getMany, 64 keys', SAMPLE, () => {
    for (let at = 0; at < SAMPLE; at += 64) table.getMany(wantedMany(at))
  }, async () => {
    for (let at = 0; at < SAMPLE; at += 64) await db.getMany(wantedMany(at))
  })
  await row('scan', RECORDS, () => scan(table.range()), () => scan(db.getRange()))
  await row('ranges of 10', SAMPLE / 10, () => {
    for (let i = 0; i < SAMPLE / 10; i++) table.range({ gte: wanted(i), limit: 10 }).toArray()
  }, () => {
    for (let i = 0; i < SAMPLE / 10; i++) Array.from(db.getRange({ start: wanted(i), limit: 10 }))
  })
  await row('put, 1000 a transaction', 50_000,
    () => puts((key, value) => table.put(key, value)),
    () => puts((key, value) => db.put(key, value)))
  await row('the same in transaction()', 50_000, async () => {
    for (let at = 0; at < 50_000; at += 1000) {
      await env.transaction(txn => {
        const inside = txn.table(table)
        for (let i = at; i < at + 1000; i++) inside.put(wanted(i % SAMPLE), other())
      })
    }
  }, async () => {
    for (let at = 0; at < 50_000; at += 1000) {
      await db.transaction(() => {
        for (let i = at; i < at + 1000; i++) db.put(wanted(i % SAMPLE), other())
      })
    }
  })
  await env.close()
  await db.close()
  const safe = openHuon('durable', {})
  const mdb = openLmdb('durable', {})
  await row('durable put', DURABLE,
    () => durable((key, value) => safe.table.put(key, value)),
    () => durable((key, value) => flushed(mdb, key, value)))
  await safe.env.close()
  await mdb.close()
}

main()
