// SPDX-License-Identifier: Apache-2.0
//
// The protocol of the article *Protocol and memory model*, with the steps' names from there. Above
// every line with an ordering stands the line of the library that it mirrors, after `//=`: a file
// below Sources/ConcurrentObserve, perhaps a line after which it stands, and the code.
// `Scripts/check-litmus.sh` compares the orderings. `own` is what the library has from the
// language, or does not have.
//
// Left out: the deinit threads, observers that are recycled, versions of
// paths, mailboxes, and the second lock of `modify`.

#define _GNU_SOURCE
#include "CPlatform.h"
#include "CURCU.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "protocol.h"

enum defect planted = no_defect;
bool fences_parking = false;
struct events events;

// MARK: Memory of one kind

// How many freed pieces of a kind are kept before one is recycled.
#define QUARANTINE 512

static struct pool {
    pthread_mutex_t mutex;
    void *oldest, *newest;
    size_t kept;
    uint64_t allocated, freed;
} pools[kinds] = {[0 ... kinds - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};

// The link to the next freed piece stands behind the piece.
static void **link_of(void *piece, size_t size) { return (void **)((char *)piece + size); }

static void *allocate(enum kind kind, size_t size) {
    struct pool *pool = &pools[kind];
    void *piece = NULL;
    pthread_mutex_lock(&pool->mutex);
    pool->allocated++;
    if (pool->kept > QUARANTINE) {
        piece = pool->oldest;
        pool->oldest = *link_of(piece, size);
        pool->kept--;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (!piece) piece = aligned_alloc(64, (size + sizeof(void *) + 63) & ~(size_t)63);
    if (!piece) abort();
    memset(piece, 0, size);
    return piece;
}

static void deallocate(enum kind kind, void *piece, size_t size) {
    struct pool *pool = &pools[kind];
    for (size_t word = 0; word < size / 8; word++) ((volatile uint64_t *)piece)[word] = DEAD;
    pthread_mutex_lock(&pool->mutex);
    pool->freed++;
    *link_of(piece, size) = NULL;
    if (pool->kept) *link_of(pool->newest, size) = piece; else pool->oldest = piece;
    pool->newest = piece;
    pool->kept++;
    pthread_mutex_unlock(&pool->mutex);
}

static uint64_t count_of(enum kind kind, bool is_freed) {
    pthread_mutex_lock(&pools[kind].mutex);
    uint64_t count = is_freed ? pools[kind].freed : pools[kind].allocated;
    pthread_mutex_unlock(&pools[kind].mutex);
    return count;
}

uint64_t allocated(enum kind kind) { return count_of(kind, false); }
uint64_t freed(enum kind kind) { return count_of(kind, true); }

// MARK: Lock

enum { lock_free, lock_held, lock_contended };

static bool try_lock(struct lock *lock) {
    uint32_t expected = lock_free;
    if (broken(defect_lock)) {
        if (load(&lock->word, relaxed) != lock_free) return false;  //= own: a defect
        point();
        store(&lock->word, lock_held, relaxed);  //= own: a defect
        return true;
    }
    //= Platform/Lock.swift … word.compareExchange(expected: Self.free, desired: Self.held
    return compare_exchange(&lock->word, &expected, lock_held, acquiring);
}

void lock(struct lock *lock) {
    if (try_lock(lock)) return;
    for (int i = 0; i < 64; i++) {
        cplatform_spin_hint();
        //= Platform/Lock.swift … guard word.load(ordering: .relaxed) == Self.free else {
        if (load(&lock->word, relaxed) != lock_free) continue;
        if (try_lock(lock)) return;
    }
    //= Platform/Lock.swift … while word.exchange(Self.contended, ordering: .acquiring) != Self
    while (exchange(&lock->word, lock_contended, acquiring) != lock_free) {
        cplatform_wait(&lock->word, lock_contended, -1);
    }
}

void unlock(struct lock *lock) {
    //= Platform/Lock.swift … guard word.exchange(Self.free, ordering: .releasing) == Self
    if (exchange(&lock->word, lock_free, releasing) == lock_contended) cplatform_wake(&lock->word, false);
}

// MARK: Event count

struct event_count {
    _Atomic(uint32_t) signals, sleepers;
};

static uint32_t ticket(struct event_count *count) {
    //= Platform/EventCount.swift … Ticket(signals: signals.pointee.load(
    return load(&count->signals, acquiring);
}

static void sleep_until_signal(struct event_count *count, uint32_t ticket, int64_t nanoseconds) {
    //= Platform/EventCount.swift … sleepers.add(1, ordering: .relaxed)
    add(&count->sleepers, 1, relaxed);
    cplatform_wait(&count->signals, ticket, nanoseconds);
    //= Platform/EventCount.swift … sleepers.subtract(1, ordering: .relaxed)
    add(&count->sleepers, -1, relaxed);
}

static void signal_all(struct event_count *count) {
    //= Platform/EventCount.swift … signals.pointee.add(1, ordering: .sequentiallyConsistent)
    add(&count->signals, 1, sequentiallyConsistent);
    //= Platform/EventCount.swift … if sleepers.load(ordering: .sequentiallyConsistent) > 0
    if (load(&count->sleepers, sequentiallyConsistent) > 0) cplatform_wake(&count->signals, true);
}

// MARK: Barriers

static __attribute__((noinline)) void full_fence(void) {
    //= Platform/Barriers.swift … static func fullFence( … atomicMemoryFence
    fence(sequentiallyConsistent);
}

static inline void light_barrier(void) {
    cplatform_compiler_barrier();
    if (!curcu_has_membarrier() && !broken(defect_light)) full_fence();
}

static void heavy_barrier(void) {
    if (broken(defect_barrier)) return;
    if (curcu_has_membarrier()) {
        if (cplatform_membarrier() != 0) violated("membarrier", "it worked at start-up and fails now");
        return;
    }
    //= Platform/Barriers.swift … static func heavy() { … atomicMemoryFence
    fence(sequentiallyConsistent);
}

// MARK: Thread records

static _Atomic(uintptr_t) records;
static struct lock records_lock;
static struct record *free_records;

static void thread_exit(void *exiting) {
    struct record *record = exiting;
    cplatform_set_thread_record(NULL);
    lock(&records_lock);
    record->next_free = free_records;
    free_records = record;
    unlock(&records_lock);
}

static __attribute__((noinline)) struct record *attach(void) {
    cplatform_note_use();
    lock(&records_lock);
    struct record *record = free_records;
    if (record) free_records = record->next_free;
    unlock(&records_lock);
    if (!record) {
        record = aligned_alloc(64, sizeof *record);
        memset(record, 0, sizeof *record);
        lock(&records_lock);
        //= Hazards/ThreadRecords.swift … bitPattern: head.load(ordering: .relaxed)
        record->next = (struct record *)load(&records, relaxed);
        //= Hazards/ThreadRecords.swift … head.store(UInt(bitPattern: record)
        store(&records, (uintptr_t)record, sequentiallyConsistent);
        unlock(&records_lock);
        tally(&events.records);
    }
    cplatform_set_thread_record(record);
    cplatform_note_thread_exit(record, thread_exit);
    return record;
}

struct record *own_record(void) {
    struct record *record = cplatform_get_thread_record();
    return record ? record : attach();
}

static struct record *first_record(void) {
    //= Hazards/ThreadRecords.swift … let first = head.load(ordering: .sequentiallyConsistent)
    return (struct record *)load(&records, sequentiallyConsistent);
}

// MARK: Frames

static struct frame *enter_frame(struct record *record) {
    //= Hazards/ThreadRecord+Frames.swift … let depth = unsafe pointee.depth.load(ordering: .relaxed)
    intptr_t depth = load(&record->depth, relaxed);
    if (depth == FRAMES) abort();
    if (broken(defect_weak_depth)) store(&record->depth, depth + 1, relaxed);  //= own: a defect
    //= Hazards/ThreadRecord+Frames.swift … pointee.depth.store(depth &+ 1, ordering: .releasing)
    else store(&record->depth, depth + 1, releasing);
    return &record->frames[depth];
}

static void leave_frame(struct record *record) {
    //= Hazards/ThreadRecord+Frames.swift … pointee.depth.store(pointee.depth.load(ordering: .relaxed)
    intptr_t depth = load(&record->depth, relaxed);
    if (broken(defect_weak_depth)) store(&record->depth, depth - 1, relaxed);  //= own: a defect
    //= Hazards/ThreadRecord+Frames.swift … &- 1, ordering: .releasing)
    else store(&record->depth, depth - 1, releasing);
}

static void unpin(_Atomic(uintptr_t) *pin) {
    cplatform_compiler_barrier();
    //= Hazards/HazardPointer.swift … address.store(0, ordering: .releasing)
    store(pin, 0, releasing);
}

static void clear(struct frame *frame) {
    cplatform_compiler_barrier();
    if (broken(defect_weak_clear)) {
        store(&frame->current, 0, relaxed);  //= own: a defect
        store(&frame->pin, 0, relaxed);  //= own: a defect
        return;
    }
    //= Hazards/HazardPointer.swift … address.store(0, ordering: .releasing)
    store(&frame->current, 0, releasing);
    unpin(&frame->pin);
}

static intptr_t depth_of(struct record *record) {
    if (broken(defect_weak_depth)) return load(&record->depth, relaxed);  //= own: a defect
    //= Hazards/ThreadRecord+Frames.swift … let depth = unsafe pointee.depth.load(ordering: .acquiring)
    intptr_t depth = load(&record->depth, acquiring);
    return broken(defect_depth) && depth > 0 ? depth - 1 : depth;
}

// Whether any frame has the observer as current.
static bool has_current(uintptr_t address) {
    bool found = false;
    for (struct record *record = first_record(); record; record = record->next) {
        intptr_t depth = depth_of(record);
        for (intptr_t i = 0; i < depth; i++) {
            if (broken(defect_weak_scan)) {
                found |= load(&record->frames[i].current, relaxed) == address;  //= own: a defect
                continue;
            }
            //= Hazards/HazardPointer.swift … address.load(ordering: .acquiring)
            if (load(&record->frames[i].current, acquiring) == address) found = true;
        }
    }
    return found;
}

#define HELD_AT_MOST (THREADS_AT_MOST * 2 * (FRAMES + 1))

struct scan {
    size_t pins, currents;
    uintptr_t pin[HELD_AT_MOST], current[HELD_AT_MOST];
};

static void scan_frames(struct scan *scan) {
    scan->pins = scan->currents = 0;
    for (struct record *record = first_record(); record; record = record->next) {
        uintptr_t copy;
        if (broken(defect_weak_scan)) copy = load(&record->copy_pin, relaxed);  //= own: a defect
        //= Hazards/HazardPointer.swift … address.load(ordering: .acquiring)
        else copy = load(&record->copy_pin, acquiring);
        if (copy) {
            if (scan->pins == HELD_AT_MOST) abort();
            scan->pin[scan->pins++] = copy;
        }
        intptr_t depth = depth_of(record);
        for (intptr_t i = 0; i < depth; i++) {
            struct frame *frame = &record->frames[i];
            uintptr_t pin, current;
            if (broken(defect_weak_scan)) {
                pin = load(&frame->pin, relaxed);  //= own: a defect
                current = load(&frame->current, relaxed);  //= own: a defect
            } else {
                //= Hazards/HazardPointer.swift … address.load(ordering: .acquiring)
                pin = load(&frame->pin, acquiring);
                //= Hazards/HazardPointer.swift … address.load(ordering: .acquiring)
                current = load(&frame->current, acquiring);
            }
            if (scan->pins == HELD_AT_MOST || scan->currents == HELD_AT_MOST) abort();
            if (pin) scan->pin[scan->pins++] = pin;
            if (current) scan->current[scan->currents++] = current;
        }
    }
}

static bool has(const uintptr_t *addresses, size_t count, uintptr_t address) {
    for (size_t i = 0; i < count; i++) if (addresses[i] == address) return true;
    return false;
}

static bool holds(const struct scan *scan, const struct item *item) {
    switch (item->hold) {
    case hold_pin:
    case hold_validated_pin: return has(scan->pin, scan->pins, item->address);
    case hold_current: return has(scan->current, scan->currents, item->address);
    default: return false;
    }
}

// MARK: A notification

static bool is_marked_active(struct observer *observer) {
    //= Registry/Observer+End.swift … var isMarkedActive: Bool { … mark.load(ordering: .acquiring)
    return load(&observer->state, acquiring) & state_active;
}

static bool is_active(struct contents *contents, struct entry *entry) {
    //= Registry/TableContents.swift … var isActive: Bool { … let word = word.load
    uintptr_t word = load(&entry->word, relaxed);
    if (contents->canary != ALIVE) violated("P16 table", "a pass reads a table that is freed");
    if (!(word & mark_all)) return true;
    if (word & mark_ended) return false;
    struct observer *observer = (struct observer *)(word & ~(uintptr_t)mark_all);
    if (observer->canary != ALIVE) violated("P16 observer", "a pass reads an observer that is freed");
    tally(&events.in_replaced_table);
    //= Registry/Observer+Content.swift … mark.pointee.load(ordering: .relaxed)
    return load(&observer->state, relaxed) & state_active;
}

static void visit(
    struct contents *contents, struct frame *frame, void (*call)(struct closure *, struct observer *, void *),
    void *context
) {
    intptr_t count;
    if (broken(defect_weak_count)) count = load(&contents->count, relaxed);  //= own: a defect
    //= Registry/ObserverList+Walk.swift … count.load(ordering: .acquiring)
    else count = load(&contents->count, acquiring);
    if (contents->canary != ALIVE) violated("P16 table", "a pass begins on a table that is freed");
    for (intptr_t i = 0; i < count; i++) {
        struct entry *entry = &contents->entries[i];
        //= Registry/ObserverList+Walk.swift … var observer = unsafe entry.pointee.word.load
        uintptr_t word = load(&entry->word, relaxed);
        if (word & mark_ended) continue;
        uintptr_t observer = word & ~(uintptr_t)mark_all;
        if (!observer || !entry->closure) violated("P1", "an entry is counted that is not complete");
        if (broken(defect_early) && !is_active(contents, entry)) continue;
        point();
        if (broken(defect_weak_current)) store(&frame->current, observer, relaxed);  //= own: a defect
        //= Hazards/HazardPointer.swift … address.store(object, ordering: .releasing)
        else if (!broken(defect_current)) store(&frame->current, observer, releasing);
        light_barrier();
        if (!broken(defect_early) && !broken(defect_mark) && !is_active(contents, entry)) continue;
        if (broken(defect_clear)) store(&frame->current, 0, releasing);  //= own: a defect
        call(entry->closure, (struct observer *)observer, context);
    }
    if (contents->canary != ALIVE) violated("P16 table", "a table is freed under a pass");
}

void walk(struct registry *registry, void (*call)(struct closure *, struct observer *, void *), void *context) {
    //= Registry/ObserverList.swift … head.load(ordering: .relaxed) != 0
    if (load(&registry->head, relaxed) == 0) return;
    struct record *record = own_record();
    struct frame *frame = enter_frame(record);
    curcu_read_lock();
    uintptr_t table;
    if (broken(defect_weak_head)) table = load(&registry->head, relaxed);  //= own: a defect
    //= Registry/ObserverList+Walk.swift … return head.load(ordering: .acquiring)
    else table = load(&registry->head, acquiring);
    if (!table) {
        curcu_read_unlock();
        leave_frame(record);
        return;
    }
    if (broken(defect_section)) curcu_read_unlock();
    point();
    //= Hazards/ReadSection.swift … address.store(table, ordering: .relaxed)
    if (!broken(defect_pin)) store(&frame->pin, table, relaxed);
    if (!broken(defect_section)) curcu_read_unlock();
    point();
    visit((struct contents *)table, frame, call, context);
    clear(frame);
    leave_frame(record);
}

// MARK: Observers

void retain(struct observer *observer) {
    add(&observer->references, 1, relaxed);  //= own: the language's
}

void release(struct observer *observer) {
    if (add(&observer->references, -1, acquiringAndReleasing) > 1) return;  //= own: the language's
    if (observer->closure) violated("P14", "an observer is freed before its closure");
    deallocate(kind_observer, observer, sizeof *observer);
}

_Atomic(uint64_t) listeners_notified;

// Destroys the closure, then notifies the listeners.
static void finish(struct observer *observer) {
    struct closure *closure = observer->closure;
    if (!closure || closure->canary != ALIVE) violated("P14 once", "a closure is destroyed twice");
    for (int i = 0; i < THREADS_AT_MOST; i++) {
        if (closure->inside[i]) violated("P9", "a closure is destroyed during its callback");
    }
    observer->closure = NULL;
    deallocate(kind_closure, closure, sizeof *closure);
    uint32_t before;
    if (broken(defect_listener)) {
        before = load(&observer->state, relaxed);  //= own: a defect
        point();
        store(&observer->state, before | state_finished, releasing);  //= own: a defect
    } else {
        //= Registry/Observer+End.swift … let before = mark.bitwiseOr(ObserverMark.finished.rawValue,
        before = bitwise_or(&observer->state, state_finished, releasing);
    }
    if (!(before & state_has_listeners)) return;
    lock(&observer->registry->lock);
    uint32_t listeners = observer->listeners;
    observer->listeners = 0;
    unlock(&observer->registry->lock);
    add(&listeners_notified, listeners, relaxed);  //= own: a statistic
}

bool when_finished(struct observer *observer) {
    lock(&observer->registry->lock);
    //= Registry/Observer+End.swift … let before = mark.bitwiseOr(ObserverMark.hasListeners.rawValue,
    uint32_t state = bitwise_or(&observer->state, state_has_listeners, acquiring);
    if (!(state & state_finished)) observer->listeners++;
    unlock(&observer->registry->lock);
    return !(state & state_finished);
}

static bool is_finished(struct observer *observer) {
    if (broken(defect_weak_finished)) return load(&observer->state, relaxed) & state_finished;  //= own: a defect
    //= Registry/Observer+End.swift … var isFinished: Bool { … mark.load(ordering: .acquiring)
    return load(&observer->state, acquiring) & state_finished;
}

static void reclaim_observer(struct item *item) {
    struct observer *observer = (struct observer *)item;
    finish(observer);
    release(observer);
}

struct observer *make_observer(struct registry *registry, int home) {
    struct observer *observer = allocate(kind_observer, sizeof *observer);
    struct closure *closure = allocate(kind_closure, sizeof *closure);
    closure->canary = ALIVE;
    closure->home = home;
    observer->item = (struct item){0, hold_current, (uintptr_t)observer, reclaim_observer};
    observer->canary = ALIVE;
    observer->closure = closure;
    observer->registry = registry;
    store(&observer->state, state_active, relaxed);  //= own: before anything else has the observer
    store(&observer->references, 1, relaxed);  //= own: before anything else has the observer
    return observer;
}

// MARK: Tables

static void reclaim_table(struct item *item) {
    struct table *table = (struct table *)item;
    for (intptr_t i = 0; i < table->count; i++) {
        //= Registry/TableContents.swift … func release() { … let address = word.load
        uintptr_t word = load(&table->contents->entries[i].word, relaxed);
        release((struct observer *)(word & ~(uintptr_t)mark_all));
    }
    deallocate(kind_table, table->contents, sizeof *table->contents + CAPACITY_AT_MOST * sizeof(struct entry));
    free(table);
}

static void place(struct table *table, struct observer *observer) {
    retain(observer);
    struct entry *entry = &table->contents->entries[table->count];
    entry->closure = observer->closure;
    //= Registry/ObserverTable.swift … entry.pointee.word.store(observer.address
    store(&entry->word, (uintptr_t)observer, relaxed);
    observer->index = (uint32_t)table->count;
    table->count++;
}

// The observer of an entry, unless its observation ended in this table. Under the lock.
static struct observer *live_observer(struct entry *entry) {
    //= Registry/TableContents.swift … var liveObserver: Observer? { … let word = word.load
    uintptr_t word = load(&entry->word, relaxed);
    return word & mark_ended ? NULL : (struct observer *)(word & ~(uintptr_t)mark_all);
}

static struct table *make_table(intptr_t capacity, struct table *survivors) {
    struct table *table = calloc(1, sizeof *table);
    if (!table || capacity > CAPACITY_AT_MOST) abort();
    table->capacity = capacity;
    table->contents = allocate(kind_table, sizeof *table->contents + CAPACITY_AT_MOST * sizeof(struct entry));
    table->contents->canary = ALIVE;
    table->item = (struct item){0, hold_pin, (uintptr_t)table->contents, reclaim_table};
    for (intptr_t i = 0; survivors && i < survivors->count; i++) {
        struct observer *observer = live_observer(&survivors->contents->entries[i]);
        if (observer) place(table, observer);
    }
    //= Registry/ObserverTable.swift … init(capacity: Int, survivors: … count.store(
    store(&table->contents->count, table->count, relaxed);
    return table;
}

// Publishes a table, or none; returns the one that it replaces. Under the lock.
static struct table *replace_table(struct registry *registry, struct table *successor) {
    struct table *replaced = registry->table;
    uintptr_t address = successor ? (uintptr_t)successor->contents : 0;
    point();
    if (broken(defect_weak_head)) store(&registry->head, address, relaxed);  //= own: a defect
    //= Registry/RegistryCore.swift … unsafe head?.pointee.store(table | hints
    else store(&registry->head, address, releasing);
    for (intptr_t i = 0; replaced && i < replaced->count && !broken(defect_replaced); i++) {
        struct entry *entry = &replaced->contents->entries[i];
        //= Registry/TableContents.swift … word.store(word.load(ordering: .relaxed)
        uintptr_t word = load(&entry->word, relaxed);
        //= Registry/TableContents.swift … | Mark.replaced, ordering: .relaxed)
        store(&entry->word, word | mark_replaced, relaxed);
    }
    registry->table = successor;
    return replaced;
}

static intptr_t capacity_for(intptr_t live) { return live * 2 > 8 ? live * 2 : 8; }

struct item *append(struct observer *observer) {
    struct registry *registry = observer->registry;
    struct table *replaced = NULL;
    lock(&registry->lock);
    if (!registry->table || registry->table->count == registry->table->capacity) {
        replaced = replace_table(registry, make_table(capacity_for(registry->live + 1), registry->table));
    }
    struct table *table = registry->table;
    // It pauses some times: a single pause seldom meets a walk on a busy machine.
    if (broken(defect_count)) {
        store(&table->contents->count, table->count + 1, releasing);  //= own: a defect
        for (int i = 0; i < 8; i++) point();
    }
    point();
    place(table, observer);
    point();
    if (broken(defect_weak_count)) store(&table->contents->count, table->count, relaxed);  //= own: a defect
    //= Registry/ObserverTable.swift … contents.pointee.count.store(count, ordering: .releasing)
    else store(&table->contents->count, table->count, releasing);
    registry->live++;
    unlock(&registry->lock);
    return replaced ? &replaced->item : NULL;
}

// Replaces a table if half of it is dead. Runs on the reclamation thread.
static void tidy(struct item *item) {
    struct registry *registry = (struct registry *)((char *)item - offsetof(struct registry, item));
    struct table *replaced = NULL;
    lock(&registry->lock);
    registry->is_untidy = false;
    intptr_t live = registry->live;
    if (registry->table && registry->table->count - live >= live) {
        replaced = replace_table(registry, live ? make_table(capacity_for(live), registry->table) : NULL);
    }
    unlock(&registry->lock);
    if (replaced) retire(&replaced->item);
}

void init_registry(struct registry *registry) {
    registry->item = (struct item){0, hold_nothing, 0, tidy};
}

static void mark_as_ended(struct observer *observer) {
    //= Registry/Observer.swift … ObserverMark(rawValue: mark.load(ordering: .relaxed))
    uint32_t state = load(&observer->state, relaxed);
    //= Registry/Observer+End.swift … func markEndedLocked( … ordering: .releasing
    store(&observer->state, state & ~(uint32_t)state_active, releasing);
}

bool unlink_observer(struct observer *observer) {
    struct registry *registry = observer->registry;
    if (broken(defect_twice) && !is_marked_active(observer)) return false;
    point();
    lock(&registry->lock);
    if (!broken(defect_twice) && !is_marked_active(observer)) {
        unlock(&registry->lock);
        return false;
    }
    mark_as_ended(observer);
    struct table *table = registry->table;
    if (table) {
        //= Registry/ObserverTable.swift … | TableEntry.Mark.ended, ordering: .relaxed)
        store(&table->contents->entries[observer->index].word, (uintptr_t)observer | mark_ended, relaxed);
        registry->live--;
    }
    intptr_t dead = table ? table->count - registry->live : 0;
    bool is_untidy = !registry->is_untidy && dead >= registry->live && (registry->live == 0 || dead >= 8);
    if (is_untidy) registry->is_untidy = true;
    unlock(&registry->lock);
    if (is_untidy) retire(&registry->item);
    return true;
}

void cancel(struct observer *observer) {
    if (!is_marked_active(observer)) return;
    if (!unlink_observer(observer)) return;
    retain(observer);
    retire(&observer->item);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A wait that must end soon: callbacks of the harness do not block.
static void wait_while(bool (*condition)(struct observer *), struct observer *observer, const char *what) {
    double limit = 0;
    for (uint32_t i = 0; condition(observer); i++) {
        if (i < 64) { cplatform_spin_hint(); continue; }
        if (limit == 0) limit = seconds_now() + (planted ? 2 : 30);
        else if (seconds_now() > limit) violated("P9 the wait ends", what);
        nanosleep(&(struct timespec){0, 20000}, NULL);
    }
}

static bool runs(struct observer *observer) { return has_current((uintptr_t)observer); }
static bool is_unfinished(struct observer *observer) { return !is_finished(observer); }

void cancel_and_wait(struct observer *observer) {
    if (!unlink_observer(observer)) return wait_while(is_unfinished, observer, "another thread has ended it");
    point();
    heavy_barrier();
    if (!broken(defect_wait) && has_current((uintptr_t)observer)) {
        tally(&events.waited);
        wait_while(runs, observer, "its callbacks run");
    }
    finish(observer);
}

void remove_all(struct registry *registry) {
    struct observer *ended[CAPACITY_AT_MOST];
    size_t count = 0;
    lock(&registry->lock);
    struct table *replaced = replace_table(registry, NULL);
    for (intptr_t i = 0; replaced && i < replaced->count; i++) {
        struct observer *observer = live_observer(&replaced->contents->entries[i]);
        if (!observer || !is_marked_active(observer)) continue;
        mark_as_ended(observer);
        retain(observer);
        ended[count++] = observer;
    }
    registry->live = 0;
    unlock(&registry->lock);
    if (replaced) retire(&replaced->item);
    for (size_t i = 0; i < count; i++) retire(&ended[i]->item);
}

// MARK: A property's value

static void store_words(struct slot *slot, uintptr_t first, uintptr_t second) {
    //= Property/Latch.swift … first.store(words.first, ordering: .relaxed)
    store(&slot->first, first, relaxed);
    point();
    //= Property/Latch.swift … second.store(words.second, ordering: .relaxed)
    store(&slot->second, second, relaxed);
}

uint64_t publish(struct latch *latch, uintptr_t first, uintptr_t second) {
    //= Property/Latch.swift … let next = version.load(ordering: .relaxed)
    uint64_t next = load(&latch->version, relaxed) + 1;
    if (broken(defect_version)) store(&latch->version, next, releasing);  //= own: a defect
    //= Property/Latch.swift … atomicMemoryFence(ordering: .releasing)
    if (!broken(defect_weak_fences)) fence(releasing);
    bool is_even = (next & 1) == 0;
    store_words(is_even != broken(defect_slot) ? &latch->even : &latch->odd, first, second);
    if (broken(defect_weak_version)) store(&latch->version, next, relaxed);  //= own: a defect
    //= Property/Latch.swift … version.store(next, ordering: .releasing)
    else store(&latch->version, next, releasing);
    return next;
}

struct words read_latch(struct latch *latch) {
    struct words words;
    while (true) {
        if (broken(defect_weak_version)) words.version = load(&latch->version, relaxed);  //= own: a defect
        //= Property/Latch.swift … let before = version.load(ordering: .acquiring)
        else words.version = load(&latch->version, acquiring);
        struct slot *slot = (words.version & 1) == 0 ? &latch->even : &latch->odd;
        //= Property/Latch.swift … let firsts = (even.first.load(ordering: .relaxed)
        words.first = load(&slot->first, relaxed);
        point();
        //= Property/Latch.swift … let seconds = (even.second.load(ordering: .relaxed)
        words.second = load(&slot->second, relaxed);
        //= Property/Latch.swift … atomicMemoryFence(ordering: .acquiring)
        if (!broken(defect_weak_fences)) fence(acquiring);
        //= Property/Latch.swift … return version.load(ordering: .relaxed) == before
        if (load(&latch->version, relaxed) == words.version || broken(defect_latch)) return words;
        tally(&events.retries);
    }
}

static void reclaim_box(struct item *item) { deallocate(kind_box, item, sizeof(struct box)); }

struct box *make_box(uint64_t version) {
    struct box *box = allocate(kind_box, sizeof *box);
    box->item = (struct item){0, hold_validated_pin, (uintptr_t)box, reclaim_box};
    box->version = version;
    box->canary = ALIVE;
    return box;
}

static uint64_t version_of(struct box *box) {
    if (!box) violated("P2", "a version has no value");
    uint64_t version = box->version;
    if (box->canary != ALIVE) violated("P14 box", "a value is freed while it is read");
    return version;
}

// Pins the box of a version, until the pin is cleared.
static struct words pin_box(struct latch *latch, _Atomic(uintptr_t) *pin) {
    while (true) {
        struct words words = read_latch(latch);
        point();
        //= Hazards/HazardPointer.swift … address.store(object, ordering: .releasing)
        if (!broken(defect_pin)) store(pin, words.first, releasing);
        light_barrier();
        //= Property/ValueCell.swift … return latch.version.load(ordering: .relaxed) == word
        if (load(&latch->version, relaxed) == words.version || broken(defect_look)) return words;
        tally(&events.retries);
    }
}

uint64_t copy_box(struct latch *latch, uint64_t *version) {
    struct record *record = own_record();
    struct words words = pin_box(latch, &record->copy_pin);
    point();
    uint64_t found = version_of((struct box *)words.first);
    unpin(&record->copy_pin);
    *version = words.version;
    return found;
}

void lend_box(struct latch *latch, void (*body)(uint64_t version, void *), void *context) {
    struct record *record = own_record();
    struct frame *frame = enter_frame(record);
    struct box *box = (struct box *)pin_box(latch, &frame->pin).first;
    uint64_t version = version_of(box);
    point();
    body(version, context);
    if (version_of(box) != version) violated("P14 box", "a borrowed value is another one now");
    unpin(&frame->pin);
    leave_frame(record);
}

// MARK: Retirement

static _Atomic(uint32_t) is_parked = 1;
static struct event_count wake_up;

// The link and the rest of an item are the retiring thread's until the push.
static void push(struct record *record, struct item *item) {
    //= Reclamation/ThreadRecord+Retire.swift … var top = unsafe pointee.retired.load
    uintptr_t top = load(&record->retired, relaxed);
    do {
        item->link = top;
        //= Reclamation/ThreadRecord+Retire.swift … successOrdering: .sequentiallyConsistent
    } while (!compare_exchange(&record->retired, &top, (uintptr_t)item, sequentiallyConsistent));
}

static _Thread_local bool is_reclaiming;
static _Atomic(uint64_t) handed_over, finished;

void retire(struct item *item) {
    add(&handed_over, 1, relaxed);  //= own: a statistic
    push(own_record(), item);
    if (is_reclaiming) return;
    //= Reclamation/Parking.swift … state.load(ordering: .sequentiallyConsistent)
    if (load(&is_parked, sequentiallyConsistent)) signal_all(&wake_up);
}

// MARK: A pass of the reclamation thread

static struct item *held, *batch;

static void put(struct item **list, struct item *item) {
    item->link = (uintptr_t)*list;
    *list = item;
}

static size_t take_retired(bool *needs_grace_period, bool does_tasks) {
    size_t taken = 0;
    for (struct record *record = first_record(); record; record = record->next) {
        //= Reclamation/ThreadRecord+Retire.swift … guard unsafe pointee.retired.load
        if (load(&record->retired, relaxed) == 0) continue;
        uintptr_t address;
        if (broken(defect_taken)) {
            address = load(&record->retired, acquiring);  //= own: a defect
            point();
            store(&record->retired, 0, relaxed);  //= own: a defect
        } else {
            //= Reclamation/ThreadRecord+Retire.swift … pointee.retired.exchange(0
            address = exchange(&record->retired, 0, acquiring);
        }
        while (address) {
            struct item *item = (struct item *)address;
            address = item->link;
            taken++;
            if (item->hold == hold_pin) *needs_grace_period = true;
            if (item->hold == hold_nothing && does_tasks) {
                item->reclaim(item);
                add(&finished, 1, relaxed);  //= own: a statistic
            } else {
                put(&batch, item);
            }
        }
    }
    return taken;
}

// Holds the items that are in use, and reclaims the rest.
static void sort(struct item *list, const struct scan *scan) {
    while (list) {
        struct item *item = list;
        list = (struct item *)item->link;
        if (holds(scan, item)) {
            put(&held, item);
            events.held++;
            continue;
        }
        point();
        item->reclaim(item);
        events.reclaimed++;
        add(&finished, 1, relaxed);  //= own: a statistic
    }
}

static size_t pass(void) {
    static struct scan scan;
    bool needs_grace_period = false;
    size_t taken = take_retired(&needs_grace_period, true);
    if (taken) taken += take_retired(&needs_grace_period, false);
    if (!batch && !held) return taken;
    point();
    if (needs_grace_period && !broken(defect_grace)) {
        curcu_synchronize();
        events.grace_periods++;
    }
    if (batch) heavy_barrier();
    scan_frames(&scan);
    point();
    struct item *old = held;
    held = NULL;
    sort(batch, &scan);
    batch = NULL;
    sort(old, &scan);
    events.passes++;
    return taken;
}

static bool has_retired(void) {
    bool found = false;
    for (struct record *record = first_record(); record; record = record->next) {
        if (broken(defect_park)) {
            found |= load(&record->retired, acquiring) != 0;  //= own: a defect
            continue;
        }
        //= Reclamation/ReclamationThread.swift … record.pointee.retired.load
        if (load(&record->retired, sequentiallyConsistent) != 0) found = true;
    }
    return found;
}

static void park(uint32_t ticket) {
    linger();
    if (broken(defect_park)) store(&is_parked, 1, releasing);  //= own: a defect
    //= Reclamation/Parking.swift … state.store(.parked, ordering: .sequentiallyConsistent)
    else store(&is_parked, 1, sequentiallyConsistent);
    if (fences_parking && !broken(defect_park)) fence(sequentiallyConsistent);  //= own: for an emulator
    if (!has_retired()) {
        events.parked++;
        sleep_until_signal(&wake_up, ticket, -1);
    }
    //= Reclamation/Parking.swift … state.store(.awake
    store(&is_parked, 0, relaxed);
}

static void run_reclamation_thread(void *nothing) {
    (void)nothing;
    is_reclaiming = true;
    own_record();
    //= Reclamation/Parking.swift … state.store(.awake
    store(&is_parked, 0, relaxed);
    while (true) {
        uint32_t before = ticket(&wake_up);
        if (pass() > 0) continue;
        if (held) sleep_until_signal(&wake_up, before, 1000000);
        else park(before);
    }
}

void start_reclamation_thread(void) {
    if (cplatform_create_thread("observe-reclaim", run_reclamation_thread, NULL) != 0) abort();
}

uint64_t reclaimed(void) { return load(&finished, acquiring); }  //= own: a statistic

bool drain(double seconds) {
    double limit = seconds_now() + seconds;
    // Reclaiming an item may retire more items.
    while (reclaimed() < load(&handed_over, acquiring)) {  //= own: a statistic
        if (seconds_now() > limit) return false;
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return true;
}
