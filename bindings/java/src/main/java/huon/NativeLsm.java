package huon;

import static huon.Native.BYTES;
import static huon.Native.INT;
import static huon.Native.LONG;
import static huon.Native.POINTER;
import static huon.Native.code;

import java.lang.invoke.MethodHandle;

/** The functions of huon.h for write-optimised tables, whose handles are numbers too. */
final class NativeLsm {
    static final MethodHandle OPEN = code("huon_lsm_open", LONG, POINTER, POINTER);
    static final MethodHandle CLOSE = code("huon_lsm_close", LONG);
    static final MethodHandle TABLE_OPEN =
            code("huon_lsm_table_open", LONG, BYTES, POINTER, POINTER);
    static final MethodHandle TABLE_CLOSE = code("huon_lsm_table_close", LONG);
    static final MethodHandle GET = code("huon_lsm_get", LONG, LONG, BYTES, POINTER);
    static final MethodHandle PUT = code("huon_lsm_put", LONG, LONG, BYTES, BYTES);
    static final MethodHandle PUT_UNTIL =
            code("huon_lsm_put_until", LONG, LONG, BYTES, BYTES, LONG);
    static final MethodHandle DELETE = code("huon_lsm_delete", LONG, LONG, BYTES);
    static final MethodHandle DELETE_RANGE = code("huon_lsm_delete_range", LONG, LONG, POINTER);
    static final MethodHandle PUT_IF_ABSENT =
            code("huon_lsm_put_if_absent", LONG, LONG, BYTES, BYTES);
    static final MethodHandle UPDATE = code("huon_lsm_update", LONG, LONG, BYTES, BYTES);
    static final MethodHandle CLEAR = code("huon_lsm_clear", LONG, LONG);
    static final MethodHandle DROP = code("huon_lsm_drop", LONG, LONG);
    static final MethodHandle CURSOR_OPEN =
            code("huon_lsm_cursor_open", LONG, LONG, POINTER, POINTER);
    static final MethodHandle COMPACT = code("huon_lsm_compact", LONG, BYTES, INT);
    static final MethodHandle COMPACTOR_START = code("huon_compactor_start", LONG, POINTER);
    static final MethodHandle COMPACTOR_STOP = code("huon_compactor_stop", LONG);
    static final MethodHandle GET_STAT = code("huon_get_lsm_stat", LONG, LONG, POINTER, LONG);
    static final MethodHandle CHECK =
            code("huon_lsm_check", LONG, LONG, POINTER, POINTER, POINTER);

    private NativeLsm() {}
}
