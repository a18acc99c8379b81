package huon;

import static huon.Native.call;

import java.lang.ref.Cleaner;

/** A cursor of the library, which is closed when its owner was forgotten, or before. */
final class CursorHandle implements Runnable {
    /** 0: it is closed. */
    volatile long handle;

    /** Null: nobody has it closed. */
    private Cleaner.Cleanable cleanable;

    CursorHandle(long handle) {
        this.handle = handle;
    }

    /** Has it closed when nothing refers to the owner any more. */
    void ownedBy(Object owner) {
        if (cleanable == null) {
            cleanable = Core.clean(owner, this);
        }
    }

    /** Closes it, once. */
    void close() {
        if (cleanable != null) {
            cleanable.clean();
        } else {
            run();
        }
    }

    @Override
    public void run() {
        long open = handle;
        handle = 0;
        if (open != 0) {
            call(Native.CURSOR_CLOSE, open);
        }
    }
}
