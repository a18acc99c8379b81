package huon;

import static huon.Native.call;

import java.lang.ref.Cleaner;

/** A cursor of the library, which is closed when its owner was forgotten, or before. */
final class CursorHandle implements Runnable {
    /** 0: it is closed. */
    volatile long handle;

    CursorHandle(long handle) {
        this.handle = handle;
    }

    /** Has it closed when nothing refers to the owner any more. */
    Cleaner.Cleanable ownedBy(Object owner) {
        return Core.clean(owner, this);
    }

    @Override
    public void run() {
        long open = handle;
        handle = 0;
        call(Native.CURSOR_CLOSE, open);
    }
}
