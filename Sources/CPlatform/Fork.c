// SPDX-License-Identifier: Apache-2.0
//
// Whether the process is the child of a fork.

#include "System.h"

#include <pthread.h>

bool cplatform_used, cplatform_child;

static int handler_error;

static void after_fork_in_child(void) {
    // Relaxed: the child has one thread, and the memory of the moment of the fork.
    if (__atomic_load_n(&cplatform_used, __ATOMIC_RELAXED)) cplatform_child = true;
}

// Before `main`, so that no fork is without the handler. Nothing of Swift is used here: its runtime
// may not be ready.
__attribute__((constructor)) static void install(void) {
    handler_error = pthread_atfork(NULL, NULL, after_fork_in_child);
}

int cplatform_fork_handler_error(void) { return handler_error; }
