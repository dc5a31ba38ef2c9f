// SPDX-License-Identifier: Apache-2.0
//
// The only C of the project: thin shims over liburcu's "bulletproof" flavour and the two Linux
// system calls that Swift cannot call (they are variadic). Only the room Platform calls them.

#ifndef CURCU_H
#define CURCU_H

#if !defined(__linux__)
#error "ConcurrentObserve runs on Linux: it needs futex and membarrier"
#endif

#if !__has_include(<urcu/urcu-bp.h>)
#error "ConcurrentObserve needs liburcu (userspace RCU): install liburcu-dev (Debian, Ubuntu) or userspace-rcu-devel (Fedora)"
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
#include <stddef.h>
#include <stdint.h>

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

/// Swift's runtime: counts a reference to the object, unless its deinitialiser has begun. The
/// caller keeps the object's memory. Returns the object, or NULL.
extern void *_Nullable swift_tryRetain(void *_Nullable object);
static inline void *_Nullable curcu_try_retain(void *_Nullable object) { return swift_tryRetain(object); }

/// Swift's runtime: counts more references to the object, to which no other thread has one.
extern void *_Nullable swift_nonatomic_retain_n(void *_Nullable object, uint32_t count);
static inline void curcu_retain_unshared(void *_Nonnull object, uint32_t count) { swift_nonatomic_retain_n(object, count); }

/// Swift's ABI: the value witnesses of the type whose metadata is at `type`.
static inline void *_Nonnull const *_Nonnull curcu_witnesses(const void *_Nonnull type) {
    return ((void *_Nonnull const *_Nonnull const *)type)[-1];
}

/// The bytes of a value of the type.
static inline size_t curcu_size(const void *_Nonnull type) { return (size_t)curcu_witnesses(type)[8]; }

/// Destroys a value of the type.
static inline void curcu_destroy(void *_Nonnull value, const void *_Nonnull type) {
    ((void (*)(void *, const void *))curcu_witnesses(type)[1])(value, type);
}

/// Fetches a cache line that will be read and written soon. Any address will do.
static inline void curcu_prefetch(const void *_Nullable address) { __builtin_prefetch(address, 1); }

/// Keeps the compiler, not the processor, from moving memory accesses across it.
static inline void curcu_compiler_barrier(void) { __asm__ __volatile__("" ::: "memory"); }

/// A full barrier on every running thread of the process. Returns 0, or the error number.
int curcu_membarrier(void);

/// Registers the process for `curcu_membarrier()` again. Returns 0, or the error number.
int curcu_register_membarrier(void);

// MARK: The calling thread's record

extern _Thread_local void *_Nullable curcu_thread_record __attribute__((tls_model("initial-exec")));

static inline void *_Nullable curcu_get_thread_record(void) { return curcu_thread_record; }
static inline void curcu_set_thread_record(void *_Nullable record) { curcu_thread_record = record; }

// MARK: Waiting

/// Sleeps while `*word == expected`, at most `nanoseconds` (negative: for ever). May wake for no
/// reason.
void curcu_futex_wait(const void *_Nonnull word, uint32_t expected, int64_t nanoseconds);

/// Wakes up to `count` threads that sleep on `word`.
void curcu_futex_wake(const void *_Nonnull word, int32_t count);

/// Eases a spinning processor.
static inline void curcu_spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

// MARK: Threads

/// Starts a detached thread that inherits neither the scheduling class nor the processors of the
/// calling one: it is SCHED_OTHER, on the processors that the process had when it began. What the
/// system does not permit is inherited after all. Returns 0, or the error number.
int curcu_create_thread(void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable context);

/// Called first by a thread that was started so: gives it the nice value, and a name for debuggers,
/// 15 bytes at most.
void curcu_begin_thread(const char *_Nonnull name);

/// Whether less than an eighth of the calling thread's stack is left: 64 KiB at least, 256 KiB at
/// most, but never more than a quarter. False where that is not known, as on a stack that the
/// program has made itself.
bool curcu_stack_is_nearly_used_up(void);

// MARK: First use, fork and exit

extern bool curcu_used;

/// Notes that the process has used the library. Called before anything is made that has a lock.
static inline void curcu_note_use(void) {
    // Relaxed: a thread that finds it comes after the store. Sequentially consistent: before the
    // thread takes a lock, so that no fork copies a lock that is held without it.
    if (!__atomic_load_n(&curcu_used, __ATOMIC_RELAXED)) __atomic_store_n(&curcu_used, true, __ATOMIC_SEQ_CST);
}

/// Whether the process is the child of a fork of one that has used the library. Written before the
/// child has other threads.
extern bool curcu_child;

static inline bool curcu_is_child(void) { return __builtin_expect(curcu_child, false); }

/// Error numbers of what was set up before `main`: 0 if it was.
int curcu_exit_key_error(void);
int curcu_fork_handler_error(void);

/// Calls `hook` with `record` when the calling thread exits. The hook must always be the same.
void curcu_note_thread_exit(void *_Nonnull record, void (*_Nonnull hook)(void *_Nonnull record));

#endif
