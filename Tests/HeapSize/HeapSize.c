// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "Interposition.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t interposition_bytes_in_use(void) { return mallinfo2().uordblks; }

static atomic_bool has_stopped;
static atomic_bool is_released;

static _Thread_local int remaining;
static _Thread_local char stopping_module[32];

void interposition_stop(int count, const char *module) {
    strncpy(stopping_module, module, sizeof stopping_module - 1);
    remaining = count;
}

static _Thread_local char passed_module[32];

void interposition_pass(const char *module) { strncpy(passed_module, module, sizeof passed_module - 1); }

static atomic_int counted;
static atomic_bool is_counting;
static char counted_module[32];
static pthread_t counted_thread;

void interposition_count(const char *module, bool of_all_threads) {
    counted_thread = of_all_threads ? 0 : pthread_self();
    strncpy(counted_module, module, sizeof counted_module - 1);
    atomic_store(&counted, 0);
    atomic_store(&is_counting, true);
}

int interposition_counted(void) {
    atomic_store(&is_counting, false);
    return atomic_load(&counted);
}

bool interposition_has_stopped(void) { return atomic_load(&has_stopped); }

void interposition_release(void) { atomic_store(&is_released, true); }

#if !__has_feature(thread_sanitizer)
typedef int lock_function(pthread_mutex_t *);

static bool is_in(const char *module, void *address) {
    Dl_info caller;
    return dladdr(address, &caller) != 0 && strstr(caller.dli_fname, module);
}

static lock_function *next_function(lock_function *_Atomic *next, const char *name) {
    lock_function *function = atomic_load_explicit(next, memory_order_relaxed);
    if (!function) {
        function = (lock_function *)dlsym(RTLD_NEXT, name);
        atomic_store_explicit(next, function, memory_order_relaxed);
    }
    return function;
}

// Appends where the calling thread stands to the file that the environment names, if any.
static void trace(void) {
    const char *path = getenv("INTERPOSITION_TRACE");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file < 0) return;
    // By the frame pointers, which Swift's code has everywhere: not all of the runtime has unwind tables.
    void *frames[24];
    int count = 0;
    void **frame = __builtin_frame_address(0);
    while (count < 24 && frame && frame[0] > (void *)frame) {
        frames[count++] = frame[1];
        frame = frame[0];
    }
    dprintf(file, "a lock is taken by\n");
    backtrace_symbols_fd(frames, count, file);
    close(file);
}

// Stands before the system's, which it calls: the dynamic linker finds the executable's first.
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static lock_function *_Atomic next;
    if (passed_module[0] && is_in(passed_module, __builtin_return_address(0))) return 0;
    bool counts = atomic_load(&is_counting) && (!counted_thread || counted_thread == pthread_self());
    if (counts && is_in(counted_module, __builtin_return_address(0))) {
        atomic_fetch_add(&counted, 1);
        trace();
    }
    int error = next_function(&next, "pthread_mutex_lock")(mutex);
    if (remaining == 0) return error;
    if (!is_in(stopping_module, __builtin_return_address(0))) return error;
    if (--remaining > 0) return error;
    atomic_store(&has_stopped, true);
    while (!atomic_load(&is_released)) usleep(200);
    return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static lock_function *_Atomic next;
    if (passed_module[0] && is_in(passed_module, __builtin_return_address(0))) return 0;
    return next_function(&next, "pthread_mutex_unlock")(mutex);
}
#endif
