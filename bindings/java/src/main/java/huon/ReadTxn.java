package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.invoke.MethodHandle;
import java.util.function.LongFunction;

/** A transaction that reads one snapshot. It waits for no writer, and no writer for it. */
public final class ReadTxn extends Txn {
    ReadTxn(Core core) {
        super(core);
    }

    /**
     * Lets go of the snapshot, and keeps what it takes to begin again: {@link #renew}. All views
     * end.
     */
    public void reset() {
        rest(Native.RESET);
    }

    /** Reads the newest commit from now on, whether it was reset before or not. All views end. */
    public void renew() {
        rest(Native.RENEW);
    }

    /**
     * Puts it aside: it keeps its snapshot until a writer, in any process, would otherwise fail
     * for want of room. All views end.
     */
    public void park() {
        rest(Native.PARK);
    }

    /**
     * Goes on at the same snapshot.
     *
     * @throws HuonException.Evicted if a writer needed its pages: it can only be closed then
     */
    public void unpark() {
        rest(Native.UNPARK);
    }

    private void rest(MethodHandle how) {
        Core core = enter();
        try {
            core.forget();
            done(call(how, core.handle));
        } finally {
            exit();
        }
    }

    /**
     * Hands its handle to a call that uses it all the time: what that calls cannot use it, and
     * other threads wait.
     */
    <R> R lend(LongFunction<R> call) {
        Core core = enter();
        Thread thread = owner;
        try {
            blocked = "its snapshot is being copied";
            owner = null;
            return call.apply(core.handle);
        } finally {
            blocked = null;
            owner = thread;
            exit();
        }
    }

    /**
     * Ends it. One of {@link Env#readShared} throws {@link IllegalStateException} and stays open
     * while another thread is in the middle of a call that reads a view, as of a channel that
     * writes it.
     */
    @Override
    public void close() {
        if (core.lock != null) {
            core.lock.lock();
            try {
                end();
            } finally {
                core.lock.unlock();
            }
        } else {
            if (core.handle != 0) {
                checkThread();
            }
            end();
        }
    }

    private void end() {
        if (blocked != null) {
            throw new IllegalStateException(blocked);
        }
        if (core.handle != 0) {
            done(call(Native.ABORT, core.end()));
            core.ended();
            owner = null;
        }
    }
}
