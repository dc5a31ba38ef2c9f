// SPDX-License-Identifier: Apache-2.0
//
// Runs the functions of `Sources/CPlatform` on the system that it is compiled for:
// Scripts/check-portable.sh. An argument says how many seconds threads may take. It prints one line
// for each subject, and fails at the first that is not as the header says.

#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void require(bool holds, const char *rule) {
    if (holds) return;
    printf("driver: FAILED: %s\n", rule);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static uint32_t add(uint32_t *word, uint32_t value) { return __atomic_add_fetch(word, value, __ATOMIC_SEQ_CST); }

// How long others may take for their part, in seconds.
static double patience = 30;

static void wait_for(const uint32_t *word, uint32_t wanted) {
    double end = seconds() + patience;
    while (load(word) != wanted && seconds() < end) cplatform_sleep(100);
    require(load(word) == wanted, "a thread does its part in time");
}

// MARK: Waiting

enum { steps = 2000, sleepers = 4 };
static uint32_t step, woken, gate;

// Two threads count in alternation. A lost wake-up would end both.
static void alternate(void *mine) {
    uint32_t parity = mine != NULL;
    for (uint32_t now = load(&step); now < steps; now = load(&step)) {
        if (now % 2 != parity) {
            cplatform_wait(&step, now, -1);
            continue;
        }
        add(&step, 1);
        cplatform_wake(&step, true);
    }
    add(&woken, 1);
}

static void sleep_at_gate(void *nothing) {
    (void)nothing;
    while (load(&gate) == 0) cplatform_wait(&gate, 0, -1);
    add(&woken, 1);
}

static void check_waiting(void) {
    uint32_t word = 1;
    cplatform_wait(&word, 2, -1);
    double begin = seconds();
    while (seconds() - begin < 0.02) cplatform_wait(&word, 1, 20000000);
    require(seconds() - begin < 10, "a wait with a limit ends");
    static int other;
    require(cplatform_create_thread("alternate", alternate, NULL) == 0, "a thread starts");
    require(cplatform_create_thread("alternate", alternate, &other) == 0, "a thread starts");
    wait_for(&woken, 2);
    for (int i = 0; i < sleepers; i++) require(cplatform_create_thread("sleeper", sleep_at_gate, NULL) == 0, "a thread starts");
    cplatform_sleep(20000);
    require(load(&woken) == 2, "a thread sleeps until its word changes");
    add(&gate, 1);
    cplatform_wake(&gate, true);
    wait_for(&woken, 2 + sleepers);
    printf("waiting: %d steps, %d threads woken\n", steps, sleepers);
}

// MARK: Threads

static uint32_t exited, started;
static int record;
static sigset_t mask;
static char name[16];

static void note_exit(void *passed) {
    if (passed == &record) add(&exited, 1);
}

static void begin_and_exit(void *context) {
    require(context == &record, "a thread receives its context");
    require(cplatform_get_thread_record() == NULL, "a new thread has no record");
    cplatform_set_thread_record(context);
    require(cplatform_get_thread_record() == context, "a thread keeps its record");
    cplatform_note_thread_exit(context, note_exit);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pthread_getname_np(pthread_self(), name, sizeof name);
    add(&started, 1);
}

static void check_threads(void) {
    require(cplatform_exit_key_error() == 0, "the key of exits is there before main");
    require(cplatform_create_thread("named", begin_and_exit, &record) == 0, "a thread starts");
    wait_for(&started, 1);
    wait_for(&exited, 1);
    require(cplatform_get_thread_record() == NULL, "the record belongs to one thread");
    require(strcmp(name, "named") == 0, "a thread has its name");
    require(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGSEGV) == 0, "a thread blocks all but faults");
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    require(sigismember(&mask, SIGTERM) == 0, "the starting thread keeps its mask");
    require(cplatform_processor_count() > 0, "there is a processor");
    printf("threads: started, named, exit noticed, %d processors\n", cplatform_processor_count());
}

// MARK: Stack

// Uses the stack, 16 KiB at a time, until the library says stop. Returns the bytes used.
__attribute__((noinline)) static size_t descend(size_t used) {
    char room[16 << 10];
    room[0] = 1;
    __asm__ __volatile__("" ::"r"(room) : "memory");
    if (cplatform_stack_is_nearly_used_up() || used > 64 << 20) return used;
    size_t result = descend(used + sizeof room);
    __asm__ __volatile__("" ::"r"(room) : "memory");
    return result;
}

static size_t used;
static uint32_t descended;

static void descend_in_thread(void *nothing) {
    (void)nothing;
    used = descend(0);
    add(&descended, 1);
}

static void check_stack(void) {
    require(!cplatform_stack_is_nearly_used_up(), "the stack is not used up at the beginning");
    size_t in_main = descend(0);
    require(in_main >= 1 << 20 && in_main < 64 << 20, "the main thread's stack ends where it ends");
    require(cplatform_create_thread("deep", descend_in_thread, NULL) == 0, "a thread starts");
    wait_for(&descended, 1);
    require(used >= 64 << 10 && used < 64 << 20, "another thread's stack ends where it ends");
    printf("stack: %zu KiB used of the main thread's, %zu KiB of another's\n", in_main >> 10, used >> 10);
}

// MARK: Barrier, clocks, fork

static uint32_t stops, spinning;
static uint64_t spinning_clock;

static void spin(void *nothing) {
    (void)nothing;
    spinning_clock = cplatform_thread_clock();
    add(&spinning, 1);
    while (load(&stops) == 0) cplatform_spin_hint();
    add(&spinning, 1);
}

static void check_barrier_and_clocks(void) {
    require(cplatform_create_thread("spin", spin, NULL) == 0, "a thread starts");
    wait_for(&spinning, 1);
    int error = cplatform_membarrier();
    if (cplatform_is_portable()) require(!cplatform_has_membarrier(), "the portable form has no membarrier");
    if (cplatform_has_membarrier()) {
        require(error == 0 && cplatform_register_membarrier() == 0, "a membarrier that is registered works");
    } else {
        require(error != 0 && !cplatform_may_pass(error), "a membarrier that is missing stays so");
    }
    require(cplatform_is_unregistered(EPERM) && cplatform_may_pass(EAGAIN), "errors differ");
    require(spinning_clock != 0, "a thread has a clock");
    int64_t before = cplatform_thread_time(spinning_clock);
    double end = seconds() + 30;
    while (cplatform_thread_time(spinning_clock) < before + 5000000 && seconds() < end) cplatform_yield();
    require(before >= 0 && seconds() < end, "the clock of a thread that runs goes on");
    add(&stops, 1);
    wait_for(&spinning, 2);
    uint32_t quarters = cplatform_quarters();
    cplatform_sleep(600000);
    uint32_t passed = cplatform_quarters() - quarters;
    require(passed >= 1 && passed < 120, "the coarse clock counts quarters of a second");
    printf("barrier: %s; clocks go\n", cplatform_has_membarrier() ? "membarrier" : "fences");
}

static void check_fork(void) {
    require(cplatform_fork_handler_error() == 0, "the fork handler is there before main");
    require(!cplatform_is_child(), "no child yet");
    for (int used = 0; used < 2; used++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) _exit(cplatform_is_child() == (used == 1) ? 0 : 1);
        require(waitpid(child, &status, 0) == child && status == 0, "a child knows whether the library was used");
        cplatform_note_use();
    }
    require(!cplatform_is_child(), "the parent is no child");
    printf("fork: noticed\n");
}

int main(int count, char **arguments) {
    if (count > 1) patience = atof(arguments[1]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    check_waiting();
    check_threads();
    check_stack();
    check_barrier_and_clocks();
    check_fork();
    printf("driver: all as the header says\n");
    return 0;
}
