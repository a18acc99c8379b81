package huon;

/**
 * What is done in a transaction.
 *
 * @param <T> the transaction
 * @param <X> what it may throw that is checked
 */
@FunctionalInterface
public interface TxnAction<T extends Txn, X extends Exception> {
    /** Does it. */
    void run(T txn) throws X;
}
