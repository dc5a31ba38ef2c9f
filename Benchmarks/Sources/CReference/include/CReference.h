// SPDX-License-Identifier: Apache-2.0
//
// The library is compared with this code: the same notification written in C. It walks an array of
// function pointer and context inside an inlined read section of liburcu.

#ifndef CREFERENCE_H
#define CREFERENCE_H

#include <stddef.h>

/// The counter that an observer adds to, and state around it: as much as `Counter` of the benchmark
/// stores.
struct creference_counter {
    void *_Nullable header[2];
    long value;
    long state[5];
};

struct creference_entry {
    void (*_Nonnull call)(void *_Nullable context, long event);
    void *_Nullable context;
};

/// A published list of observers.
struct creference_list {
    size_t count;
    struct creference_entry entries[];
};

/// A list of `count` observers, each with a counter of its own, and of one of three functions in
/// turn.
struct creference_list *_Nonnull creference_list_make(size_t count);

/// A list of one observer that adds to the calling thread's tally, so that threads share nothing
/// but the list.
struct creference_list *_Nonnull creference_list_make_tallying(void);

void creference_list_free(struct creference_list *_Nonnull list);

/// Notifies `events` times.
void creference_notify_repeatedly(struct creference_list *_Nonnull const *_Nonnull head, long events);

/// Enters and leaves an empty read section `times` times.
void creference_empty_section_repeatedly(long times);

/// The calling thread's tally.
extern _Thread_local long creference_thread_tally;

/// Adds to the calling thread's tally: the body of an observer that threads can call at once.
static inline void creference_tally(long event) { creference_thread_tally += event; }

/// Uses a value, so that computing it is not optimised away.
static inline void creference_consume(long value) { __asm__ volatile("" : : "r"(value)); }

/// How often the system has taken the processor away from the calling thread.
long creference_preemptions(void);

/// Bytes of heap in use by the process.
size_t creference_heap_bytes(void);

/// Bytes of the allocation that begins at `address`.
size_t creference_usable_bytes(const void *_Nonnull address);

/// Counts the calls of malloc and its kin, on all threads, from now on. Returns how many have been
/// counted before.
long creference_begin_counting_allocations(void);

/// Ends it. Returns how many have been counted.
long creference_end_counting_allocations(void);

/// How often the calling thread has called malloc and its kin.
long creference_thread_allocations(void);

/// Calls `body` with `context`. Callgrind counts what is executed in here (see
/// Scripts/check-counts.sh).
void creference_counted(void (*_Nonnull body)(void *_Nonnull context), void *_Nonnull context);

/// Executes so many instructions, or more.
void creference_spend_instructions(long count);

/// Allocates once, and frees.
void creference_spend_allocation(void);

#endif
