// SPDX-License-Identifier: Apache-2.0
//
// The part of the library's C that the compiled pieces use, without a system.

#pragma once
#include <stdbool.h>
#include <stdint.h>

static inline void cplatform_compiler_barrier(void) { __asm__ __volatile__("" ::: "memory"); }
static inline void cplatform_spin_hint(void) { __asm__ __volatile__("isb" ::: "memory"); }
void cplatform_wait(const void *_Nonnull word, uint32_t expected, int64_t nanoseconds);
void cplatform_wake(const void *_Nonnull word, bool all);
