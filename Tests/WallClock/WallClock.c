// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "WallClock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static atomic_long offset;

void wall_clock_jump(long seconds) { atomic_store(&offset, seconds); }

typedef int clock_function(clockid_t, struct timespec *);

// These stand before the system's, which the first of them calls: the dynamic linker finds the
// executable's first.
int clock_gettime(clockid_t clock, struct timespec *result) {
    static clock_function *_Atomic next;
    clock_function *function = atomic_load_explicit(&next, memory_order_relaxed);
    if (!function) {
        function = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
        atomic_store_explicit(&next, function, memory_order_relaxed);
    }
    int error = function(clock, result);
    if (!error && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) result->tv_sec += atomic_load(&offset);
    return error;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int error = clock_gettime(CLOCK_REALTIME, &now);
    result->tv_sec = now.tv_sec;
    result->tv_usec = now.tv_nsec / 1000;
    return error;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
