// SPDX-License-Identifier: Apache-2.0
//
// Sleeping until a word changes: by futex, by Darwin's os_sync, or by a mutex and a condition.

#include "System.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

bool cplatform_is_portable(void) {
#if CPLATFORM_LINUX || CPLATFORM_DARWIN
    return false;
#else
    return true;
#endif
}

void cplatform_yield(void) { sched_yield(); }

void cplatform_sleep(uint32_t microseconds) {
    struct timespec time = {0, (long)microseconds * 1000};
    int saved = errno;
    nanosleep(&time, NULL);
    errno = saved;
}

#if CPLATFORM_LINUX

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

// Constants of <linux/futex.h>, which not every C library's headers come with.
enum { futex_wait_private = 0 | 128, futex_wake_private = 1 | 128 };

void cplatform_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int saved = errno;
    syscall(SYS_futex, word, futex_wait_private, expected, nanoseconds < 0 ? 0 : &limit, 0, 0);
    errno = saved;
}

void cplatform_wake(const void *word, bool all) {
    int saved = errno;
    syscall(SYS_futex, word, futex_wake_private, all ? INT_MAX : 1, 0, 0, 0);
    errno = saved;
}

#elif CPLATFORM_DARWIN

// Prototypes of <os/os_sync_wait_on_address.h>, which some SDKs lack: macOS 14.4, iOS 17.4.
extern int os_sync_wait_on_address(void *word, uint64_t expected, size_t size, uint32_t flags);
extern int os_sync_wait_on_address_with_timeout(
    void *word, uint64_t expected, size_t size, uint32_t flags, uint32_t clock, uint64_t nanoseconds);
extern int os_sync_wake_by_address_any(void *word, size_t size, uint32_t flags);
extern int os_sync_wake_by_address_all(void *word, size_t size, uint32_t flags);
enum { mach_absolute_time_clock = 32 };

void cplatform_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    int saved = errno;
    // Sequentially consistent: the full barrier that the caller relies on. The system promises
    // none.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (nanoseconds < 0) {
        os_sync_wait_on_address((void *)word, expected, sizeof expected, 0);
    } else if (nanoseconds > 0) {
        os_sync_wait_on_address_with_timeout(
            (void *)word, expected, sizeof expected, 0, mach_absolute_time_clock, (uint64_t)nanoseconds);
    }
    errno = saved;
}

void cplatform_wake(const void *word, bool all) {
    int saved = errno;
    if (all) os_sync_wake_by_address_all((void *)word, sizeof(uint32_t), 0);
    else os_sync_wake_by_address_any((void *)word, sizeof(uint32_t), 0);
    errno = saved;
}

#else

#include <pthread.h>

// Words share stripes by their address. A thread that is woken for another word looks at its own
// and sleeps again.
static struct stripe {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} stripes[64];

__attribute__((constructor)) static void make_stripes(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#if !defined(__APPLE__)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    for (int i = 0; i < 64; i++) {
        pthread_mutex_init(&stripes[i].mutex, NULL);
        pthread_cond_init(&stripes[i].condition, &attributes);
    }
    pthread_condattr_destroy(&attributes);
}

static struct stripe *stripe_of(const void *word) {
    return &stripes[((uintptr_t)word >> 2) * UINT64_C(0x9E3779B97F4A7C15) >> 58];
}

// The moment after some nanoseconds, by the clock of the conditions.
static struct timespec after(int64_t nanoseconds) {
    struct timespec end;
#if defined(__APPLE__)
    clock_gettime(CLOCK_REALTIME, &end);
#else
    clock_gettime(CLOCK_MONOTONIC, &end);
#endif
    int64_t fraction = end.tv_nsec + nanoseconds % 1000000000;
    end.tv_sec += (time_t)(nanoseconds / 1000000000 + fraction / 1000000000);
    end.tv_nsec = (long)(fraction % 1000000000);
    return end;
}

void cplatform_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct stripe *stripe = stripe_of(word);
    struct timespec end = after(nanoseconds < 0 ? 0 : nanoseconds);
    // Sequentially consistent: the full barrier that the caller relies on. A mutex is none.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    pthread_mutex_lock(&stripe->mutex);
    // Relaxed: a thread that has changed the word takes the mutex before it wakes. So either the
    // new word is seen here, or the wake-up comes after this thread sleeps.
    if (__atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED) == expected) {
        if (nanoseconds < 0) pthread_cond_wait(&stripe->condition, &stripe->mutex);
        else pthread_cond_timedwait(&stripe->condition, &stripe->mutex, &end);
    }
    pthread_mutex_unlock(&stripe->mutex);
}

void cplatform_wake(const void *word, bool all) {
    struct stripe *stripe = stripe_of(word);
    (void)all;
    pthread_mutex_lock(&stripe->mutex);
    pthread_mutex_unlock(&stripe->mutex);
    // All of the stripe: one alone could be a thread that waits for another word.
    pthread_cond_broadcast(&stripe->condition);
}

#endif
