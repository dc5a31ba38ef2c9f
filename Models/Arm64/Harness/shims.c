// SPDX-License-Identifier: Apache-2.0
//
// The library's shims one at a time, so that `Scripts/check-arm64.sh` can look at the instructions
// that liburcu's headers for arm64 give them.

#include "CPlatform.h"
#include "CURCU.h"

void shim_read_lock(void) { curcu_read_lock(); }
void shim_read_unlock(void) { curcu_read_unlock(); }
bool shim_has_reader(void) { return curcu_has_reader(); }
bool shim_has_membarrier(void) { return curcu_has_membarrier(); }
void shim_compiler_barrier(void) { cplatform_compiler_barrier(); }
void shim_spin_hint(void) { cplatform_spin_hint(); }
void *shim_get_thread_record(void) { return cplatform_get_thread_record(); }
void shim_set_thread_record(void *record) { cplatform_set_thread_record(record); }
