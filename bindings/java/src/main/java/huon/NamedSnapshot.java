package huon;

/**
 * A snapshot that the file keeps under a name.
 *
 * @param name the name
 * @param snapshot which one it is
 */
public record NamedSnapshot(String name, Snapshot snapshot) {}
