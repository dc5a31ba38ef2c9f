// SPDX-License-Identifier: Apache-2.0
//
// The system's and the Swift runtime's services for the library. Only the room Platform calls it,
// and `stress`, which names the form. Only the files beside this header ask which system it is.

#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether these are the forms that need POSIX only.
bool cplatform_is_portable(void);

// MARK: Barriers

/// Keeps the compiler, not the processor, from moving memory accesses across it.
static inline void cplatform_compiler_barrier(void) { __asm__ __volatile__("" ::: "memory"); }

extern bool cplatform_membarrier_is_registered;

/// Whether `cplatform_membarrier()` works here. Set before `main`.
static inline bool cplatform_has_membarrier(void) { return cplatform_membarrier_is_registered; }

/// A full barrier on every running thread of the process. Returns 0, or the error number.
int cplatform_membarrier(void);

/// Registers the process for `cplatform_membarrier()`. Returns 0, or the error number.
int cplatform_register_membarrier(void);

/// Whether an error of `cplatform_membarrier()` says that the process is not registered.
bool cplatform_is_unregistered(int error);

/// Whether a call after this error can succeed.
bool cplatform_may_pass(int error);

// MARK: Waiting

/// Sleeps while `*word == expected`, at most `nanoseconds` (negative: without a limit). May wake
/// for no reason. It is a full barrier before it looks at the word.
void cplatform_wait(const void *_Nonnull word, uint32_t expected, int64_t nanoseconds);

/// Wakes threads that sleep on `word`: one, or all. May wake more.
void cplatform_wake(const void *_Nonnull word, bool all);

/// Eases a spinning processor.
static inline void cplatform_spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

/// Lets other threads run.
void cplatform_yield(void);

/// Sleeps for less than a second.
void cplatform_sleep(uint32_t microseconds);

// MARK: Threads

/// Starts a detached thread with a name of at most 15 bytes. It blocks all signals but those of its
/// own faults.
///
/// It inherits neither the scheduling class nor the processors of the calling thread: it has an
/// ordinary class, and the processors that the process had when it began. If the system does not
/// permit this, the thread inherits them. Returns 0, or the error number.
int cplatform_create_thread(
    const char *_Nonnull name, void (*_Nonnull body)(void *_Nullable), void *_Nullable context);

/// Whether less than an eighth of the calling thread's stack is left: 64 KiB at least, 256 KiB at
/// most, but never more than a quarter. False where that is not known, as on a stack that the
/// program has made itself.
bool cplatform_stack_is_nearly_used_up(void);

// The first access of a thread to a variable of a library that is loaded at run time would call the
// system's loader: not where the variable has its place from the beginning, which ELF can say.
#if defined(__ELF__)
#define CPLATFORM_EARLY __attribute__((tls_model("initial-exec")))
#else
#define CPLATFORM_EARLY
#endif

extern _Thread_local void *_Nullable cplatform_thread_record CPLATFORM_EARLY;

static inline void *_Nullable cplatform_get_thread_record(void) { return cplatform_thread_record; }
static inline void cplatform_set_thread_record(void *_Nullable record) { cplatform_thread_record = record; }

/// Calls `hook`, which is always the same, with `record` when the calling thread exits.
void cplatform_note_thread_exit(void *_Nonnull record, void (*_Nonnull hook)(void *_Nonnull record));

/// The error number of what `cplatform_note_thread_exit` needs, which is set up before `main`: 0 if
/// it was.
int cplatform_exit_key_error(void);

// MARK: Clocks and processors

/// The time since the machine started, in units of about a quarter of a second. It costs a few
/// nanoseconds.
uint32_t cplatform_quarters(void);

/// The clock of the calling thread's processor time, which other threads may read; 0 if there is
/// none.
uint64_t cplatform_thread_clock(void);

/// The nanoseconds that the thread with this clock has run; negative if it no longer exists.
int64_t cplatform_thread_time(uint64_t clock);

/// The number of threads that can run at once.
int cplatform_processor_count(void);

// MARK: Fork

extern bool cplatform_used, cplatform_child;

/// Notes that the process has used the library. Called before anything is made that has a lock.
static inline void cplatform_note_use(void) {
    // Relaxed: a thread that finds it comes after the store. Sequentially consistent: before the
    // thread takes a lock, so that no fork copies a lock that is held without it.
    if (!__atomic_load_n(&cplatform_used, __ATOMIC_RELAXED)) __atomic_store_n(&cplatform_used, true, __ATOMIC_SEQ_CST);
}

/// Whether the process is the child of a fork of one that has used the library. Written before the
/// child has other threads.
static inline bool cplatform_is_child(void) { return __builtin_expect(cplatform_child, false); }

/// The error number of the fork handler, which is set up before `main`: 0 if it was.
int cplatform_fork_handler_error(void);

// MARK: Swift's runtime

/// Counts a reference to the object, unless its deinitialiser has begun. The caller keeps the
/// object's memory. Returns the object, or NULL.
void *_Nullable cplatform_try_retain(void *_Nullable object);

/// Counts more references to the object, to which no other thread has one.
void cplatform_retain_unshared(void *_Nonnull object, uint32_t count);

/// Swift's ABI: the value witnesses of the type whose metadata is at `type`.
static inline void *_Nonnull const *_Nonnull cplatform_witnesses(const void *_Nonnull type) {
    return ((void *_Nonnull const *_Nonnull const *)type)[-1];
}

/// The bytes of a value of the type.
static inline size_t cplatform_size(const void *_Nonnull type) { return (size_t)cplatform_witnesses(type)[8]; }

/// Destroys a value of the type.
static inline void cplatform_destroy(void *_Nonnull value, const void *_Nonnull type) {
    ((void (*)(void *, const void *))cplatform_witnesses(type)[1])(value, type);
}

/// Fetches a cache line that will be read and written soon. Any address will do.
static inline void cplatform_prefetch(const void *_Nullable address) { __builtin_prefetch(address, 1); }

#endif
