// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CReference.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

_Thread_local long creference_thread_tally;

static void count(void *context, long event) { ((struct creference_counter *)context)->value |= event; }
static void subtract(void *context, long event) { ((struct creference_counter *)context)->value -= event; }
static void count_twice(void *context, long event) { ((struct creference_counter *)context)->value += event * 2; }

static void tally(void *context, long event) {
    (void)context;
    creference_tally(event);
}

struct creference_list *creference_list_make(size_t size) {
    struct creference_list *list = malloc(sizeof *list + size * sizeof list->entries[0]);
    if (!list) abort();
    list->count = size;
    void (*const kinds[])(void *, long) = {count, subtract, count_twice};
    for (size_t i = 0; i < size; i++) {
        list->entries[i].call = kinds[i % 3];
        list->entries[i].context = calloc(1, sizeof(struct creference_counter));
        if (!list->entries[i].context) abort();
    }
    return list;
}

struct creference_list *creference_list_make_tallying(void) {
    struct creference_list *list = creference_list_make(1);
    list->entries[0].call = tally;
    return list;
}

void creference_list_free(struct creference_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->entries[i].context);
    free(list);
}

__attribute__((noinline)) static void notify(struct creference_list *const *head, long event) {
    _urcu_bp_read_lock();
    struct creference_list *list = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < list->count; i++) list->entries[i].call(list->entries[i].context, event);
    _urcu_bp_read_unlock();
}

void creference_notify_repeatedly(struct creference_list *const *head, long events) {
    for (long event = 0; event < events; event++) notify(head, event);
}

__attribute__((noinline)) static void empty_section(void) {
    _urcu_bp_read_lock();
    _urcu_bp_read_unlock();
}

void creference_empty_section_repeatedly(long times) {
    for (long i = 0; i < times; i++) empty_section();
}

size_t creference_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

size_t creference_usable_bytes(const void *address) { return malloc_usable_size((void *)address); }

long creference_preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

// MARK: Allocations

// The allocator's functions, found before the C library's, which they call under its other names
// for them.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static bool counts;
static long counted;
static _Thread_local long counted_here;

static inline void count_allocation(void) {
    counted_here++;
    if (__atomic_load_n(&counts, __ATOMIC_RELAXED)) __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
    count_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    count_allocation();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_allocation();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count_allocation();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

long creference_begin_counting_allocations(void) {
    __atomic_store_n(&counts, true, __ATOMIC_RELAXED);
    return __atomic_load_n(&counted, __ATOMIC_RELAXED);
}

long creference_end_counting_allocations(void) {
    __atomic_store_n(&counts, false, __ATOMIC_RELAXED);
    return __atomic_load_n(&counted, __ATOMIC_RELAXED);
}

long creference_thread_allocations(void) { return counted_here; }

// MARK: Instructions

__attribute__((noinline)) void creference_counted(void (*body)(void *), void *context) { body(context); }

void creference_spend_instructions(long count) {
    // Volatile: each round is at least one instruction.
    for (volatile long i = 0; i < count; i++) {}
}

void creference_spend_allocation(void) {
    // Volatile: the compiler may leave out an allocation that is never read.
    void *volatile memory = malloc(1);
    free(memory);
}
