package huon;

/**
 * A reader that keeps pages from a writer that has no others left.
 *
 * @param pid its process, for people only: containers count on their own
 * @param thread its thread, for people only
 * @param txnid the snapshot that it reads
 * @param idsBehind how many ids were used since
 * @param freedBytes bytes that would be free without it
 * @param retries how often this was asked before, for the same want of pages
 * @param isParked it is parked, and can be evicted
 * @param isOwn it is of this very environment in this process: to wait for it may be in vain
 * @param isFull the file can grow no more
 */
public record SlowReader(
        long pid,
        long thread,
        long txnid,
        long idsBehind,
        long freedBytes,
        long retries,
        boolean isParked,
        boolean isOwn,
        boolean isFull) {
    /** What to do about a slow reader. */
    public enum Advice {
        /** Look again at once: the handler has waited, or has ended the reader. */
        RETRY,
        /** Evict the reader if it is parked; else wait a millisecond. */
        EVICT,
        /** Let the file grow, or the change fail. */
        GIVE_UP
    }

    /**
     * Is asked about slow readers, in the thread that writes, in the middle of a change. It may
     * read, sleep and end transactions, and not write to the environment. What it throws is logged,
     * and counts as {@link Advice#GIVE_UP}.
     */
    @FunctionalInterface
    public interface Handler {
        /** Says what to do. */
        Advice advise(SlowReader reader);
    }
}
