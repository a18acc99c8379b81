package huon;

/**
 * What a write-optimised table consists of, and what it has cost.
 *
 * @param runs runs
 * @param records records of all runs: a key that is in several counts in each of them
 * @param tombstones deletes among them
 * @param bytes bytes of runs, about
 * @param filterBytes bytes of filters, about
 * @param debtBytes bytes that are to be merged
 * @param totalPutBytes bytes that commits of all processes have put
 * @param totalMergedBytes bytes that merges of all processes have written
 * @param stalls commits that waited, as there were too many runs
 */
public record LsmStat(
        long runs,
        long records,
        long tombstones,
        long bytes,
        long filterBytes,
        long debtBytes,
        long totalPutBytes,
        long totalMergedBytes,
        long stalls) {}
