package huon;

import java.time.Duration;
import java.time.Instant;

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

    /** As many milliseconds, rounded up, or as many as there are. */
    static long millis(Duration time) {
        if (time.isNegative()) {
            throw new IllegalArgumentException("a time below zero: " + time);
        }
        boolean isEndless = time.getSeconds() > Long.MAX_VALUE / 1000 - 1;
        return isEndless ? Long.MAX_VALUE : time.plusNanos(999_999).toMillis();
    }

    /** A point in time in milliseconds since 1970; what lies before, or too far off, is clamped. */
    static long unixMillis(Instant time) {
        boolean isEndless = time.getEpochSecond() > Long.MAX_VALUE / 1000 - 1;
        return isEndless ? Long.MAX_VALUE : time.isBefore(Instant.EPOCH) ? 0 : time.toEpochMilli();
    }
}
