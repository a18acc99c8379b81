package huon;

/**
 * What a compaction did.
 *
 * @param end why it ended
 * @param beforeBytes bytes of the file before
 * @param afterBytes bytes of the file after it
 * @param movedBytes bytes that were moved
 * @param commits transactions that it took
 */
public record CompactReport(
        End end,
        long beforeBytes,
        long afterBytes,
        long movedBytes,
        long commits) {
    /** Why a compaction ended. */
    public enum End {
        /** The file is as short as was asked for. */
        COMPACTED,
        /** The time is over. */
        TIME_OVER,
        /** The caller asked to stop. */
        STOPPED,
        /** Older snapshots still see pages at the end. */
        RETAINED,
        /** No free place fits the pages that are left. */
        NO_ROOM
    }
}
