// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "TaskLocalReads.h"

#include <dlfcn.h>
#include <stdatomic.h>

static _Thread_local long reads;

long task_local_reads(void) { return reads; }

typedef __attribute__((swiftcall)) void get_function(__attribute__((swift_indirect_result)) void *,
                                                     __attribute__((swift_context)) void *);

// `TaskLocal.get()` stands before Swift's own, which it calls: the dynamic linker finds the
// executable's first.
get_function get_task_local __asm__("$ss9TaskLocalC3getxyF");

__attribute__((swiftcall)) void get_task_local(__attribute__((swift_indirect_result)) void *result,
                                               __attribute__((swift_context)) void *task_local) {
    static get_function *_Atomic next;
    get_function *function = atomic_load_explicit(&next, memory_order_relaxed);
    if (!function) {
        function = (get_function *)dlsym(RTLD_NEXT, "$ss9TaskLocalC3getxyF");
        atomic_store_explicit(&next, function, memory_order_relaxed);
    }
    reads += 1;
    function(result, task_local);
}
