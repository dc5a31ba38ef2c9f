// SPDX-License-Identifier: Apache-2.0
//
// Thin shims over liburcu's "bulletproof" flavour. Only the room Platform calls them.

#ifndef CURCU_H
#define CURCU_H

#if !__has_include(<urcu/urcu-bp.h>)
# error "Install liburcu-dev (Debian, Ubuntu) or userspace-rcu-devel (Fedora)"
#endif

// Pass -Xcc -DCURCU_OUT_OF_LINE to call liburcu through its functions. Sanitizer builds need it: an
// inlined read lock is not instrumented, and ThreadSanitizer would report liburcu's own counters.
#if defined(CURCU_OUT_OF_LINE)
#include <urcu/urcu-bp.h>
#else
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>
#endif

#include <stdbool.h>

// MARK: Read sections

/// Whether the calling thread has a reader, liburcu's record of a thread that reads.
#if defined(CURCU_OUT_OF_LINE)
bool curcu_has_reader(void);
#else
static inline bool curcu_has_reader(void) { return URCU_TLS(urcu_bp_reader) != NULL; }
#endif

/// Enters a read section. Registers the calling thread with liburcu, if it has no reader. The
/// functions behind it have fewer than ten lines, which liburcu's headers allow any program to
/// inline.
static inline void curcu_read_lock(void) {
#if defined(CURCU_OUT_OF_LINE)
    urcu_bp_read_lock();
#else
    _urcu_bp_read_lock();
#endif
}

/// Leaves a read section.
static inline void curcu_read_unlock(void) {
#if defined(CURCU_OUT_OF_LINE)
    urcu_bp_read_unlock();
#else
    _urcu_bp_read_unlock();
#endif
}

/// Waits until every read section that was open at the call has been left, and is a full barrier on
/// every thread.
static inline void curcu_synchronize(void) { urcu_bp_synchronize_rcu(); }

// MARK: Barriers

/// Whether liburcu uses membarrier. When it does not, readers execute fences, and so must the code
/// that pairs with them.
#if defined(CONFIG_RCU_FORCE_SYS_MEMBARRIER)
static inline bool curcu_has_membarrier(void) { return true; }
#else
extern int urcu_bp_has_sys_membarrier;
static inline bool curcu_has_membarrier(void) { return urcu_bp_has_sys_membarrier != 0; }
#endif

#endif
