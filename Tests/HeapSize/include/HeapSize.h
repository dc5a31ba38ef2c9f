// SPDX-License-Identifier: Apache-2.0
//
// Stops a thread right behind a `pthread_mutex_lock`, so that a test decides what happens while the thread holds the lock.

#ifndef INTERPOSITION_H
#define INTERPOSITION_H

#include <stdbool.h>
#include <stddef.h>

/// Stops the calling thread when it has taken a lock for the `count`-th time from now on in the code of `module`, a part of the name of a
/// shared library or of the executable. One thread at a time.
void interposition_stop(int count, const char *_Nonnull module);

/// From now on the calling thread neither takes nor releases the locks that the code of `module` asks for, until it names "".
void interposition_pass(const char *_Nonnull module);

/// From now on counts how often the calling thread takes a lock in the code of `module`, or all threads do; a child that is forked goes on
/// with the count. Each time says where the thread stands, in the file that the environment names by `INTERPOSITION_TRACE`.
void interposition_count(const char *_Nonnull module, bool of_all_threads);

/// The count. Ends the counting.
int interposition_counted(void);

/// Whether the thread has stopped.
bool interposition_has_stopped(void);

/// Lets the thread go on, and any that would stop later.
void interposition_release(void);

/// How many bytes the process has from `malloc`, in all its arenas.
size_t interposition_bytes_in_use(void);

#endif
