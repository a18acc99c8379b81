import type { AbstractDatabaseOptions, AbstractLevel } from 'abstract-level'
import type { Environment, OpenOptions } from '.'

export interface HuonLevelOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /** The table: `level` by default. */
  table?: string
  /** How the environment is opened: lazily durable by default, as other databases of the family. */
  huon?: OpenOptions
}

/** A database of the `level` family in a file of Huon. Writes with `sync: true` are durable. */
export class HuonLevel<K = string, V = string>
  extends AbstractLevel<string | Buffer | Uint8Array, K, V> {
  /** Without a path it is in memory. */
  constructor (location?: string, options?: HuonLevelOptions<K, V>)
  readonly location: string | undefined
  /** The environment, while it is open. */
  readonly env: Environment | null
}
