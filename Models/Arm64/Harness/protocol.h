// SPDX-License-Identifier: Apache-2.0
//
// The library's protocol in C, over the library's own shims: what the harness drives. Names are
// those of the Swift sources, in C's spelling.

#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "atomics.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// MARK: Planted defects

// Name, where it must be seen, what is wrong. `natively`: the window is the store buffer, which an
// emulated scan, with a fence after each load, is too slow for. `by_luck`: two threads that sleep
// most of the time must meet within the store buffer. `nowhere`: the processor that runs this, or
// emulates it, keeps loads in order, and stores. The litmus tests see all of them.
#define DEFECTS(defect) \
    defect(pin, everywhere, "W3, V5: a pass, or a reader, does not store its pin") \
    defect(section, everywhere, "W3: the read section is left before the pin is stored") \
    defect(look, everywhere, "V6: a reader does not look at the version after its pin") \
    defect(grace, everywhere, "F2: no grace period before the scan") \
    defect(current, everywhere, "W6: a pass does not store current") \
    defect(early, everywhere, "W8: the mark is tested before current is stored") \
    defect(mark, everywhere, "W8: the mark is not tested") \
    defect(replaced, everywhere, "R2: the entries of a replaced table are not marked") \
    defect(clear, everywhere, "W10: current is cleared before the callback") \
    defect(count, everywhere, "R4: the count is published before the entry") \
    defect(wait, everywhere, "C5: the canceller does not wait") \
    defect(barrier, natively, "C4, F3: no heavy barrier before the scan") \
    defect(light, natively, "W7: no light barrier where membarrier is not in use") \
    defect(depth, everywhere, "F4: the innermost frame is not scanned") \
    defect(latch, everywhere, "V4: a reader does not look at the version again") \
    defect(slot, everywhere, "M2: a change is written into the slot that readers read") \
    defect(version, everywhere, "M3: the version is published before the words") \
    defect(early_retire, everywhere, "M5: a box is retired before it is replaced") \
    defect(twice, everywhere, "C1: two cancellers decide without the lock") \
    defect(taken, everywhere, "F1: a stack is taken in two steps") \
    defect(listener, everywhere, "C6: finished is set in two steps") \
    defect(lock, everywhere, "the lock is taken in two steps") \
    defect(park, by_luck, "parking: an acquiring load and a releasing store, which nothing keeps in order") \
    defect(weak_current, nowhere, "W6: current is stored relaxed") \
    defect(weak_clear, nowhere, "W10: the frame is cleared relaxed") \
    defect(weak_depth, nowhere, "W2, W10, F4: the depth is stored and loaded relaxed") \
    defect(weak_scan, nowhere, "C5, F4: frames are loaded relaxed") \
    defect(weak_head, nowhere, "R2, W2: the head is stored and loaded relaxed") \
    defect(weak_count, nowhere, "R4, W4: the count is stored and loaded relaxed") \
    defect(weak_version, nowhere, "M3, V1: the version is stored and loaded relaxed") \
    defect(weak_fences, nowhere, "M1, V3: the latch has no fences") \
    defect(weak_finished, nowhere, "C6: finished is loaded relaxed")

enum seen { everywhere, natively, by_luck, nowhere };

enum defect {
    no_defect,
#define defect(name, where, what) defect_##name,
    DEFECTS(defect)
#undef defect
};

extern enum defect planted;

static inline bool broken(enum defect defect) { return __builtin_expect(planted == defect, false); }

// MARK: What the harness learns

// Ends the process: an invariant does not hold.
_Noreturn void violated(const char *invariant, const char *what);

// Between two steps: now and then, the thread is delayed here.
void point(void);
// Before a step that must meet another thread's: a delay of up to a fraction of a microsecond.
void linger(void);

// MARK: Memory of one kind

// Memory that is freed is filled with `dead` and kept for a while, so that a late look is seen.
#define ALIVE UINT64_C(0xA11FEA11FEA11FE0)
#define DEAD UINT64_C(0xDEADDEADDEADDEAD)

enum kind { kind_table, kind_box, kind_closure, kind_observer, kinds };

// Pieces of each kind that were allocated, and freed.
uint64_t allocated(enum kind kind);
uint64_t freed(enum kind kind);

// MARK: The protocol's objects

enum hold { hold_nothing, hold_pin, hold_validated_pin, hold_current };

// An item that can be retired: the first member of each such type.
struct item {
    uintptr_t link;
    enum hold hold;
    uintptr_t address;
    void (*reclaim)(struct item *);
};

#define THREADS_AT_MOST 16

// An observer calls this closure. The words behind the canary belong to the harness.
struct closure {
    volatile uint64_t canary;
    int home;
    uint64_t since;
    // Each thread has its own counters, so that counting orders nothing: the events that it has
    // delivered, and the calls that it is in.
    volatile uint64_t received[THREADS_AT_MOST];
    volatile uint32_t inside[THREADS_AT_MOST];
};

struct registry;

struct observer {
    struct item item;
    volatile uint64_t canary;
    _Atomic(uint32_t) state;
    _Atomic(intptr_t) references;
    uint32_t index;
    uint32_t listeners;
    struct closure *closure;
    struct registry *registry;
};

enum { state_active = 1, state_finished = 2, state_has_listeners = 1024 };

struct entry {
    _Atomic(uintptr_t) word;
    struct closure *closure;
};

enum { mark_ended = 1, mark_replaced = 2, mark_all = 3 };

struct contents {
    _Atomic(intptr_t) count;
    volatile uint64_t canary;
    struct entry entries[];
};

#define CAPACITY_AT_MOST 128

struct table {
    struct item item;
    struct contents *contents;
    intptr_t capacity, count;
};

struct lock {
    _Atomic(uint32_t) word;
};

struct slot {
    _Atomic(uintptr_t) first, second;
};

struct latch {
    _Atomic(uint64_t) version;
    struct slot even, odd;
};

struct words {
    uintptr_t first, second;
    uint64_t version;
};

struct box {
    struct item item;
    volatile uint64_t canary;
    volatile uint64_t version;
};

struct registry {
    _Atomic(uintptr_t) head;
    struct lock lock;
    struct table *table;
    intptr_t live;
    bool is_untidy;
    // Set while the registry itself is on its way to the reclamation thread.
    struct item item;
};

// MARK: Threads

#define FRAMES 8

struct frame {
    _Atomic(uintptr_t) pin, current;
    uintptr_t padding[2];
};

struct record {
    _Atomic(intptr_t) depth;
    _Atomic(uintptr_t) copy_pin;
    struct record *next, *next_free;
    void *reader;
    _Atomic(uintptr_t) retired;
    _Alignas(64) struct frame frames[FRAMES];
};

// The calling thread's record; attaches one on the thread's first use.
struct record *own_record(void);

// MARK: Operations

// Calls `call` with the closure of every observer that is live when the walk reaches it.
void walk(struct registry *registry, void (*call)(struct closure *, struct observer *, void *), void *context);

struct observer *make_observer(struct registry *registry, int home);
// Adds an observer, under the source's lock; the caller retires what is returned, under no lock.
struct item *append(struct observer *observer);
void init_registry(struct registry *registry);
bool unlink_observer(struct observer *observer);
void cancel(struct observer *observer);
// Outside callbacks. When it returns, the closure is destroyed.
void cancel_and_wait(struct observer *observer);
// Ends every observation.
void remove_all(struct registry *registry);
// True if the end is delivered later, through `listener_was_notified`.
bool when_finished(struct observer *observer);
extern _Atomic(uint64_t) listeners_notified;
void retain(struct observer *observer);
void release(struct observer *observer);

void lock(struct lock *lock);
void unlock(struct lock *lock);

struct words read_latch(struct latch *latch);
uint64_t publish(struct latch *latch, uintptr_t first, uintptr_t second);

struct box *make_box(uint64_t version);
// A box's version, read inside a read section.
uint64_t copy_box(struct latch *latch, uint64_t *version);
// Pins the box while `body` runs.
void lend_box(struct latch *latch, void (*body)(uint64_t version, void *), void *context);
void retire(struct item *item);

// Starts the reclamation thread.
void start_reclamation_thread(void);
// Items that were retired and are reclaimed.
uint64_t reclaimed(void);
// Waits until what is retired is reclaimed; false if that takes too long.
bool drain(double seconds);
// A fence after the store of `isParked`, for an emulator that performs an `ldar` before an `stlr`.
extern bool fences_parking;

// Counts of what happened, for the summary. They are hints, except those of the reclamation thread.
extern struct events {
    uint64_t passes, grace_periods, reclaimed, held, parked;
    _Atomic(uint64_t) waited, in_replaced_table, retries, records;
} events;

#endif
