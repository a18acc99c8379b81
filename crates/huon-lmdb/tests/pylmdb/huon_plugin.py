"""What `cargo xtask pylmdb` has pytest do beside the tests.

Before the first test: the only liblmdb in this process is the one that HUON_LMDB_LIBRARY names.
At each test: a line in the file that HUON_LMDB_RESULTS names, written at once, so that a process
that dies has told which test it was at. A test that takes too long has its process die.
"""

import os
import signal

import pytest

SECONDS_MAX = 120


def libraries():
    """The files mapped into this process that are called liblmdb."""
    with open("/proc/self/maps") as maps:
        paths = {line[line.index("/") :].strip() for line in maps if "/" in line}
    return {path for path in paths if os.path.basename(path).startswith("liblmdb")}


def pytest_sessionstart(session):
    import lmdb

    wanted = os.path.realpath(os.environ["HUON_LMDB_LIBRARY"])
    found = libraries()
    if found != {wanted}:
        pytest.exit("loaded are %s, wanted is %s" % (sorted(found), wanted), returncode=9)
    tell("library", wanted)
    tell("version", str(lmdb.version()))


def pytest_runtest_logstart(nodeid, location):
    # A child that a test forks has no alarm, and goes on with the tests after it, as its parent
    # does: both tell their results.
    signal.alarm(SECONDS_MAX)
    tell("start", nodeid)


def pytest_runtest_logreport(report):
    if report.skipped:
        tell("skipped", report.nodeid)
    elif report.failed:
        tell("failed", report.nodeid)
    elif report.when == "call":
        tell("passed", report.nodeid)


def tell(what, whom):
    with open(os.environ["HUON_LMDB_RESULTS"], "a") as results:
        results.write("%s %s\n" % (what, whom))
