// SPDX-License-Identifier: Apache-2.0
//
// C11's atomics under the names that the orderings have in Swift, so that a line here and the line
// of the library that it mirrors say the same word. `Scripts/check-litmus.sh` compares the two.

#ifndef ATOMICS_H
#define ATOMICS_H

#include <stdatomic.h>

#define relaxed memory_order_relaxed
#define acquiring memory_order_acquire
#define releasing memory_order_release
#define acquiringAndReleasing memory_order_acq_rel
#define sequentiallyConsistent memory_order_seq_cst

#define load(word, order) atomic_load_explicit(word, order)
#define store(word, value, order) atomic_store_explicit(word, value, order)
#define exchange(word, value, order) atomic_exchange_explicit(word, value, order)
#define add(word, value, order) atomic_fetch_add_explicit(word, value, order)
#define bitwise_or(word, value, order) atomic_fetch_or_explicit(word, value, order)
#define fence(order) atomic_thread_fence(order)

// A hint for the summary: not one step, so that it orders nothing.
#define tally(word) store(word, load(word, relaxed) + 1, relaxed)

// True if it exchanged; else `expected` has what was found. Relaxed when it fails: tried again.
#define compare_exchange(word, expected, value, order) \
    atomic_compare_exchange_strong_explicit(word, expected, value, order, memory_order_relaxed)

#endif
