package huon;

import java.util.UUID;

/**
 * The state of an environment at a moment.
 *
 * @param pageBytes bytes of a page
 * @param keyBytesMax the longest key, in bytes
 * @param clients openings of the file, of all processes
 * @param readers read transactions, of all processes
 * @param fileBytes length of the file
 * @param usedBytes part of it that the newest snapshot uses
 * @param maxBytes the most that it may become
 * @param mapBytes address space that is reserved for it here
 * @param newest the newest commit
 * @param visible the snapshot that new readers get
 * @param durable the newest commit that survives a power loss
 * @param unflushedBytes bytes written since the last checkpoint
 * @param commits commits of this opening that changed something
 * @param flushes its flushes
 * @param writes its calls that write
 * @param writtenBytes bytes that it wrote
 * @param pagesWritten pages that it wrote
 * @param uuid the identity of the file
 * @param isPoisoned a flush has failed
 * @param isRepairDue the next write transaction repairs what an unclean end has left
 * @param journal whether durable commits go by a journal
 * @param journalBytes length of the journal; 0 if there is none
 * @param journalUsedBytes part of it that holds commits since the last checkpoint
 * @param journalBatches batches that were written to it, by all processes
 * @param journalCheckpoint the newest commit that needs no journal
 */
public record Info(
        int pageBytes,
        int keyBytesMax,
        int clients,
        int readers,
        long fileBytes,
        long usedBytes,
        long maxBytes,
        long mapBytes,
        long newest,
        long visible,
        long durable,
        long unflushedBytes,
        long commits,
        long flushes,
        long writes,
        long writtenBytes,
        long pagesWritten,
        UUID uuid,
        boolean isPoisoned,
        boolean isRepairDue,
        JournalState journal,
        long journalBytes,
        long journalUsedBytes,
        long journalBatches,
        long journalCheckpoint) {}
