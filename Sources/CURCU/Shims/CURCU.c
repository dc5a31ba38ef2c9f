// SPDX-License-Identifier: Apache-2.0

#include "CURCU.h"

// It reads the thread's pointer to its reader, also where CURCU.h calls liburcu out of line.
#include <urcu/static/urcu-bp.h>

#include <stddef.h>

#if defined(CURCU_OUT_OF_LINE)
bool curcu_has_reader(void) { return URCU_TLS(urcu_bp_reader) != NULL; }
#endif

#if defined(CPLATFORM_PORTABLE)
// liburcu's own constructor has run, because its library was loaded before.
__attribute__((constructor)) static void use_fences(void) { urcu_bp_has_sys_membarrier = 0; }
#endif
