package huon;

/**
 * The size of a table or multimap.
 *
 * @param entries records, or pairs
 * @param sequence its sequence
 * @param changed the transaction that changed it last
 * @param branchPages pages of branches
 * @param leafPages pages of leaves
 * @param overflowPages pages of large values
 * @param depth levels of pages; 0 if it is empty
 * @param valueBytes bytes that each value of a multimap has; 0 where they may differ
 * @param isMulti it is a multimap
 */
public record TableStat(
        long entries,
        long sequence,
        long changed,
        long branchPages,
        long leafPages,
        long overflowPages,
        int depth,
        int valueBytes,
        boolean isMulti) {}
