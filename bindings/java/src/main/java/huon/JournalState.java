package huon;

/** Whether durable commits go by a journal; see {@link Options#journal}. */
public enum JournalState {
    /** There is none. */
    NONE,
    /** Not yet: the next durable commit is a checkpoint, which begins it. */
    WAITING,
    /** They do. */
    RUNNING,
    /** A write of it failed, and they go without it until the file was closed everywhere. */
    FAILED
}
