package huon;

import java.time.Duration;

/**
 * A read transaction of any process.
 *
 * @param pid its process, for people only: containers count on their own
 * @param thread its thread, for people only
 * @param txnid the snapshot that it keeps
 * @param idsBehind how far ahead the newest id is
 * @param age for how long it has been there
 * @param isParked it is parked
 * @param isGuest it may not write the lock file: only its snapshot is known
 */
public record Reader(
        long pid,
        long thread,
        long txnid,
        long idsBehind,
        Duration age,
        boolean isParked,
        boolean isGuest) {}
