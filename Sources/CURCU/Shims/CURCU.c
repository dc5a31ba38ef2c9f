// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CURCU.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local void *curcu_thread_record __attribute__((tls_model("initial-exec")));

int curcu_membarrier(void) {
    // liburcu's constructor has registered the process for this command.
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;
}

void curcu_futex_wait(const void *word, uint32_t expected, int64_t nanoseconds) {
    struct timespec limit = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds < 0 ? 0 : &limit, 0, 0);
    errno = saved;
}

void curcu_futex_wake(const void *word, int32_t count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
    errno = saved;
}

void curcu_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
