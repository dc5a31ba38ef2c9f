// SPDX-License-Identifier: Apache-2.0
//
// membarrier, which Linux has. Other systems have no documented barrier on all threads: there both
// sides of the asymmetric barrier execute fences.

#include "System.h"

#include <errno.h>

bool cplatform_membarrier_is_registered;

#if CPLATFORM_LINUX

#include <sys/syscall.h>
#include <unistd.h>

// Constants of <linux/membarrier.h>, which not every C library's headers come with.
enum { query = 0, private_expedited = 1 << 3, register_private_expedited = 1 << 4 };

static int membarrier(int command) { return (int)syscall(SYS_membarrier, command, 0, 0); }

int cplatform_membarrier(void) { return membarrier(private_expedited) == 0 ? 0 : errno; }

int cplatform_register_membarrier(void) { return membarrier(register_private_expedited) == 0 ? 0 : errno; }

__attribute__((constructor)) static void register_process(void) {
    int saved = errno, commands = membarrier(query);
    cplatform_membarrier_is_registered =
        commands > 0 && (commands & private_expedited) && cplatform_register_membarrier() == 0;
    errno = saved;
}

#else

int cplatform_membarrier(void) { return ENOSYS; }
int cplatform_register_membarrier(void) { return ENOSYS; }

#endif

bool cplatform_is_unregistered(int error) { return error == EPERM; }

// The kernel may have no memory for a moment, and a process that was restored from a checkpoint may
// no longer be registered.
bool cplatform_may_pass(int error) { return error == EPERM || error == ENOMEM || error == EAGAIN; }
