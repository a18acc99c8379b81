package huon;

import java.util.List;

/**
 * What a check found.
 *
 * @param txnid the snapshot that was checked
 * @param problems a sentence for each; none: everything is as it must be
 */
public record CheckReport(
        long txnid,
        List<String> problems) {
    /** Whether everything is as it must be. */
    public boolean isClean() {
        return problems.isEmpty();
    }
}
