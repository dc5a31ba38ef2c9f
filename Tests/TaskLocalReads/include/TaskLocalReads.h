// SPDX-License-Identifier: Apache-2.0

#ifndef TASK_LOCAL_READS_H
#define TASK_LOCAL_READS_H

/// How many task-local values the calling thread has looked up.
long task_local_reads(void);

#endif
