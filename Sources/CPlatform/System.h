// SPDX-License-Identifier: Apache-2.0
//
// Which system this is. `CPLATFORM_PORTABLE` selects on every system the forms that need POSIX
// only: Linux tests them for systems that have neither futex nor membarrier.

#ifndef CPLATFORM_SYSTEM_H
#define CPLATFORM_SYSTEM_H

// Shows the functions of glibc and musl that POSIX does not have.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#if defined(CPLATFORM_PORTABLE)
#elif defined(__linux__)
#define CPLATFORM_LINUX 1
#elif defined(__APPLE__)
#define CPLATFORM_DARWIN 1
#endif

#include "CPlatform.h"

#endif
