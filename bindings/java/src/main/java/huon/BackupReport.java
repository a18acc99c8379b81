package huon;

/**
 * What was saved.
 *
 * @param snapshot the snapshot
 * @param since the one that it follows; {@code null}: it has everything
 * @param pages pages in it
 * @param bytes its length in bytes
 */
public record BackupReport(Snapshot snapshot, Snapshot since, long pages, long bytes) {}
