/// <reference types="node" />

// Named snapshots, copies as streams, backups, and environments that are made of them.

import type { Readable } from 'node:stream'

import type { Abortable, Long } from './care'

/**
 * Which snapshot of a file: two processes that write copies of one file give the same id to
 * different snapshots, whose checksums differ.
 */
export interface SnapshotId {
  /** Of the transaction that made it. */
  id: number
  /** 16 hexadecimal digits. */
  checksum: string
}

/** A snapshot that the file keeps under a name. */
export interface NamedSnapshot extends SnapshotId {
  name: string
}

export interface ReadOptions {
  /** The name of a snapshot: `SnapshotNotFound` if none has it. */
  snapshot?: string
}

export interface BackupOptions {
  /** The name of the snapshot that is saved: the newest one by default. */
  snapshot?: string
  /**
   * Only what changed since this one: the `snapshot` of the report of another backup, or a name.
   * Nothing knows here whether there is a backup of it; `restore` does.
   */
  since?: SnapshotId | string
}

export interface BackupReport {
  snapshot: SnapshotId
  /** The one that it follows; undefined: it has everything. */
  since?: SnapshotId
  pages: number
  bytes: number
}

export interface CopyReport {
  /** The id of the snapshot. */
  txnid: number
  bytes: number
}

/** Bytes that are made as they are read. */
export interface PieceStream<R> extends Readable {
  /** What it was, once it has ended. */
  readonly report: R | undefined
}

/** Snapshots of an environment, beside `read` and `view`. */
export interface Snapshots {
  /**
   * Gives the newest snapshot behind all writes so far a name of 1 to 255 bytes, and so keeps it in
   * the file, for all processes and over restarts, until `dropSnapshot`; a snapshot that has the
   * name so far is dropped. It costs at most one more copy of what it sees. A transaction of its
   * own; in the work of one it is that one's `nameSnapshot`. A signal ends the wait for others.
   */
  nameSnapshot (name: string, options?: Abortable): Promise<SnapshotId>
  /** Takes its name away from a snapshot; whether there was one. What only it saw is used again. */
  dropSnapshot (name: string, options?: Abortable): Promise<boolean>
  /** The named snapshots, the oldest first. */
  namedSnapshots (): NamedSnapshot[]

  /**
   * A copy as a stream of bytes, of what is newest when it is first read. It verifies every page
   * before its first byte, makes pieces as they are read, and keeps its snapshot until it is
   * closed: by its end, `destroy`, a signal, or the end of a loop over it. Closing the environment
   * ends it.
   */
  copyStream (options?: { compact?: boolean } & Abortable): PieceStream<CopyReport>
  /**
   * A backup in the same way: the pages of a snapshot, or those that changed since another one, of
   * which `restore` makes a file. It costs what it has, and pages are verified as they come: if it
   * fails, what was read by then is of no use.
   */
  backupStream (options?: BackupOptions & Abortable): PieceStream<BackupReport>
  /**
   * Writes a backup to a new file, which is flushed then, or to a stream, which is ended. An error
   * of the stream ends it, and is what the promise is rejected with.
   */
  backupTo (
    target: string | NodeJS.WritableStream, options?: BackupOptions & Long
  ): Promise<BackupReport>
}

/** A path, or bytes as they come from a stream: of one backup, or of several, one after another. */
export type BackupSource = string | AsyncIterable<Uint8Array>

export interface RestoreReport {
  snapshot: SnapshotId
  /** The length of the file. */
  bytes: number
}

/**
 * Makes an environment at a path, where no file may be, of a whole backup and those that follow it,
 * in their order: `Diverged` if one does not follow the one before. It has its name when every page
 * was verified and flushed. A signal ends it until all backups were read; nothing is left then, or
 * where it fails, and the streams are destroyed.
 */
export function restore (
  path: string, backups: BackupSource | readonly BackupSource[], options?: Long
): Promise<RestoreReport>
