/// <reference types="node" />

// How an environment is looked after, and what works long.

/** What ends a wait: its promise is rejected with the signal's reason, at once. */
export interface Abortable {
  signal?: AbortSignal
}

/** The same of what works long: that ends at its next step, and leaves nothing half done. */
export interface Long extends Abortable {
  /** Told about once a megabyte; if it throws, the work ends with that. */
  onProgress?: (progress: Progress) => void
}

export interface Progress {
  doneBytes: number
  /** 0 where that is not known. */
  totalBytes: number
}

/** Reports have more fields than are named here: docs/TOOLS.md has all of them. */
export interface Info {
  pageBytes: number
  fileBytes: number
  usedBytes: number
  newest: number
  durable: number
  keyBytesMax: number
  clients: number
  readers: {
    pid: number, txnid: number, ageMs: number, parked: boolean, [field: string]: unknown
  }[]
  [field: string]: unknown
}

export interface TableStat {
  name: string
  entries: number
  depth: number
  leafPages: number
  [field: string]: unknown
}

export interface Stat {
  pageBytes: number
  fileBytes: number
  livePages: number
  retainedPages: number
  tables: TableStat[]
  [field: string]: unknown
}

export interface CheckReport {
  problems: unknown[]
  [field: string]: unknown
}

export interface LsmCompactOptions extends Abortable {
  /** The name of the only table that is merged; all by default. */
  table?: string
  /**
   * `due`: until no merge is due, the default. `all`: all runs of a table to one, so that ranges
   * are as fast as those of other tables. `shorten`: gives space that merges have left back.
   */
  how?: 'due' | 'all' | 'shorten'
  /** Told after each step; if it throws, the work ends with that. */
  onProgress?: (progress: { steps: number }) => void
}

/** Threads that merge runs of write-optimised tables, until they are stopped. */
export class Compactor {
  private constructor ()
  /** Resolves when they have ended; rejected with what went wrong in them. */
  stop (): Promise<void>
  [Symbol.asyncDispose] (): Promise<void>
}

/** How an environment is looked after. */
export interface Care {
  /** The id of the newest snapshot that is durable. */
  readonly durableId: number
  /** Flushes all commits: the id of the newest one that is durable then. */
  sync (options?: Abortable): Promise<number>
  info (): Info
  /** Where the space is. Walks the free list. */
  stat (): Promise<Stat>
  /** Verifies every page. */
  check (options?: Long): Promise<CheckReport>
  /** Copies the newest snapshot to a new file while writers go on. */
  copyTo (
    path: string, options?: { compact?: boolean } & Long
  ): Promise<{ txnid: number, bytes: number }>
  /** Makes the file smaller while others use it. */
  compact (
    options?: { target?: number, timeLimit?: number } & Long
  ): Promise<Record<string, unknown>>
  /** Merges runs of write-optimised tables on another thread; how many steps that took. */
  compactLsm (options?: LsmCompactOptions): Promise<number>
  /** Starts threads that do so as runs come, until they are stopped, or it is closed. */
  startCompactor (): Compactor
  /** The id of a commit after that one, by any thread or process; undefined if none came. */
  waitForCommit (
    options?: { after?: number, timeout?: number } & Abortable
  ): Promise<number | undefined>
  /** The ids of the newest commits as they come, until the environment is closed. */
  commits (options?: { after?: number } & Abortable): AsyncGenerator<number, void, void>
}
