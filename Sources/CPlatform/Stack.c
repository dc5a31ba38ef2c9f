// SPDX-License-Identifier: Apache-2.0
//
// How much of the calling thread's stack is left.

#include "System.h"

#include <errno.h>
#include <pthread.h>

// The stack of the calling thread: its lowest address and its size. False if not known.
static bool get_stack(uintptr_t *lowest, size_t *size);

#if defined(__APPLE__)

static bool get_stack(uintptr_t *lowest, size_t *size) {
    *size = pthread_get_stacksize_np(pthread_self());
    *lowest = (uintptr_t)pthread_get_stackaddr_np(pthread_self()) - *size;
    return true;
}

#elif defined(__linux__)

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool get_stack(uintptr_t *lowest, size_t *size) {
    pthread_attr_t attributes;
    void *address;
    size_t guard;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    bool found = pthread_attr_getstack(&attributes, &address, size) == 0 &&
                 pthread_attr_getguardsize(&attributes, &guard) == 0;
    pthread_attr_destroy(&attributes);
    if (!found) return false;
#if defined(__GLIBC__)
    // glibc counts the guard in.
    if (guard >= *size) return false;
    *lowest = (uintptr_t)address + guard;
    *size -= guard;
#else
    uintptr_t highest = (uintptr_t)address + *size;
    if (getpid() == syscall(SYS_gettid)) {
        // The main thread's stack grows up to this limit; musl says how far it has grown.
        struct rlimit limit;
        if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= highest) return false;
        *size = (size_t)limit.rlim_cur;
    }
    *lowest = highest - *size;
#endif
    return true;
}

#else

static bool get_stack(uintptr_t *lowest, size_t *size) {
    (void)lowest, (void)size;
    return false;
}

#endif

// Where the stack ends, and below where it is nearly used up. Both 0 before the first look.
static _Thread_local uintptr_t stack_end, stack_limit;

static void find_stack(void) {
    size_t size;
    uintptr_t lowest;
    stack_end = stack_limit = UINTPTR_MAX;
    if (!get_stack(&lowest, &size)) return;
    size_t reserve = size / 8;
    if (reserve < 64 << 10) reserve = 64 << 10;
    if (reserve > 256 << 10) reserve = 256 << 10;
    if (reserve > size / 4) reserve = size / 4;
    stack_end = lowest;
    stack_limit = lowest + reserve;
}

bool cplatform_stack_is_nearly_used_up(void) {
    if (stack_limit == 0) {
        int saved = errno;
        find_stack();
        errno = saved;
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < stack_limit && here >= stack_end;
}
