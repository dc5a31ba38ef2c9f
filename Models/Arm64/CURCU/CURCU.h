// SPDX-License-Identifier: Apache-2.0
//
// The compiled pieces use these of the library's C shims, without liburcu and without a system.

#pragma once
#include <stdint.h>

static inline void curcu_compiler_barrier(void) { __asm__ __volatile__("" ::: "memory"); }
static inline void curcu_spin_hint(void) { __asm__ __volatile__("isb" ::: "memory"); }
void curcu_futex_wait(const void *_Nonnull word, uint32_t expected, int64_t nanoseconds);
void curcu_futex_wake(const void *_Nonnull word, int32_t count);
