/* What the system gives a process: threads, memory, and how long its files may be. */
#ifndef RESOURCES_H
#define RESOURCES_H

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "cases.h"

UNUSED static void *idle(void *arg)
{
    return arg;
}

/* There is room left for a thread, and for what a program allocates. */
UNUSED static void expect_room(void)
{
    pthread_t thread;
    char *volatile memory = malloc(256 << 20);
    EXPECT(pthread_create(&thread, NULL, idle, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(memory != NULL);
    free(memory);
}

UNUSED static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

UNUSED static off_t size_of(const char *path)
{
    struct stat stat_buf;
    EXPECT(stat(path, &stat_buf) == 0);
    return stat_buf.st_size;
}

#endif
