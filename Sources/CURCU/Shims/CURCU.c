// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CURCU.h"

// For the layout of a reader and the thread's pointer to it, also where CURCU.h calls liburcu out of line.
#include <urcu/static/urcu-bp.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local void *curcu_thread_record __attribute__((tls_model("initial-exec")));

// MARK: First use, fork and exit

static struct curcu_hooks hooks;

// Whether the hooks may be called. Written once, under `first_use`.
static atomic_bool is_prepared;

// Held while the library prepares itself, and by a thread that forks from its first handler to its last: a child finds
// the library prepared, or untouched.
static pthread_mutex_t first_use = PTHREAD_MUTEX_INITIALIZER;

static pthread_key_t exit_key;
static int key_error;
static int handlers_error;

static void before_fork(void) {
    pthread_mutex_lock(&first_use);
    // Relaxed, as in the next two: written under `first_use`, which this thread holds.
    if (atomic_load_explicit(&is_prepared, memory_order_relaxed)) hooks.before_fork();
}

static void after_fork_in_parent(void) {
    if (atomic_load_explicit(&is_prepared, memory_order_relaxed)) hooks.after_fork_in_parent();
    pthread_mutex_unlock(&first_use);
}

static void after_fork_in_child(void) {
    if (atomic_load_explicit(&is_prepared, memory_order_relaxed)) hooks.after_fork_in_child();
    pthread_mutex_unlock(&first_use);
}

static void thread_exit(void *record) { hooks.thread_exit(record); }

// Before `main`, so that no fork is without the handlers. Nothing of Swift is used here: its runtime may not be ready.
__attribute__((constructor)) static void install(void) {
    key_error = pthread_key_create(&exit_key, thread_exit);
    handlers_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void curcu_prepare(const struct curcu_hooks *given, void (*prepare)(void)) {
    // Acquire: pairs with the release below; what `prepare` has made is whole.
    if (atomic_load_explicit(&is_prepared, memory_order_acquire)) return;
    pthread_mutex_lock(&first_use);
    // Relaxed: written under `first_use`.
    if (!atomic_load_explicit(&is_prepared, memory_order_relaxed)) {
        prepare();
        hooks = *given;
        // Release: pairs with the acquire above.
        atomic_store_explicit(&is_prepared, true, memory_order_release);
    }
    pthread_mutex_unlock(&first_use);
}

int curcu_exit_key_error(void) { return key_error; }
int curcu_fork_handlers_error(void) { return handlers_error; }

void curcu_note_thread_exit(void *record) { pthread_setspecific(exit_key, record); }

// MARK: liburcu's reader

// Takes the calling thread's reader out of liburcu's thread-specific value, so that the thread's exit does not give it up.
// The key is liburcu's own: the reader's address finds it. False if no key has it.
static bool keep_at_exit(struct urcu_bp_reader *reader) {
    bool found = false;
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++) {
        if (pthread_getspecific(key) != reader) continue;
        pthread_setspecific(key, NULL);
        found = true;
    }
    return found;
}

void *curcu_attach_reader(void *kept) {
    struct urcu_bp_reader *reader = kept;
    if (URCU_TLS(urcu_bp_reader)) {
        // Other code of the process has registered the thread with liburcu. A thread needs one reader.
        if (reader) return reader;
    } else if (reader) {
        // What the child of a fork keeps is the reader of the thread that has forked: liburcu looks at this member.
        reader->tid = pthread_self();
        URCU_TLS(urcu_bp_reader) = reader;
        return reader;
    } else {
        urcu_bp_register();
    }
    reader = URCU_TLS(urcu_bp_reader);
    return keep_at_exit(reader) ? reader : NULL;
}

void curcu_detach_reader(void *kept) {
    if (!kept || URCU_TLS(urcu_bp_reader) != kept) return;
    URCU_TLS(urcu_bp_reader)->tid = 0;
    URCU_TLS(urcu_bp_reader) = NULL;
}

#if defined(CURCU_OUT_OF_LINE)
bool curcu_has_reader(void) { return URCU_TLS(urcu_bp_reader) != NULL; }
#endif

int curcu_membarrier(void) {
    // liburcu's constructor has registered the process for this command.
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;
}

void curcu_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds < 0 ? 0 : &limit, 0, 0);
    errno = saved;
}

void curcu_futex_wake(const void *word, int32_t count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
    errno = saved;
}

void curcu_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
