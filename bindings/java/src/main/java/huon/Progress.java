package huon;

/** Is told how far something is that takes long, about once a megabyte, in the calling thread. */
@FunctionalInterface
public interface Progress {
    /**
     * Says whether to go on.
     *
     * @param doneBytes bytes that were dealt with
     * @param totalBytes bytes that there are; 0 where that is not known beforehand
     */
    boolean goesOn(long doneBytes, long totalBytes);
}
