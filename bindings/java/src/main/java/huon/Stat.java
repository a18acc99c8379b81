package huon;

/**
 * Where the space of a file is, in pages where it does not say bytes.
 *
 * @param txnid the snapshot that was looked at
 * @param fileBytes length of the file: the pages below and the tail
 * @param tailBytes bytes behind the last page in use
 * @param metaPages pages of metas
 * @param livePages pages of all tables
 * @param freeListPages pages of the free list
 * @param reusablePages free pages that the next write transaction may use
 * @param retainedPages free pages that some older snapshot still sees
 * @param pageBytes bytes of a page
 * @param retainedSnapshots snapshots that retain pages: readers, the durable one
 * @param tables tables, the main one among them
 */
public record Stat(
        long txnid,
        long fileBytes,
        long tailBytes,
        long metaPages,
        long livePages,
        long freeListPages,
        long reusablePages,
        long retainedPages,
        int pageBytes,
        int retainedSnapshots,
        int tables) {}
