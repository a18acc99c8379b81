/*
 * A process of another user that takes turns with its case.
 *
 * It is forked before the case has opened anything, and may then write nothing of what the case
 * makes. Only root can make one. Each side gives the turn to the other and waits for it; a check
 * that fails on either side ends both.
 */
#ifndef STRANGERS_H
#define STRANGERS_H

#include <signal.h>
#include <sys/socket.h>
#include "cases.h"

#define STRANGER 65534 /* a user and a group that own nothing */

struct stranger {
    pid_t pid;
    int side;
};

UNUSED static void give_turn(int side)
{
    EXPECT(write(side, "t", 1) == 1);
}

UNUSED static void await_turn(int side)
{
    char sign;
    EXPECT(read(side, &sign, 1) == 1);
}

/* The other side does something now. */
UNUSED static void take_turns(int side)
{
    give_turn(side);
    await_turn(side);
}

/* Starts one that waits for its first turn and then runs, with its side of the talk. */
UNUSED static struct stranger stranger(void (*run)(int side))
{
    struct stranger it;
    int sides[2];
    /* It is to come to the files of this case, and no further. */
    EXPECT(chmod(".", 0755) == 0 && chmod("..", 0711) == 0);
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sides) == 0);
    fflush(stdout);
    it.pid = fork();
    EXPECT(it.pid >= 0);
    it.side = sides[it.pid == 0];
    close(sides[it.pid != 0]);
    if (it.pid == 0) {
        EXPECT(setgid(STRANGER) == 0 && setuid(STRANGER) == 0);
        await_turn(it.side);
        run(it.side);
        fflush(stdout);
        _exit(0);
    }
    return it;
}

/* It comes to its end by itself. */
UNUSED static void let_end(struct stranger it)
{
    int status;
    give_turn(it.side);
    EXPECT(waitpid(it.pid, &status, 0) == it.pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(it.side);
}

UNUSED static void let_die(struct stranger it)
{
    int status;
    EXPECT(kill(it.pid, SIGKILL) == 0 && waitpid(it.pid, &status, 0) == it.pid);
    close(it.side);
}

#endif
