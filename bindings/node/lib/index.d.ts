/// <reference types="node" />

import type { Abortable, Care, LsmCompactOptions } from './care'
import type { ReadOptions, SnapshotId, Snapshots } from './snapshots'

export * from './care'
export * from './snapshots'

/** What went wrong: the names of the engine's errors, and a few of the package's own. */
export type ErrorCode =
  | 'KeyTooLong' | 'ValueTooLong' | 'KeyLength' | 'KeyOutOfOrder' | 'TableNotFound' | 'TableKind'
  | 'TableExists' | 'Decode' | 'ReadOnly' | 'Invalid' | 'MapFull' | 'TxnBroken' | 'Busy'
  | 'NotADatabase' | 'Version' | 'PageSize' | 'Journal' | 'Poisoned' | 'Forked' | 'Io' | 'Corrupt'
  | 'SortedValueTooLong' | 'ValueLength' | 'ManyValues' | 'OutOfMemory' | 'MapTooSmall' | 'Evicted'
  | 'WrongOrder' | 'EnvironmentsFull' | 'NameTaken' | 'OrderUnknown' | 'PrefixOrder'
  | 'TablesInside' | 'TableType' | 'Encode' | 'Diverged' | 'Other'
  /** No snapshot has the name. */
  | 'SnapshotNotFound'
  /** Something was used after its end, or not as it is meant to be. */
  | 'Misuse'
  /** A bug in Huon. */
  | 'Internal'

export class HuonError extends Error {
  constructor (code: ErrorCode, message: string, options?: ErrorOptions)
  readonly code: ErrorCode
}

/** What a key is in the encoding `ordered`: it comes back as it was put, bytes as a `Buffer`. */
export type Key =
  | null | boolean | number | bigint | string | Uint8Array | readonly Key[]

/** What a commit waits for: see docs/RELIABILITY.md. */
export type Durability = 'durable' | 'noMetaSync' | 'lazy' | 'unsynced'

export interface OpenOptions {
  /** Nothing is written, and no writer is disturbed. */
  readOnly?: boolean
  /** Creates the file if it is missing: true by default. */
  create?: boolean
  /** No other process may have it open. */
  exclusive?: boolean
  /** What commits wait for: `durable` by default. */
  durability?: Durability
  /** Of a new file. */
  pageBytes?: number
  minBytes?: number
  /** How long the file may become: 1 TiB by default. */
  maxBytes?: number
  /** Address space that is reserved. */
  mapBytes?: number
  growBytes?: number
  shrinkBytes?: number
  /** Memory of a write transaction before it writes pages early. */
  writeBufferBytes?: number
  /** A file beside it, so long, that makes durable commits faster. */
  journalBytes?: number
  /** Flushes lazy commits once they have written so much. */
  flushAfterBytes?: number
  /** The same after so many milliseconds. */
  flushAfter?: number
  /** How long a writer waits for others, in milliseconds: an hour by default. */
  lockTimeout?: number
  /** How long one that is synchronous waits: 5000 by default. */
  syncTimeout?: number
  /** Permissions of new files: 0o600 by default. */
  mode?: number
  verify?: 'pages' | 'pagesAndValues' | 'never'
  readAhead?: 'ifItFits' | 'always' | 'never'
  lsm?: LsmOptions
}

/** How write-optimised tables are kept: docs/LSM.md. The first four are stored with a new table. */
export interface LsmOptions {
  /** Runs of about the same size that are merged at a time: 2 to 1024, 8 by default. */
  fan?: number
  /** Bits of filters for each key: 0 (none) to 64, 12 by default. */
  filterBits?: number
  /** A transaction that puts fewer records adds them to the open run: 128 by default. */
  small?: number
  /** Bytes at which the open run is frozen: 256 KiB by default. */
  openBytes?: number
  /** Bytes up to which runs count as small: 64 KiB by default. */
  baseBytes?: number
  /** Bytes that a merge hands over in one transaction: 4 MiB by default. */
  stepBytes?: number
  /** Bytes that a transaction collects in memory before it makes a run: 64 MiB by default. */
  batchBytes?: number
  /** Bytes of filters kept in memory for a table: 64 MiB by default. */
  filterMemory?: number
  /** Runs at which a commit waits for merges, or helps: 512 by default. */
  runsMax?: number
  /** Milliseconds for which a merge is left to the process that made its last step: 10000. */
  lease?: number
}

export type KeyEncoding = 'ordered' | 'string' | 'binary'
export type ValueEncoding = 'msgpack' | 'json' | 'string' | 'binary' | 'ordered'

/** An encoding of the program's own. */
export interface Codec<V> {
  encode (value: V): Uint8Array
  /** The bytes stay as they are. */
  decode (bytes: Buffer): V
}

/** How keys are compared: as their bytes, unless another program has made the table otherwise. */
export type Order = 'bytes' | 'reversed' | 'uint32' | 'uint64' | 'stored'

export interface TableOptions<V = any> {
  keyEncoding?: KeyEncoding
  /** `msgpack` by default; of a multimap `ordered`. */
  valueEncoding?: ValueEncoding | Codec<V>
  order?: Order
}

export type LsmTableOptions<V = any> = Omit<TableOptions<V>, 'order'>

/** What comes out of a table to which bytes may be given as any `Uint8Array`. */
export type Read<T> =
  T extends Uint8Array ? Buffer
    : T extends readonly unknown[] ? { [I in keyof T]: Read<T[I]> } : T

export interface Bounds<K> {
  gt?: K
  gte?: K
  lt?: K
  lte?: K
  /** Text that keys begin with, or the first items of keys that are arrays. */
  prefix?: K
}

export interface RangeOptions<K> extends Bounds<K> {
  /** From the end. */
  reverse?: boolean
  /** A whole number; none if it is below 0. */
  limit?: number
  /** False: each of its calls looks at the newest snapshot, and none is kept meanwhile. */
  snapshot?: boolean
}

export interface Entry<K, V> {
  key: Read<K>
  value: Read<V>
}

/** Something to iterate over, again and again, that does nothing before. */
export interface Lazy<T> extends Iterable<T> {
  map<U> (f: (item: T) => U): Lazy<U>
  filter<U extends T> (f: (item: T) => item is U): Lazy<U>
  filter (f: (item: T) => unknown): Lazy<T>
  flatMap<U> (f: (item: T) => Iterable<U>): Lazy<U>
  take (count: number): Lazy<T>
  drop (count: number): Lazy<T>
  forEach (f: (item: T) => void): void
  reduce (f: (sum: T, item: T) => T): T
  reduce<U> (f: (sum: U, item: T) => U, start: U): U
  find (f: (item: T) => unknown): T | undefined
  some (f: (item: T) => unknown): boolean
  every (f: (item: T) => unknown): boolean
  toArray (): T[]
}

/** A table of any kind as it is read. */
export interface Records<K, V> extends Iterable<Entry<K, V>> {
  readonly name: string
  get (key: K): Read<V> | undefined
  has (key: K): boolean
  /** The values of many keys, several times as fast as one after another. */
  getMany (keys: Iterable<K>): (Read<V> | undefined)[]
  range (options?: RangeOptions<K>): Lazy<Entry<K, V>>
  keysOnly (options?: RangeOptions<K>): Lazy<Read<K>>
  valuesOnly (options?: RangeOptions<K>): Lazy<Read<V>>
  first (options?: RangeOptions<K>): Entry<K, V> | undefined
  last (options?: RangeOptions<K>): Entry<K, V> | undefined
  count (bounds?: Bounds<K>): number
}

/** A table as it is read. */
export interface Reader<K, V> extends Records<K, V> {
  /** The next number of `takeSequence`. */
  sequence (): number
}

/**
 * A write-optimised table as it is read. A lookup asks the filter of each run, a range merges the
 * runs, and `count` reads what it counts.
 */
export interface LsmReader<K, V> extends Records<K, V> {
}

/** The same of a multimap, where a key may have many values, in their order. */
export interface MultiReader<K, V> extends Reader<K, V> {
  /** The first value of a key. */
  get (key: K): Read<V> | undefined
  has (key: K, value?: V): boolean
  valuesOf (
    key: K, options?: { reverse?: boolean, limit?: number, snapshot?: boolean }
  ): Lazy<Read<V>>
  /** How many values a key has. */
  countOf (key: K): number
  /** Each key once, with how many values it has. */
  distinct (options?: RangeOptions<K>): Lazy<{ key: Read<K>, count: number }>
}

export interface PutOptions<V> {
  /** Only if the key has no value. */
  ifNoExists?: boolean
  /** Only if it has one. */
  ifExists?: boolean
  /** Only if it has this one, by its bytes. */
  ifValue?: V
}

/** A table in a write transaction: changes are made at once. */
export interface Writer<K, V> extends Reader<K, V> {
  /** Whether it was put: false if its condition does not hold. */
  put (key: K, value: V, options?: PutOptions<V>): boolean
  /** How many they were. Outside of a transaction all of them are put, or none. */
  putMany (records: Iterable<readonly [K, V]>): number
  /** Puts a record behind all others. */
  append (key: K, value: V): boolean
  /** Puts records behind all others, in the order of their keys: the fastest way. */
  load (records: Iterable<readonly [K, V]>): number
  /** Whether there was one. */
  remove (key: K, options?: { ifValue?: V }): boolean
  /** How many there were. */
  removeRange (bounds?: Bounds<K>): number
  clear (): void
  /** Deletes the table; whether there was one. */
  drop (): boolean
  /** Creates the table, which the first put does as well. */
  create (): void
  /** Takes so many numbers that no other call gets: the first of them. */
  takeSequence (count?: number): number
}

export interface MultiWriter<K, V> extends MultiReader<K, V> {
  /** Whether the pair is new. */
  put (key: K, value: V, options?: { ifNoExists?: boolean }): boolean
  putMany (records: Iterable<readonly [K, V]>): number
  append (key: K, value: V): boolean
  remove (key: K, value: V): boolean
  removeAll (key: K): number
  removeRange (bounds?: Bounds<K>): number
  clear (): void
  drop (): boolean
  create (): void
  takeSequence (count?: number): number
}

export interface LsmPutOptions<V> extends PutOptions<V> {
  /** The key counts as absent from then on: a Date, or milliseconds since 1970. No condition. */
  until?: Date | number
}

/** A write-optimised table in a write transaction. Changes look for nothing that is there. */
export interface LsmWriter<K, V> extends LsmReader<K, V> {
  /** True; false if its condition does not hold, which takes a lookup. */
  put (key: K, value: V, options?: LsmPutOptions<V>): boolean
  putMany (records: Iterable<readonly [K, V]>): number
  remove (key: K): void
  /** Costs as much as one removal, whatever it holds. */
  removeRange (bounds?: Bounds<K>): void
  clear (): void
  /** Deletes the table; the next put makes it anew. */
  drop (): void
}

/** What changes a table outside of a transaction: all changes of a tick are one, and promised. */
type Promised<W> = {
  [Name in keyof W]: W[Name] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<R> : W[Name]
}
type Changes =
  'putMany' | 'append' | 'remove' | 'removeAll' | 'removeRange' | 'clear' | 'drop' | 'create' |
  'takeSequence'

/** A table. In the work of a transaction it is the transaction's. */
export interface Table<K = Key, V = any>
  extends Reader<K, V>, Promised<Pick<Writer<K, V>, Exclude<Changes, 'removeAll'>>> {
  put (key: K, value: V, options?: PutOptions<V>): Promise<boolean>
  putSync (key: K, value: V, options?: PutOptions<V>): boolean
  removeSync (key: K, options?: { ifValue?: V }): boolean
}

export interface Multimap<K = Key, V = Key>
  extends MultiReader<K, V>, Promised<Pick<MultiWriter<K, V>, Changes>> {
  put (key: K, value: V, options?: { ifNoExists?: boolean }): Promise<boolean>
  putSync (key: K, value: V, options?: { ifNoExists?: boolean }): boolean
  removeSync (key: K, value: V): boolean
}

/** A write-optimised table. In the work of a transaction it is the transaction's. */
export interface LsmTable<K = Key, V = any>
  extends LsmReader<K, V>,
  Promised<Pick<LsmWriter<K, V>,
    Exclude<Changes, 'append' | 'removeAll' | 'create' | 'takeSequence'>>> {
  put (key: K, value: V, options?: LsmPutOptions<V>): Promise<boolean>
  putSync (key: K, value: V, options?: LsmPutOptions<V>): boolean
  removeSync (key: K): void
  /** What it consists of in the newest snapshot, and what it has cost. */
  stat (): Promise<LsmStat>
  /** Reads every run of the newest snapshot. */
  check (): Promise<{ problems: string[] }>
  /** `compactLsm` of this table. */
  compact (options?: Omit<LsmCompactOptions, 'table'>): Promise<number>
}

export interface LsmStat {
  runs: number
  /** Of all runs: a key that is in several counts in each, as a tombstone does. */
  records: number
  tombstones: number
  /** Of runs, about. */
  bytes: number
  filterBytes: number
  /** That are to be merged until the policy is content. */
  debtBytes: number
  /** That commits of all processes have put since the table was made. */
  totalPutBytes: number
  /** That merges of all processes have written. */
  totalMergedBytes: number
  /** Commits of this thread's environment that waited, as there were too many runs. */
  stalls: number
  stallMs: number
  /** Merges after commits that failed. */
  failures: number
  /** Deletes of ranges that merges have not yet made everywhere. */
  rangeDeletes: number
  openRecords: number
  /** The name of the table's merge operator, or ''. */
  operator: string
  fan: number
  filterBits: number
  /** Frozen runs by size, the smallest first. */
  classes: { class: number, runs: number, records: number, bytes: number }[]
}

interface Transaction {
  readonly env: Environment
  readonly isEnded: boolean
  /** The id of its snapshot. */
  readonly id: number
  tables (): string[]
  hasTable (name: string): boolean
  /** Names of write-optimised tables. */
  lsmTables (): string[]
}

/** A snapshot of all tables, until it is ended. */
export interface ReadTransaction extends Transaction {
  table<K, V> (table: Table<K, V>): Reader<K, V>
  table<K = Key, V = any> (name: string, options?: TableOptions<V>): Reader<K, V>
  multimap<K, V> (table: Multimap<K, V>): MultiReader<K, V>
  multimap<K = Key, V = Key> (name: string, options?: TableOptions<V>): MultiReader<K, V>
  /** The same of one that must be there. */
  openTable<K = Key, V = any> (name: string, options?: TableOptions<V>): Reader<K, V>
  openMultimap<K = Key, V = Key> (name: string, options?: TableOptions<V>): MultiReader<K, V>
  lsmTable<K, V> (table: LsmTable<K, V>): LsmReader<K, V>
  lsmTable<K = Key, V = any> (name: string, options?: LsmTableOptions<V>): LsmReader<K, V>
  openLsmTable<K = Key, V = any> (name: string, options?: LsmTableOptions<V>): LsmReader<K, V>
  /** Moves on to the newest snapshot; whether there was a newer one. */
  renew (): boolean
  /** Until `unpark` a writer may have its pages, if it needs them; that throws `Evicted` then. */
  park (): void
  unpark (): void
  end (): void
  [Symbol.dispose] (): void
}

export interface Savepoint {
  /** Keeps what was done since. */
  release (): void
  /** Undoes it. */
  rollBack (): void
}

/** A commit whose durability can be waited for, until its environment is closed. */
export class Ticket {
  private constructor ()
  /** The id of the snapshot that the commit made. */
  readonly id: number
  /** Whether no power loss can take the commit away any more. */
  readonly isDurable: boolean
  /** Resolves when that is so: one flush serves all that wait. It goes on behind a signal. */
  wait (options?: Abortable): Promise<void>
}

/** The one transaction that may change things, until it is committed or aborted. */
export interface WriteTransaction extends Transaction {
  table<K, V> (table: Table<K, V>): Writer<K, V>
  table<K = Key, V = any> (name: string, options?: TableOptions<V>): Writer<K, V>
  multimap<K, V> (table: Multimap<K, V>): MultiWriter<K, V>
  multimap<K = Key, V = Key> (name: string, options?: TableOptions<V>): MultiWriter<K, V>
  openTable<K = Key, V = any> (name: string, options?: TableOptions<V>): Writer<K, V>
  openMultimap<K = Key, V = Key> (name: string, options?: TableOptions<V>): MultiWriter<K, V>
  lsmTable<K, V> (table: LsmTable<K, V>): LsmWriter<K, V>
  lsmTable<K = Key, V = any> (name: string, options?: LsmTableOptions<V>): LsmWriter<K, V>
  openLsmTable<K = Key, V = any> (name: string, options?: LsmTableOptions<V>): LsmWriter<K, V>
  /** Commits on another thread; the id of the new snapshot. */
  commit (options?: { durability?: Durability }): Promise<number>
  commitSync (options?: { durability?: Durability }): number
  /** Commits, and waits for no flush: all see it at once, the ticket says when it is durable. */
  commitTicket (): Promise<Ticket>
  commitTicketSync (): Ticket
  /**
   * Gives the snapshot from which it goes on, before its changes, a name of 1 to 255 bytes, which
   * the snapshot has once this is committed: see `nameSnapshot` of an environment. One that is not
   * durable in the file yet is flushed here: what was committed lazily, or is in a journal alone.
   */
  nameSnapshot (name: string): SnapshotId
  /** Takes its name away from a snapshot; whether there was one. */
  dropSnapshot (name: string): boolean
  /** Undoes all of it. */
  abort (): void
  /** A point to go back to, the newest first. */
  savepoint (): Savepoint
  /** Runs `work`, and undoes what it did if it throws. */
  nested<R> (work: (txn: WriteTransaction) => R): R
  [Symbol.dispose] (): void
}

/** An open environment. */
export interface Environment extends Care, Snapshots {
}

export class Environment {
  private constructor ()
  readonly path: string | undefined
  readonly isClosed: boolean
  readonly isReadOnly: boolean
  readonly keyBytesMax: number
  /** The id of the newest snapshot. */
  readonly id: number
  /** Resolves when all writes so far are visible. */
  readonly committed: Promise<void>
  /** Resolves when all writes so far are durable. */
  readonly flushed: Promise<void>
  /** The same, until a signal. */
  whenFlushed (options?: Abortable): Promise<void>

  /** A table, which need not be there before something is put into it. */
  table<K = Key, V = any> (name: string, options?: TableOptions<V>): Table<K, V>
  multimap<K = Key, V = Key> (name: string, options?: TableOptions<V>): Multimap<K, V>
  /** A write-optimised table: docs/LSM.md says when to use one. The first put makes it. */
  lsmTable<K = Key, V = any> (name: string, options?: LsmTableOptions<V>): LsmTable<K, V>
  tables (): string[]
  hasTable (name: string): boolean
  lsmTables (): string[]

  /** A snapshot: the newest one, or the one of that name. */
  read (options?: ReadOptions): ReadTransaction
  /** Runs `work` with a snapshot, which ends with it. */
  view<R> (work: (txn: ReadTransaction) => R, options?: ReadOptions): R
  /** Begins the write transaction behind all writes so far. */
  write (options?: Abortable): Promise<WriteTransaction>
  /** The same now: `Busy` if there is another one, of this environment or for so long. */
  writeSync (options?: { timeout?: number }): WriteTransaction
  /**
   * Runs `work` in a write transaction: commits what it did, or undoes all if it throws. A signal
   * ends the wait for other writers; once it has begun, `work` looks at it itself.
   */
  transaction<R> (
    work: (txn: WriteTransaction) => R, options?: { durability?: Durability } & Abortable
  ): Promise<Awaited<R>>
  transactionSync<R> (
    work: (txn: WriteTransaction) => R, options?: { durability?: Durability, timeout?: number }
  ): R

  /** Closes it behind all writes so far, and when all is done that was asked for, but backups. */
  close (): Promise<void>
  [Symbol.asyncDispose] (): Promise<void>
}

/** Opens the environment at a path, and creates it if it is missing. */
export function open (path: string, options?: OpenOptions): Environment
/** Opens one without files, for tests and caches. */
export function openInMemory (options?: OpenOptions): Environment
/** Deletes the files of one that is open nowhere; whether there were any. */
export function deleteFiles (path: string): boolean

/** The bytes of a key in the encoding `ordered`, its key, and how two of them compare. */
export function encodeKey (key: Key): Buffer
export function decodeKey (bytes: Uint8Array): Key
export function compareKeys (one: Key, other: Key): number
