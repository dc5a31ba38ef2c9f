// SPDX-License-Identifier: Apache-2.0
//
// Starting a thread of the library, and noticing that a thread exits.

#include "System.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// MARK: Starting

struct start {
    char name[16];
    void (*body)(void *);
    void *context;
};

#if CPLATFORM_LINUX

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static void choose_processors(pthread_attr_t *attributes) {
#if defined(__GLIBC__)
    // Without the memory for it, the thread stays where the calling one is.
    if (processors_size > 0) pthread_attr_setaffinity_np(attributes, processors_size, (const cpu_set_t *)processors);
#else
    (void)attributes;
#endif
}

// On Linux, the nice value belongs to a thread.
static void begin(const char *name) {
#if !defined(__GLIBC__)
    // musl cannot place a thread that does not run yet.
    if (processors_size > 0) syscall(SYS_sched_setaffinity, 0, processors_size, processors);
#endif
    // To lower it takes a privilege. Without the privilege the starting thread's value stays.
    if (getpriority(PRIO_PROCESS, 0) != nice_value) setpriority(PRIO_PROCESS, 0, nice_value);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

#else

static void choose_processors(pthread_attr_t *attributes) { (void)attributes; }

static void begin(const char *name) {
#if defined(__APPLE__)
    pthread_setname_np(name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    (void)name;
#endif
}

#endif

// A thread that begins while no memory can be had waits for some: its first allocation in Swift
// would end the process, though the library needs no thread to end an observation. (P8)
static void wait_for_memory(void) {
    // Volatile: the compiler removes an allocation that nothing uses.
    void *volatile probe;
    while (!(probe = malloc(1 << 14))) nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    free(probe);
}

static void *cplatform_run(void *context) {
    struct start start = *(struct start *)context;
    free(context);
    wait_for_memory();
    begin(start.name);
    start.body(start.context);
    return NULL;
}

static int create_thread(struct start *start, bool has_own_class, bool has_own_processors) {
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (has_own_class) {
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
#if defined(__linux__)
        // Elsewhere new attributes have an ordinary priority.
        struct sched_param parameters = {.sched_priority = 0};
        pthread_attr_setschedparam(&attributes, &parameters);
#endif
    }
    if (has_own_processors) choose_processors(&attributes);
    error = pthread_create(&thread, &attributes, cplatform_run, start);
    pthread_attr_destroy(&attributes);
    return error;
}

// Not permitted: to leave SCHED_IDLE takes a privilege, and a sandbox may forbid either. Not valid:
// none of the processors is left.
static bool is_refused(int error) { return error == EPERM || error == EACCES || error == EINVAL; }

int cplatform_create_thread(const char *name, void (*body)(void *), void *context) {
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return ENOMEM;
    *start = (struct start){.body = body, .context = context};
    strncpy(start->name, name, sizeof start->name - 1);

    // The new thread inherits the signal mask.
    static const int faults[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
    sigset_t all, previous;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    int error = create_thread(start, true, true);
    if (is_refused(error)) error = create_thread(start, true, false);
    if (is_refused(error)) error = create_thread(start, false, true);
    if (is_refused(error)) error = create_thread(start, false, false);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (error != 0) free(start);
    return error;
}

// MARK: The record and the exit

_Thread_local void *cplatform_thread_record CPLATFORM_EARLY;

static pthread_key_t exit_key;
static int key_error;

// Written with the same value by every thread, before its exit is noted.
static _Atomic(void (*)(void *)) exit_hook;

static void thread_exit(void *record) {
    // Relaxed: the thread itself has stored it.
    atomic_load_explicit(&exit_hook, memory_order_relaxed)(record);
}

__attribute__((constructor)) static void make_key(void) { key_error = pthread_key_create(&exit_key, thread_exit); }

int cplatform_exit_key_error(void) { return key_error; }

void cplatform_note_thread_exit(void *record, void (*hook)(void *)) {
    // Relaxed: see thread_exit.
    atomic_store_explicit(&exit_hook, hook, memory_order_relaxed);
    pthread_setspecific(exit_key, record);
}
