// What the compiler must know of the package, and what it must refuse. Nothing here runs.

import { createReadStream, createWriteStream } from 'node:fs'
import type { Readable } from 'node:stream'

import {
  open, openInMemory, restore, encodeKey, compareKeys, HuonError,
  type BackupReport, type Codec, type Compactor, type Entry, type Key, type Lazy,
  type NamedSnapshot, type ReadTransaction, type RestoreReport, type SnapshotId, type Table, Ticket
} from 'huon'
import { HuonLevel } from 'huon/abstract-level'

/** Fails to compile unless both are the same type. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never
function is<A, B> (_: Same<A, B>): void {}

interface Person { name: string, age: number }

async function tables (): Promise<void> {
  const env = open('people.huon', { durability: 'lazy', syncTimeout: 10 })
  const people = env.table<string, Person>('people', { valueEncoding: 'json' })
  const ada = people.get('ada')
  is<typeof ada, Person | undefined>(true)
  is<ReturnType<typeof people.put>, Promise<boolean>>(true)
  await people.put('ada', { name: 'Ada', age: 36 }, { ifNoExists: true })
  await people.remove('ada', { ifValue: { name: 'Ada', age: 36 } })
  const names: string[] = people.range({ prefix: 'a', reverse: true })
    .filter(({ value }) => value.age > 18)
    .map(({ value }) => value.name)
    .toArray()
  names.sort()
  const many: (Person | undefined)[] = people.getMany(['ada', 'alan'])
  many.pop()
  const keys: Lazy<string> = people.keysOnly()
  keys.take(3)

  // @ts-expect-error a key is text
  people.get(7)
  // @ts-expect-error a person has an age
  await people.put('ada', { name: 'Ada' })
  // @ts-expect-error no such option
  people.range({ start: 'a' })
  // @ts-expect-error no such durability
  open('a', { durability: 'maybe' })

  const bytes = env.table<Uint8Array, Uint8Array>('b', {
    keyEncoding: 'binary', valueEncoding: 'binary'
  })
  const found = bytes.get(new Uint8Array(3))
  is<typeof found, Buffer | undefined>(true)
  const places = env.table<[string, number], string>('places')
  const first = places.first()
  is<typeof first, Entry<[string, number], string> | undefined>(true)
  if (first !== undefined) is<typeof first.key, [string, number]>(true)

  const any = env.table('anything')
  await any.put(['a', [1n, null]], new Map())
  const loose: Table = any
  loose.count({ gt: 1 })
}

async function transactions (): Promise<void> {
  const env = openInMemory()
  const ages = env.table<string, number>('ages')
  const tags = env.multimap<string, string>('tags')
  const sum = await env.transaction(async txn => {
    const inside = txn.table(ages)
    is<ReturnType<typeof inside.put>, boolean>(true)
    txn.multimap(tags).put('ada', 'math')
    const savepoint = txn.savepoint()
    savepoint.rollBack()
    return inside.get('ada') ?? 0
  }, { durability: 'durable' })
  is<typeof sum, number>(true)
  const text = env.transactionSync(() => 'done')
  is<typeof text, string>(true)
  const txn: ReadTransaction = env.read()
  // @ts-expect-error a snapshot does not change
  txn.table(ages).put('ada', 1)
  // @ts-expect-error a multimap is no table
  txn.table(tags)
  txn.end()
  for (const value of tags.valuesOf('ada', { reverse: true })) is<typeof value, string>(true)
  for await (const id of env.commits()) is<typeof id, number>(true)
  await env.flushed
  const { problems } = await env.check()
  problems.length.toFixed()
}

async function waits (): Promise<void> {
  const env = openInMemory()
  const { signal } = new AbortController()
  const ticket: Ticket = await env.transaction(txn => txn.commitTicket(), { signal })
  is<typeof ticket.id, number>(true)
  await ticket.wait({ signal })
  const txn = await env.write({ signal })
  is<ReturnType<typeof txn.commitTicketSync>, Ticket>(true)
  for await (const id of env.commits({ signal })) is<typeof id, number>(true)
  await env.copyTo('x', { signal, onProgress: ({ doneBytes }) => { doneBytes.toFixed() } })
  const stream: Readable = env.copyStream({ compact: true, signal })
  stream.destroy()
  // @ts-expect-error it is not made by a program
  ticket.id = new Ticket()
  // @ts-expect-error a controller is no signal
  await env.sync({ signal: new AbortController() })
}

async function snapshots (): Promise<void> {
  const env = openInMemory()
  const { signal } = new AbortController()
  const monday: SnapshotId = await env.nameSnapshot('monday', { signal })
  const all: NamedSnapshot[] = env.namedSnapshots()
  is<ReturnType<typeof env.dropSnapshot>, Promise<boolean>>(true)
  await env.transaction(txn => {
    is<ReturnType<typeof txn.nameSnapshot>, SnapshotId>(true)
    return txn.dropSnapshot('monday')
  })
  env.read({ snapshot: 'monday' }).end()
  const ids: string[] = env.view(txn => txn.tables(), { snapshot: 'monday' })
  ids.sort()

  const onProgress = ({ doneBytes }: { doneBytes: number }): void => { doneBytes.toFixed() }
  const report: BackupReport = await env.backupTo('a', { snapshot: 'monday', signal, onProgress })
  await env.backupTo(createWriteStream('b'), { since: report.snapshot })
  await env.backupTo(process.stdout, { since: 'monday' })
  for (const since of [monday, ...all]) env.backupStream({ since }).destroy()
  const stream = env.backupStream()
  is<typeof stream.report, BackupReport | undefined>(true)
  const restored: RestoreReport =
    await restore('c', ['a', createReadStream('b'), stream], { signal, onProgress })
  restored.snapshot.checksum.toUpperCase()
  await restore('d', 'a')
  // @ts-expect-error a snapshot is read by its name
  env.read({ snapshot: monday })
  // @ts-expect-error an id alone is none
  await env.backupTo('a', { since: 7 })
  // @ts-expect-error a stream that is read is no target
  await env.backupTo(stream)
  // @ts-expect-error it must be said what is restored
  await restore('c')
}

async function writeOptimised (): Promise<void> {
  const env = openInMemory({ lsm: { fan: 4 } })
  const events = env.lsmTable<[number, string], { kind: string }>('events')
  is<ReturnType<typeof events.put>, Promise<boolean>>(true)
  await events.put([1, 'a'], { kind: 'sale' }, { until: new Date() })
  is<ReturnType<typeof events.remove>, Promise<void>>(true)
  for (const { key, value } of events.range({ gte: [1, ''], reverse: true })) {
    is<typeof key, [number, string]>(true)
    is<typeof value.kind, string>(true)
  }
  await env.transaction(txn => {
    const inside = txn.lsmTable(events)
    is<ReturnType<typeof inside.remove>, void>(true)
    // @ts-expect-error it is no ordinary table
    txn.table(events)
    // @ts-expect-error nothing says how many there were
    inside.removeRange().toFixed()
  })
  const { debtBytes, classes } = await events.stat()
  is<typeof debtBytes, number>(true)
  classes[0]?.runs.toFixed()
  await events.compact({ how: 'all', onProgress: ({ steps }) => { steps.toFixed() } })
  // @ts-expect-error no such way
  await env.compactLsm({ how: 'some' })
  // @ts-expect-error keys of these tables are compared as bytes
  env.lsmTable('x', { order: 'uint32' })
  const compactor: Compactor = env.startCompactor()
  await compactor.stop()
}

function rest (): void {
  const dates: Codec<Date> = {
    encode: date => Buffer.from(date.toISOString()),
    decode: bytes => new Date(bytes.toString())
  }
  const when = openInMemory().table<string, Date>('when', { valueEncoding: dates })
  const date: Date | undefined = when.get('now')
  const key: Key = ['a', 1, [null, true]]
  const order: number = compareKeys(key, date === undefined ? 1 : 2)
  encodeKey(key).at(order)
  try {
    when.count()
  } catch (error) {
    if (error instanceof HuonError && error.code === 'Busy') return
    // @ts-expect-error no such code
    if (error instanceof HuonError && error.code === 'Bussy') throw error
  }
}

export { tables, transactions, waits, snapshots, writeOptimised, rest }

async function level (): Promise<void> {
  const db = new HuonLevel<string, number>('a.huon', { valueEncoding: 'json', table: 't' })
  const value: number | undefined = await db.get('a')
  await db.batch([{ type: 'put', key: 'a', value: value ?? 1 }])
  await db.close()
}

export { level }
