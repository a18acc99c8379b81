package huon;

/**
 * The limits of a file's length, and the steps in which it changes, in bytes.
 *
 * @param minBytes below this it never shrinks
 * @param maxBytes above this it never grows
 * @param growBytes it grows by so much; 0: that follows its size
 * @param shrinkBytes a free end of so many is cut off; 0: never
 */
public record Geometry(long minBytes, long maxBytes, long growBytes, long shrinkBytes) {}
