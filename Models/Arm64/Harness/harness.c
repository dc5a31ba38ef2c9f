// SPDX-License-Identifier: Apache-2.0
//
// Threads that observe, change, cancel and read beside each other over the protocol in protocol.c,
// and the invariants that must hold: natively, and for arm64 in an emulator.
//
// usage: harness [--seconds S] [--threads N] [--seed N] [--without-membarrier] [--fence-parking]
//                [--break DEFECT] | --list | --probe
// Exit codes: 0 every invariant held, 1 one did not, 2 wrong usage, 4 inconclusive: a window was
// not hit, 5 a thread makes no step, 7 the harness itself has stopped.

#define _GNU_SOURCE
#include "CPlatform.h"
#include "CURCU.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double began;

_Noreturn void violated(const char *invariant, const char *what) {
    char line[256];
    int length = snprintf(
        line, sizeof line, "harness: VIOLATION %s: %s (after %.2f s)\n", invariant, what, seconds_now() - began
    );
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) _exit(3);
    _exit(1);
}

// Freed memory is filled with a pattern. A pointer that is read from there leads to no memory, and
// following it raises a signal.
static void followed(int signal) {
    (void)signal;
    static const char line[] = "harness: VIOLATION memory: a pointer leads nowhere\n";
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) _exit(3);
    _exit(1);
}

static void crashed(int signal) {
    (void)signal;
    static const char line[] = "harness: CRASH\n";
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0) _exit(3);
    _exit(7);
}

static void require(bool holds, const char *invariant, const char *what) {
    if (!holds) violated(invariant, what);
}

// MARK: Chance

static _Thread_local uint64_t state;

static uint64_t chance(void) {
    // The reclamation thread, which is not given a state.
    if (state == 0) state = (uintptr_t)&state | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void spin(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) cplatform_compiler_barrier();
}

void linger(void) { spin(chance() % 1024); }

void point(void) {
    uint64_t drawn = chance();
    if (drawn % 64 == 0) spin(drawn >> 32 & 255);
    if (drawn % 1021 == 0) sched_yield();
}

// MARK: What is under load

#define OWN 6
#define SHARED 8

static struct {
    struct registry registry;
    // The mutation lock of a property with two latches: of words, and of a box.
    struct lock mutation;
    struct latch words, boxes;
} source;

struct worker {
    int index;
    uint64_t random;
    // Observers that this worker alone ends, and those that any thread may end.
    struct observer *own[OWN];
    uint64_t ends;
    int nesting;
    volatile uint64_t steps, calls, changes, reads, registrations, cancellations, waits, listeners, late, threads;
};

static struct worker workers[THREADS_AT_MOST];
static int worker_count = 4;
static _Atomic(uintptr_t) shared[SHARED];
static _Atomic(int) running;
static _Atomic(bool) stops;
static _Thread_local struct worker *self;

// A change on its way through the observers.
struct event {
    uint64_t version;
    uint64_t own_calls;
};

static uintptr_t first_word(uint64_t version) { return (uintptr_t)(version * UINT64_C(0x9E3779B97F4A7C15)); }
static uintptr_t second_word(uint64_t version) { return ~first_word(version); }

static void change(void);

static void called(struct closure *closure, struct observer *observer, void *context) {
    struct event *event = context;
    int me = self->index;
    require(closure->canary == ALIVE, "P9", "a closure is called after its destruction");
    closure->inside[me]++;
    if (event->version > closure->since) {
        closure->received[me]++;
        if (closure->home == me) event->own_calls++;
    }
    self->calls++;
    point();
    uint64_t drawn = chance();
    if (drawn % 211 == 2) sched_yield();
    if (drawn % 97 == 0 && self->nesting < 3) {
        self->nesting++;
        change();
        self->nesting--;
    }
    // A callback ends its own observation: one that no thread counts on.
    if (drawn % 101 == 1 && closure->home < 0) cancel(observer);
    require(closure->canary == ALIVE, "P9", "a closure is destroyed during its callback");
    closure->inside[me]--;
}

static uint64_t count_own(void) {
    uint64_t count = 0;
    for (int i = 0; i < OWN; i++) count += self->own[i] != NULL;
    return count;
}

static void change(void) {
    lock(&source.mutation);
    uint64_t next = source.words.version + 1;
    struct box *box = make_box(next);
    struct box *replaced = (struct box *)read_latch(&source.boxes).first;
    require(replaced != NULL, "P2", "a version has no value");
    if (broken(defect_early_retire)) {
        retire(&replaced->item);
        sched_yield();
    }
    publish(&source.words, first_word(next), second_word(next));
    point();
    publish(&source.boxes, (uintptr_t)box, next);
    unlock(&source.mutation);
    struct event event = {.version = next};
    uint64_t ends = self->ends, own = count_own();
    walk(&source.registry, called, &event);
    if (ends == self->ends) {
        require(event.own_calls == own, "P1", "an observer did not receive a change exactly once");
    }
    if (!broken(defect_early_retire)) retire(&replaced->item);
    self->changes++;
}

// MARK: Reading

static void check_lent(uint64_t version, void *context) {
    uint64_t *found = context;
    *found = version;
}

static void read_values(void) {
    static _Thread_local uint64_t seen_words, seen_boxes;
    struct words words = read_latch(&source.words);
    require(
        words.first == first_word(words.version) && words.second == second_word(words.version), "P2",
        "a value is not that of its version"
    );
    require(words.version >= seen_words, "P2", "a later read has an earlier version");
    seen_words = words.version;
    uint64_t version, copied = copy_box(&source.boxes, &version), lent;
    require(copied == version && version >= seen_boxes, "P2", "a box is not that of its version");
    lend_box(&source.boxes, check_lent, &lent);
    require(lent >= version, "P2", "a later read has an earlier version");
    seen_boxes = lent;
    self->reads += 3;
}

// MARK: Registering and ending

static struct observer *observe(int home) {
    struct observer *observer = make_observer(&source.registry, home);
    lock(&source.mutation);
    observer->closure->since = source.words.version;
    point();
    struct item *replaced = append(observer);
    unlock(&source.mutation);
    if (replaced) retire(replaced);
    self->registrations++;
    return observer;
}

static void listen(struct observer *observer) {
    if (when_finished(observer)) self->listeners++;
    else self->late++;
}

// Ends an observation, in one of both ways, and releases the reference.
static void end(struct observer *observer) {
    uint64_t drawn = chance();
    if (drawn % 4 == 0) listen(observer);
    if (drawn & 256) {
        cancel_and_wait(observer);
        self->waits++;
    } else {
        cancel(observer);
        self->cancellations++;
    }
    if (drawn % 8 == 1) listen(observer);
    release(observer);
}

static void observe_or_end_own(void) {
    struct observer **place = &self->own[chance() % OWN];
    if (!*place) {
        *place = observe(self->index);
        return;
    }
    self->ends++;
    end(*place);
    *place = NULL;
}

// Two threads have a reference: both may end it at the same time.
static void observe_or_end_shared(void) {
    struct observer *mine = observe(-1);
    retain(mine);
    //= own: the harness's
    uintptr_t taken = exchange(&shared[chance() % SHARED], (uintptr_t)mine, acquiringAndReleasing);
    struct observer *other = (struct observer *)taken;
    if (other) end(other);
    point();
    if (chance() & 1) end(mine); else release(mine);
}

// MARK: The threads

static void step(void) {
    uint64_t drawn = chance() % 64;
    if (drawn < 24) change();
    else if (drawn < 40) read_values();
    else if (drawn < 56) observe_or_end_own();
    else observe_or_end_shared();
    // No thread counts on what is shared, and what is another's own is not to be ended.
    self->steps++;
}

static void run_worker(void *context) {
    self = context;
    self->threads++;
    state = self->random;
    for (int i = 0; i < 2000; i++) {
        if (load(&stops, relaxed)) {  //= own: the harness's
            add(&running, -1, acquiringAndReleasing);  //= own: the harness's
            return;
        }
        step();
    }
    // Threads come and go: the next one goes on.
    self->random = chance();
    while (cplatform_create_thread("worker", run_worker, self) != 0) sched_yield();
}

static uint64_t steps_of_all(void) {
    uint64_t steps = 0;
    for (int i = 0; i < worker_count; i++) steps += workers[i].steps;
    return steps;
}

static void watch(double seconds) {
    double end = seconds_now() + seconds, last_step = seconds_now();
    uint64_t steps = 0;
    //= own: the harness's
    while (load(&running, acquiring) > 0) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        if (seconds_now() > end) store(&stops, true, relaxed);  //= own: the harness's
        if (steps_of_all() != steps) last_step = seconds_now();
        steps = steps_of_all();
        if (seconds_now() - last_step < 40) continue;
        printf("harness: HANG: no thread makes a step\n");
        exit(5);
    }
}

// One thread retires, the reclamation thread parks after each item: no item may be forgotten.
static uint64_t retire_one_by_one(double seconds) {
    double end = seconds_now() + seconds;
    uint64_t count = 0;
    for (; count % 64 != 0 || seconds_now() < end; count++) {
        uint64_t before = reclaimed();
        retire(&make_box(0)->item);
        double limit = 0;
        for (uint64_t i = 0; reclaimed() == before; i++) {
            cplatform_spin_hint();
            if (i % 1024 != 1023) continue;
            sched_yield();
            if (limit == 0) limit = seconds_now() + (planted ? 2 : 20);
            require(seconds_now() < limit, "C3", "a retired item is forgotten: the reclamation thread sleeps");
        }
        linger();
    }
    return count;
}

// MARK: One against one

static struct registry arena;
static volatile uint64_t duels;

static void called_in_duel(struct closure *closure, struct observer *observer, void *context) {
    (void)observer;
    (void)context;
    require(closure->canary == ALIVE, "P9", "a closure is called after its destruction");
    linger();
    require(closure->canary == ALIVE, "P9", "a closure is destroyed during its callback");
}

static void notify_in_duel(void *context) {
    state = 7;
    //= own: the harness's
    while (!load(&stops, relaxed)) walk(&arena, called_in_duel, NULL);
    add(&running, -1, acquiringAndReleasing);  //= own: the harness's
    (void)context;
}

// One thread notifies without a pause, this one registers, cancels and waits: they meet at the mark
// and current as often as they can.
static void cancel_in_duel(double seconds) {
    double end = seconds_now() + seconds;
    init_registry(&arena);
    store(&stops, false, relaxed);  //= own: the harness's
    store(&running, 1, relaxed);  //= own: the harness's
    if (cplatform_create_thread("duel", notify_in_duel, NULL) != 0) abort();
    while (seconds_now() < end) {
        for (int i = 0; i < 64; i++, duels++) {
            struct observer *observer = make_observer(&arena, -1);
            struct item *replaced = append(observer);
            if (replaced) retire(replaced);
            spin(chance() % 256);
            cancel_and_wait(observer);
            release(observer);
        }
    }
    store(&stops, true, relaxed);  //= own: the harness's
    //= own: the harness's
    while (load(&running, acquiring) > 0) sched_yield();
    store(&stops, false, relaxed);  //= own: the harness's
    remove_all(&arena);
}

// MARK: The end

static void check_rest(void) {
    uint64_t last = source.words.version, registered = 0, late = 0;
    for (int i = 0; i < worker_count; i++) {
        self = &workers[i];
        for (int k = 0; k < OWN; k++) {
            struct observer *observer = self->own[k];
            if (!observer) continue;
            uint64_t received = 0;
            for (int thread = 0; thread < THREADS_AT_MOST; thread++) received += observer->closure->received[thread];
            bool is_exact = received == last - observer->closure->since;
            require(is_exact, "P1", "an observer did not receive every later change exactly once");
        }
    }
    for (int i = 0; i < worker_count; i++) {
        self = &workers[i];
        for (int k = 0; k < OWN; k++) if (self->own[k] && k % 2) end(self->own[k]);
    }
    for (int i = 0; i < SHARED; i++) {
        //= own: after all threads have stopped
        struct observer *observer = (struct observer *)exchange(&shared[i], 0, acquiring);
        if (observer) end(observer);
    }
    remove_all(&source.registry);
    for (int i = 0; i < worker_count; i++) {
        for (int k = 0; k < OWN; k += 2) if (workers[i].own[k]) release(workers[i].own[k]);
        registered += workers[i].listeners;
        late += workers[i].late;
    }
    retire(&((struct box *)read_latch(&source.boxes).first)->item);
    require(drain(20), "P14", "what is retired is not reclaimed");
    static const char *names[] = {"a table is never freed", "a value is never freed", "a closure is never destroyed",
                                  "an observer is never freed"};
    for (enum kind kind = 0; kind < kinds; kind++) require(allocated(kind) == freed(kind), "P14", names[kind]);
    //= own: after all threads have stopped
    require(load(&listeners_notified, acquiring) == registered, "P12", "a listener is not notified of the end once");
    if (registered == 0 || late == 0) printf("harness: no listener came early, or none late\n");
}

static uint64_t sum(size_t offset) {
    uint64_t sum = 0;
    for (int i = 0; i < worker_count; i++) sum += *(volatile uint64_t *)((char *)&workers[i] + offset);
    return sum;
}

#define SUM(member) ((unsigned long long)sum(offsetof(struct worker, member)))
#define COUNT(what) ((unsigned long long)(what))

static int report(uint64_t retired_alone, double seconds) {
    uint64_t waited = load(&events.waited, relaxed);  //= own: a statistic
    uint64_t replaced = load(&events.in_replaced_table, relaxed);  //= own: a statistic
    uint64_t retries = load(&events.retries, relaxed);  //= own: a statistic
    uint64_t records = load(&events.records, relaxed);  //= own: a statistic
    printf(
        "harness: %.1f s, %d threads at a time, %llu in all, %llu records; membarrier %s%s\n"
        "harness: %llu changes, %llu callbacks, %llu reads (%llu anew), %llu registrations, %llu cancelled,"
        " %llu cancelled and waited\n"
        "harness: %llu passes, %llu grace periods, %llu reclaimed, %llu times held, %llu times parked,"
        " %llu retired one by one, %llu duels\n"
        "harness: %llu waits met a callback, %llu looks into a replaced table; 0 violations\n",
        seconds, worker_count, SUM(threads), COUNT(records), curcu_has_membarrier() ? "in use" : "not in use",
        fences_parking ? "; a fence after the store of isParked" : "", SUM(changes), SUM(calls), SUM(reads),
        COUNT(retries), SUM(registrations), SUM(cancellations), SUM(waits), COUNT(events.passes),
        COUNT(events.grace_periods), COUNT(events.reclaimed), COUNT(events.held), COUNT(events.parked),
        COUNT(retired_alone), COUNT(duels), COUNT(waited), COUNT(replaced)
    );
    bool hit = waited && replaced && events.held && events.parked && SUM(threads) > COUNT(worker_count);
    if (!hit) printf("harness: INCONCLUSIVE: a window was not hit\n");
    return hit ? 0 : 4;
}

// MARK: The emulator's order of stlr before ldar

static _Atomic(int) x, y, round_begun, round_done;
static int y_saw_x;

static void probe_other(void *rounds) {
    for (int i = 1; i <= *(int *)rounds; i++) {
        while (load(&round_begun, acquiring) < i) {}  //= own: the probe's
        store(&y, i, sequentiallyConsistent);  //= own: the probe's
        y_saw_x = load(&x, sequentiallyConsistent) == i;  //= own: the probe's
        store(&round_done, i, releasing);  //= own: the probe's
    }
}

// Two threads store, then load the other's word, all sequentially consistent. No order of the four
// allows both to miss; on arm64 they are stlr and ldar, which the processor keeps in order.
static int probe(void) {
    static int rounds = 20000;
    int missed = 0;
    if (cplatform_create_thread("probe", probe_other, &rounds) != 0) abort();
    for (int i = 1; i <= rounds; i++) {
        store(&round_begun, i, releasing);  //= own: the probe's
        spin((uint64_t)i % 16);
        store(&x, i, sequentiallyConsistent);  //= own: the probe's
        int x_saw_y = load(&y, sequentiallyConsistent) == i;  //= own: the probe's
        while (load(&round_done, acquiring) < i) {}  //= own: the probe's
        if (!x_saw_y && !y_saw_x) missed++;
    }
    printf("harness: a sequentially consistent store was performed after the load behind it in %d of %d rounds\n",
           missed, rounds);
    return 0;
}

// MARK: Command line

static const struct {
    const char *name;
    enum defect defect;
    enum seen where;
    const char *what;
} defects[] = {
#define defect(name, where, what) {#name, defect_##name, where, what},
    DEFECTS(defect)
#undef defect
};

static int list(void) {
    static const char *places[] = {"everywhere", "natively", "by luck", "nowhere"};
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        printf("%s | %s | %s\n", defects[i].name, places[defects[i].where], defects[i].what);
    }
    return 0;
}

static int usage(void) {
    fprintf(stderr, "usage: harness [--seconds S] [--threads N] [--seed N] [--without-membarrier] [--fence-parking]"
                    " [--break DEFECT] | --list | --probe\n");
    return 2;
}

static bool plant(const char *name) {
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++) {
        if (strcmp(defects[i].name, name) == 0) planted = defects[i].defect;
    }
    return planted != no_defect;
}

int main(int count, char **arguments) {
    double seconds = 3;
    uint64_t seed = 1;
    for (int i = 1; i < count; i++) {
        const char *option = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        if (strcmp(option, "--list") == 0) return list();
        if (strcmp(option, "--probe") == 0) return probe();
        if (strcmp(option, "--without-membarrier") == 0) { urcu_bp_has_sys_membarrier = 0; continue; }
        if (strcmp(option, "--fence-parking") == 0) { fences_parking = true; continue; }
        if (strcmp(option, "--seconds") == 0) seconds = atof(value);
        else if (strcmp(option, "--threads") == 0) worker_count = atoi(value);
        else if (strcmp(option, "--seed") == 0) seed = strtoull(value, NULL, 10);
        else if (strcmp(option, "--break") != 0 || !plant(value)) return usage();
        i++;
    }
    if (seconds <= 0 || worker_count < 1 || worker_count > THREADS_AT_MOST - 2 || seed == 0) return usage();

    signal(SIGSEGV, followed);
    signal(SIGBUS, followed);
    signal(SIGABRT, crashed);
    setvbuf(stdout, NULL, _IOLBF, 0);
    began = seconds_now();
    state = seed * UINT64_C(0x9E3779B97F4A7C15);
    init_registry(&source.registry);
    publish(&source.words, first_word(1), second_word(1));
    publish(&source.boxes, (uintptr_t)make_box(1), 1);
    start_reclamation_thread();
    bool is_duel = broken(defect_barrier) || broken(defect_light), is_park = broken(defect_park);
    double duel = seconds * (planted ? is_duel : 0.2), park = seconds * (planted ? is_park : 0.2);
    uint64_t retired_alone = retire_one_by_one(park);
    cancel_in_duel(duel);
    //= own: the harness's
    store(&running, worker_count, relaxed);
    for (int i = 0; i < worker_count; i++) {
        workers[i].index = i;
        workers[i].random = chance();
        if (cplatform_create_thread("worker", run_worker, &workers[i]) != 0) abort();
    }
    watch(seconds - duel - park);
    self = &workers[0];
    check_rest();
    return report(retired_alone, seconds_now() - began);
}
