package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.invoke.MethodHandle;

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

    @Override
    public void close() {
        if (core.lock != null) {
            core.lock.lock();
            try {
                end();
            } finally {
                core.lock.unlock();
            }
        } else if (owner != null) {
            checkThread();
            end();
        }
    }

    private void end() {
        if (core.handle != 0) {
            done(call(Native.ABORT, core.end()));
            core.ended();
            owner = null;
        }
    }
}
