// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CURCU.h"

// It reads the thread's pointer to its reader, also where CURCU.h calls liburcu out of line.
#include <urcu/static/urcu-bp.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local void *curcu_thread_record __attribute__((tls_model("initial-exec")));

// MARK: First use, fork and exit

static pthread_key_t exit_key;
static int key_error;
static int handler_error;

// Written with the same value by every thread, before its exit is noted.
static _Atomic(void (*)(void *)) exit_hook;

bool curcu_used, curcu_child;

static void after_fork_in_child(void) {
    // Relaxed: the child has one thread, and the memory of the moment of the fork.
    if (__atomic_load_n(&curcu_used, __ATOMIC_RELAXED)) curcu_child = true;
}

static void thread_exit(void *record) {
    // Relaxed: the thread itself has stored it.
    atomic_load_explicit(&exit_hook, memory_order_relaxed)(record);
}

// Before `main`, so that no fork is without the handler. Nothing of Swift is used here: its runtime
// may not be ready.
__attribute__((constructor)) static void install(void) {
    key_error = pthread_key_create(&exit_key, thread_exit);
    handler_error = pthread_atfork(NULL, NULL, after_fork_in_child);
}

int curcu_exit_key_error(void) { return key_error; }
int curcu_fork_handler_error(void) { return handler_error; }

void curcu_note_thread_exit(void *record, void (*hook)(void *)) {
    // Relaxed: see thread_exit.
    atomic_store_explicit(&exit_hook, hook, memory_order_relaxed);
    pthread_setspecific(exit_key, record);
}

#if defined(CURCU_OUT_OF_LINE)
bool curcu_has_reader(void) { return URCU_TLS(urcu_bp_reader) != NULL; }
#endif

int curcu_membarrier(void) {
    // liburcu's constructor has registered the process for this command.
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;
}

int curcu_register_membarrier(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;
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

// The processors of the process, as many bytes as the kernel has written, and its nice value: those
// of the main thread when the library was loaded, before the program could give that a place of its
// own.
static unsigned long processors[128];
static size_t processors_size;
static int nice_value;

__attribute__((constructor)) static void look_at_process(void) {
    long size = syscall(SYS_sched_getaffinity, getpid(), sizeof processors, processors);
    processors_size = size > 0 ? (size_t)size : 0;
    nice_value = getpriority(PRIO_PROCESS, (id_t)getpid());
}

static int create_thread(void *(*body)(void *), void *context, bool has_own_class, bool has_own_processors) {
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (has_own_class) {
        struct sched_param parameters = {.sched_priority = 0};
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
        pthread_attr_setschedparam(&attributes, &parameters);
    }
    if (has_own_processors && processors_size > 0) {
        // Without the memory for it, the thread stays where the calling one is.
        pthread_attr_setaffinity_np(&attributes, processors_size, (const cpu_set_t *)processors);
    }
    error = pthread_create(&thread, &attributes, body, context);
    pthread_attr_destroy(&attributes);
    return error;
}

// Not permitted: to leave SCHED_IDLE takes a privilege, and a sandbox may forbid either. Not valid:
// none of the processors is left.
static bool is_refused(int error) { return error == EPERM || error == EACCES || error == EINVAL; }

int curcu_create_thread(void *(*body)(void *), void *context) {
    int error = create_thread(body, context, true, true);
    if (is_refused(error)) error = create_thread(body, context, true, false);
    if (is_refused(error)) error = create_thread(body, context, false, true);
    if (is_refused(error)) error = create_thread(body, context, false, false);
    return error;
}

// The calling thread's stack: where it ends, and below where it is nearly used up. Both 0 before
// the first look.
static _Thread_local uintptr_t stack_end, stack_limit;

static void find_stack(void) {
    pthread_attr_t attributes;
    void *address;
    size_t size, guard;
    stack_end = stack_limit = UINTPTR_MAX;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0 &&
        pthread_attr_getguardsize(&attributes, &guard) == 0 && guard < size) {
        size -= guard;
        size_t reserve = size / 8;
        if (reserve < 64 << 10) reserve = 64 << 10;
        if (reserve > 256 << 10) reserve = 256 << 10;
        if (reserve > size / 4) reserve = size / 4;
        stack_end = (uintptr_t)address + guard;
        stack_limit = stack_end + reserve;
    }
    pthread_attr_destroy(&attributes);
}

bool curcu_stack_is_nearly_used_up(void) {
    if (stack_limit == 0) {
        int saved = errno;
        find_stack();
        errno = saved;
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < stack_limit && here >= stack_end;
}

void curcu_begin_thread(const char *name) {
    // A lower value than the starting thread's takes a privilege; without it the starting thread's
    // stays.
    if (getpriority(PRIO_PROCESS, 0) != nice_value) setpriority(PRIO_PROCESS, 0, nice_value);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}
