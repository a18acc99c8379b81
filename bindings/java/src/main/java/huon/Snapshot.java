package huon;

/**
 * Which snapshot of a file: two processes that write copies of one file give the same id to
 * different snapshots, whose checksums differ.
 *
 * @param id the id of the transaction that made it
 * @param checksum the checksum of its image
 */
public record Snapshot(long id, long checksum) {}
