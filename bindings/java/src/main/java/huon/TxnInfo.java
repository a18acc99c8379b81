package huon;

/**
 * What a transaction has cost so far, in bytes; of one that reads only the first three are told.
 *
 * @param id its id
 * @param idsBehind how far ahead the newest id is; 0 for one that writes
 * @param usedBytes part of the file in use at its snapshot, with the pages that it took
 * @param dirtyBytes changed pages that are in memory
 * @param writtenBytes pages that were written already
 * @param retiredBytes pages of the snapshot before that it has replaced or deleted
 */
public record TxnInfo(
        long id,
        long idsBehind,
        long usedBytes,
        long dirtyBytes,
        long writtenBytes,
        long retiredBytes) {}
