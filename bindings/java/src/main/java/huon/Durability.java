package huon;

/** What a commit waits for. In every mode commits survive whole and in order. */
public enum Durability {
    /** Until no power loss can take it away: the default. */
    DURABLE,
    /** For one flush; of a commit of more than a megabyte the last step is left to the next one. */
    NO_META_SYNC,
    /** For nothing: a power loss falls back to the last checkpoint, which is whole. */
    LAZY,
    /** For nothing, and only {@link Env#sync} and durable commits of others flush. */
    UNSYNCED
}
