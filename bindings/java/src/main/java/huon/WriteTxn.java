package huon;

import static huon.Codes.done;
import static huon.Native.call;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/**
 * The one transaction that writes, or one nested in it. Commit it; what is closed without a commit
 * is undone.
 *
 * <p>After most errors it can go on. One that could not write is broken
 * ({@link HuonException.Kind#TXN_BROKEN}) and can only be closed.
 */
public final class WriteTxn extends Txn {
    private static final String NESTED = "a transaction nested in this one is open: end it first";
    private static final String NOT_UNDONE =
            "changes of a nested transaction could not be undone: close this one";

    private final WriteTxn parent;
    private final int depth;
    private WriteTxn child;
    private boolean hasEnded;

    WriteTxn(Core core) {
        super(core);
        parent = null;
        depth = 0;
    }

    private WriteTxn(WriteTxn parent) {
        super(parent.core);
        this.parent = parent;
        depth = parent.depth + 1;
    }

    /** The table of that name, which is created if it does not exist. */
    public Table createTable(String name) {
        return createTable(name, null);
    }

    /** The same with options, or {@code null}. */
    public Table createTable(String name, TableOptions with) {
        return new Table(this, name, Tables.open(this, Native.TABLE_CREATE, name, with));
    }

    /** The multimap of that name, which is created if it does not exist. */
    public Multimap createMultimap(String name) {
        return createMultimap(name, null);
    }

    /** The same with options, or {@code null}. */
    public Multimap createMultimap(String name, TableOptions with) {
        return new Multimap(this, name, Tables.open(this, Native.MULTI_CREATE, name, with));
    }

    /** Sets the three numbers that a program may keep with its snapshots. */
    public void setMarkers(long first, long second, long third) {
        Core core = enterToChange();
        try {
            MemorySegment markers = core.room.first(24);
            markers.copyFrom(MemorySegment.ofArray(new long[] {first, second, third}));
            done(call(Native.SET_MARKERS, core.handle, markers));
        } finally {
            exit();
        }
    }

    /**
     * A transaction inside of this one: its commit hands its changes to this one, and closing it
     * without a commit undoes them alone. Until it ends, this one cannot be used.
     */
    public WriteTxn nested() {
        Core core = enterToChange();
        try {
            WriteTxn nested = new WriteTxn(this);
            done(call(Native.SAVEPOINT, core.handle, nested.savepoint()));
            child = nested;
            blocked = NESTED;
            owner = null;
            return nested;
        } finally {
            exit();
        }
    }

    private MemorySegment savepoint() {
        return core.room.key(("nested " + depth).getBytes(StandardCharsets.US_ASCII));
    }

    /**
     * Commits, and waits as the environment's durability says. The transaction has ended then,
     * also if this fails: nothing was committed then, except that after
     * {@link HuonException.Kind#POISONED} it is not known.
     */
    public void commit() {
        if (parent != null) {
            endNested(true);
            return;
        }
        end(Native.COMMIT);
    }

    /** The same with a durability of its own; the id of the snapshot that it made. */
    public long commit(Durability durability) {
        isOutermost();
        Core core = enter();
        try {
            Room room = core.room;
            int how = durability.ordinal();
            int code = call(Native.COMMIT_WITH, core.end(), how, room.number);
            // Before the end: the next transaction takes the room over.
            long id = room.answer();
            end(core, code);
            return id;
        } finally {
            exit();
        }
    }

    /** Commits at once; the ticket is for waiting until that is durable, in any thread. */
    public Ticket commitTicket() {
        isOutermost();
        Core core = enter();
        try {
            Room room = core.room;
            int code = call(Native.COMMIT_TICKET, core.end(), room.number);
            long ticket = room.answer();
            end(core, code);
            return new Ticket(ticket);
        } finally {
            exit();
        }
    }

    private void isOutermost() {
        if (parent != null) {
            throw new IllegalStateException("a nested transaction is durable with the outermost");
        }
    }

    /** Undoes what was not committed, that of nested transactions too. */
    @Override
    public void close() {
        if (hasEnded) {
            return;
        }
        checkThread();
        if (child != null) {
            child.close();
        }
        owner = Thread.currentThread();
        if (parent != null) {
            endNested(false);
        } else {
            end(Native.ABORT);
        }
    }

    private void end(MethodHandle how) {
        Core core = enter();
        try {
            end(core, call(how, core.end()));
        } finally {
            exit();
        }
    }

    /** The library has answered: the transaction has ended, unless a call still uses it. */
    private void end(Core core, int code) {
        RuntimeException failed = code == Codes.OK ? null : Codes.fail(code);
        if (code != Codes.IN_USE) {
            owner = null;
            hasEnded = true;
            core.ended();
        }
        if (failed != null) {
            throw failed;
        }
    }

    /** What cannot be kept is undone, so that the outer transaction goes on. */
    private void endNested(boolean isKept) {
        Core core = enterToChange();
        try {
            int code = isKept ? call(Native.RELEASE, core.handle, savepoint()) : undo(core);
            RuntimeException failed = code == Codes.OK ? null : Codes.fail(code);
            if (code != Codes.IN_USE) {
                nestedEnded(failed == null || isKept && undo(core) == Codes.OK);
            }
            if (failed != null) {
                throw failed;
            }
        } finally {
            exit();
        }
    }

    private int undo(Core core) {
        int code = call(Native.ROLL_BACK_TO, core.handle, savepoint());
        return code == Codes.OK ? call(Native.RELEASE, core.handle, savepoint()) : code;
    }

    private void nestedEnded(boolean goesOn) {
        owner = null;
        hasEnded = true;
        parent.child = null;
        parent.blocked = goesOn ? null : NOT_UNDONE;
        parent.owner = goesOn ? Thread.currentThread() : null;
    }
}
