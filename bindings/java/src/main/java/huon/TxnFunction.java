package huon;

/**
 * What is found out in a transaction.
 *
 * @param <T> the transaction
 * @param <R> the answer, which must not be a view: those end with the transaction
 * @param <X> what it may throw that is checked
 */
@FunctionalInterface
public interface TxnFunction<T extends Txn, R, X extends Exception> {
    /** Finds it out. */
    R apply(T txn) throws X;
}
