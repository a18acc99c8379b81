package huon;

import static huon.Native.call;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * A backup that is to be made while readers and writers go on, as in
 * {@code env.backup().since(last.snapshot()).to(path)}: the pages of a snapshot, or those that
 * changed since an earlier one, at the cost of what is written. {@link Huon#restore} makes an
 * environment of a whole one and those that follow it.
 *
 * <p>What was written by a backup that fails is of no use.
 */
public final class Backup {
    private static final Struct OPTIONS =
            Struct.of("huon_backup_options")
                    .size("bytes")
                    .part("snapshot", Native.BYTES)
                    .part("since", Snapshots.SNAPSHOT.layout())
                    .pointer("progress")
                    .pointer("context")
                    .end();
    private static final Struct REPORT =
            Struct.of("huon_backup_report")
                    .part("snapshot", Snapshots.SNAPSHOT.layout())
                    .part("since", Snapshots.SNAPSHOT.layout())
                    .u64("pages")
                    .u64("bytes")
                    .end();

    private static final Set<OpenOption> NEW =
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    /** As files of environments: others see no more of the records here than there. */
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    /** Pages are handed over one by one where those beside them did not change. */
    private static final int BUFFER_BYTES = 1 << 18;

    private final Env env;
    private String snapshot;
    private Snapshot since;
    private Progress progress;

    Backup(Env env) {
        this.env = env;
    }

    /** Saves the snapshot of that name, and not the newest one. */
    public Backup snapshot(String name) {
        this.snapshot = name;
        return this;
    }

    /**
     * Saves only what changed since this snapshot, which the report of another backup tells;
     * {@code null}: everything. It has to be an earlier one of this very file: if it is of another
     * one, {@link Huon#restore} refuses the backup.
     */
    public Backup since(Snapshot snapshot) {
        this.since = snapshot;
        return this;
    }

    /** Is told how far it is, and may end it with {@link HuonException.Kind#STOPPED}. */
    public Backup progress(Progress progress) {
        this.progress = progress;
        return this;
    }

    /**
     * Saves to a new file that its owner alone may read, and flushes it. If that fails, the file is
     * deleted.
     *
     * @throws java.nio.file.FileAlreadyExistsException if there is a file of that name
     * @throws IOException if it cannot be written
     * @throws HuonException.SnapshotNotFound if no snapshot has the name
     * @throws IllegalArgumentException if the snapshot to go on from is not an earlier one
     */
    public BackupReport to(Path path) throws IOException {
        FileChannel file = FileChannel.open(path, NEW, PRIVATE);
        try (file) {
            BackupReport report = to(file);
            file.force(true);
            return report;
        } catch (Throwable e) {
            try {
                Files.deleteIfExists(path);
            } catch (IOException more) {
                e.addSuppressed(more);
            }
            throw e;
        }
    }

    /**
     * Saves to a channel that blocks, in the calling thread, and leaves it open.
     *
     * @throws IOException if the channel throws it
     * @throws HuonException.SnapshotNotFound if no snapshot has the name
     * @throws IllegalArgumentException if the snapshot to go on from is not an earlier one
     */
    public BackupReport to(WritableByteChannel channel) throws IOException {
        OutputStream all = Channels.newOutputStream(channel);
        OutputStream output = new BufferedOutputStream(all, BUFFER_BYTES);
        BackupReport report = to(output);
        output.flush();
        return report;
    }

    /**
     * Saves to a stream, in the calling thread, and neither flushes nor closes it.
     *
     * @throws IOException if the stream throws it
     * @throws HuonException.SnapshotNotFound if no snapshot has the name
     * @throws IllegalArgumentException if the snapshot to go on from is not an earlier one
     */
    public BackupReport to(OutputStream output) throws IOException {
        try (Arena arena = Arena.ofConfined();
                Callbacks callbacks = new Callbacks()) {
            MemorySegment options = options(arena, callbacks);
            MemorySegment report = arena.allocate(REPORT.layout());
            MemorySegment write = callbacks.output(output);
            MemorySegment none = MemorySegment.NULL;
            long open = env.handle();
            int code = call(Native.BACKUP_TO_WRITER, open, write, none, options, report);
            if (code == Codes.NOT_FOUND) {
                throw new HuonException.SnapshotNotFound(snapshot);
            }
            callbacks.done(code);
            return report(report);
        } finally {
            Reference.reachabilityFence(env);
        }
    }

    private MemorySegment options(Arena arena, Callbacks callbacks) {
        MemorySegment options = arena.allocate(OPTIONS.layout());
        OPTIONS.set(options, "bytes", OPTIONS.bytes());
        OPTIONS.set(options, "progress", callbacks.progress(progress));
        if (snapshot != null) {
            // To the library that is the newest one, and here a name that none can have.
            if (snapshot.isEmpty()) {
                throw new HuonException.SnapshotNotFound(snapshot);
            }
            MemorySegment name = Native.bytes(arena, snapshot);
            MemorySegment.copy(name, 0, options, OPTIONS.offset("snapshot"), name.byteSize());
        }
        if (since != null) {
            MemorySegment of = part(OPTIONS, options, "since");
            Snapshots.SNAPSHOT.set(of, "id", since.id());
            Snapshots.SNAPSHOT.set(of, "checksum", since.checksum());
        }
        return options;
    }

    private static BackupReport report(MemorySegment it) {
        Snapshot follows = Snapshots.told(part(REPORT, it, "since"));
        return new BackupReport(
                Snapshots.told(part(REPORT, it, "snapshot")),
                follows.id() == 0 ? null : follows,
                REPORT.u64(it, "pages"),
                REPORT.u64(it, "bytes"));
    }

    private static MemorySegment part(Struct struct, MemorySegment of, String snapshot) {
        return of.asSlice(struct.offset(snapshot), Snapshots.SNAPSHOT.bytes());
    }
}
