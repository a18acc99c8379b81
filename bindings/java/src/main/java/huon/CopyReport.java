package huon;

/**
 * What was copied.
 *
 * @param txnid the snapshot
 * @param bytes bytes of the copy
 */
public record CopyReport(long txnid, long bytes) {}
