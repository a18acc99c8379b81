"""The forms of reports: dictionaries, as ``json`` would read them."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

Order: TypeAlias = (
    Literal["bytes", "reversed", "u32", "u64"] | tuple[str, Callable[[bytes, bytes], int]]
)
"""How keys compare: as bytes, from the first one or from the last; as numbers, little-endian; or as
a function says, which has a name: it returns a number below 0, 0, or above."""

Durability: TypeAlias = Literal["durable", "no_meta_sync", "lazy", "unsynced"]
"""What a commit waits for: until no power loss can take it away; for one flush; for nothing, with
checkpoints by themselves, by ``Env.sync`` and at closing; or for nothing at all."""

Recovery: TypeAlias = Literal[
    "new",
    "clean",
    "newest",
    "flushed",
    "stepped_back",
    "by_hand",
    "replayed",
    "journal_given_up",
]
"""How the snapshot of an opening was found: nothing was there; it was closed cleanly; by the newest
commit, or by the newest flushed one, or the one before it; by the caller; or with the journal."""

Name: TypeAlias = str | list[int]
"""The name of a table; numbers where it is not UTF-8."""


class Geometry(TypedDict):
    min_bytes: int
    max_bytes: int
    grow_bytes: int
    shrink_bytes: int


class ReaderInfo(TypedDict):
    """A read transaction, of any process."""

    client: int
    pid: int
    thread: int
    txnid: int
    ids_behind: int
    age_ms: int
    parked: bool
    guest: bool


class EnvInfo(TypedDict):
    """The state of an environment: see ``Env.info``."""

    page_bytes: int
    uuid: str
    file_bytes: int
    used_bytes: int
    max_bytes: int
    geometry: Geometry
    map_bytes: int
    reads_ahead: bool
    newest: int
    visible: int
    durable: int
    unflushed_bytes: int
    journal: dict[str, Any] | None
    poisoned: bool
    repair_due: bool
    key_bytes_max: int
    clients: int
    readers: list[ReaderInfo]
    io: dict[str, int]


class RetainedSnapshot(TypedDict):
    """An old snapshot that retains pages, and what retains it."""

    by: Literal["durable", "flush", "name"] | dict[Literal["reader"], ReaderInfo]
    txnid: int
    pages: int
    alone_pages: int


class TableStat(TypedDict):
    """The size of a table."""

    name: Name
    order: str
    values: str | None
    comparator: str | None
    value_comparator: str | None
    key_type: str | None
    value_type: str | None
    value_bytes: int | None
    entries: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    sequence: int
    changed: int


class Stat(TypedDict):
    """Where the space of a file is: see ``Env.stat``."""

    txnid: int
    page_bytes: int
    file_bytes: int
    meta_pages: int
    live_pages: int
    free_list_pages: int
    reusable_pages: int
    retained_pages: int
    tail_bytes: int
    journal_bytes: int
    retained_snapshots: list[RetainedSnapshot]
    tables: list[TableStat]


class Problem(TypedDict):
    """Something that is not as it must be."""

    pgno: int | None
    table: Name | None
    text: str


class CheckReport(TypedDict):
    """What a check found: see ``Env.check``."""

    txnid: int
    page_bytes: int
    problems: list[Problem]
    problem_count: int
    reused_pages: int
    notes: list[str]
    tables: list[dict[str, Any]]
    tables_unordered: list[Name]
    journal_batches: int
    named_snapshots: int
    reachable_pages: int
    free_list_pages: int
    free_pages: int
    retained_pages: int
    pages_total: int


class CopyReport(TypedDict):
    """A copy: the snapshot, and how many bytes it has."""

    txnid: int
    bytes: int


class SnapshotName(TypedDict):
    """Which snapshot of a file: its id, and a checksum of its image."""

    id: int
    checksum: int


class NamedSnapshot(TypedDict):
    """A snapshot that the file keeps under a name: see ``Env.name_snapshot``."""

    name: str
    snapshot: SnapshotName


class BackupReport(TypedDict):
    """A backup: its snapshot, and the one that it follows."""

    snapshot: SnapshotName
    since: SnapshotName | None
    pages: int
    bytes: int


class RestoreReport(TypedDict):
    """A file that was made of backups."""

    snapshot: SnapshotName
    bytes: int


class CompactReport(TypedDict):
    """What a compaction did: see ``Env.compact``."""

    end: Literal["target", "time_limit", "stopped", "no_room"] | dict[str, Any]
    before_bytes: int
    after_bytes: int
    live_bytes: int
    moved_bytes: int
    commits: int


class SlowReader(TypedDict):
    """A reader that keeps a writer from pages that it needs."""

    client: int
    pid: int
    thread: int
    txnid: int
    ids_behind: int
    retained_bytes: int
    freed_bytes: int
    parked: bool
    guest: bool
    own: bool
    retries: int
    full: bool


LsmClass = TypedDict("LsmClass", {"class": int, "runs": int, "records": int, "bytes": int})
"""Runs of about the same size: those of class 0 are the smallest."""


class LsmStat(TypedDict):
    """What a write-optimised table consists of and has cost: see ``LsmMapping.stat``."""

    key_type: str
    value_type: str
    operator: str
    fan: int
    filter_bits: int
    classes: list[LsmClass]
    runs: int
    has_open_run: bool
    open_records: int
    records: int
    tombstones: int
    bytes: int
    filter_bytes: int
    filter_bytes_in_memory: int
    range_deletes: int
    debt_bytes: int
    merging_bytes: int
    total_put_bytes: int
    total_merged_bytes: int
    total_write_amplification: float | None
    put_bytes: int
    merged_bytes: int
    merges: int
    steps: int
    lost_steps: int
    failures: int
    stalls: int
    stall_time: float


class LsmRunCheck(TypedDict):
    """A run, as a check has read it."""

    id: int
    number: int
    table: str | bytes
    is_open: bool
    is_input: bool
    records: int
    tombstones: int
    digest: int


class LsmCheck(TypedDict):
    """What a check of a write-optimised table found: see ``LsmMapping.check``."""

    runs: list[LsmRunCheck]
    problems: list[str]
