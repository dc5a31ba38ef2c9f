// SPDX-License-Identifier: Apache-2.0

#ifndef HEAP_SIZE_H
#define HEAP_SIZE_H

#include <stddef.h>

/// How many bytes the process has from `malloc`, in all its arenas.
size_t heap_bytes_in_use(void);

#endif
