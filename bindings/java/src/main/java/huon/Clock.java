package huon;

import java.time.Duration;

/** Times to wait, in the units of the library. */
final class Clock {
    private Clock() {}

    /** As many nanoseconds, or a century. */
    static long nanos(Duration time) {
        Duration most = Duration.ofDays(36_500);
        return time.isNegative() ? 0 : time.compareTo(most) > 0 ? most.toNanos() : time.toNanos();
    }

    /** Milliseconds until then, rounded up; 0 if that has passed. */
    static long millisUntil(long nanoTime) {
        return Math.max(0, (nanoTime - System.nanoTime() + 999_999) / 1_000_000);
    }
}
