// SPDX-License-Identifier: Apache-2.0
//
// A coarse clock, the processor time of a thread, and the number of processors.

#include "System.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if CPLATFORM_LINUX
#define COARSE CLOCK_MONOTONIC_COARSE
#elif defined(__APPLE__)
#define COARSE CLOCK_MONOTONIC_RAW_APPROX
#else
#define COARSE CLOCK_MONOTONIC
#endif

uint32_t cplatform_quarters(void) {
    struct timespec time;
    clock_gettime(COARSE, &time);
    // A second has between three and four times 2^28 nanoseconds.
    return (uint32_t)((uint64_t)time.tv_sec << 2 | (uint64_t)time.tv_nsec >> 28);
}

#if defined(__APPLE__)

#include <mach/mach.h>

uint64_t cplatform_thread_clock(void) { return pthread_mach_thread_np(pthread_self()); }

int64_t cplatform_thread_time(uint64_t clock) {
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info((thread_act_t)clock, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) return -1;
    int64_t microseconds = (int64_t)info.user_time.microseconds + info.system_time.microseconds;
    return ((int64_t)info.user_time.seconds + info.system_time.seconds) * 1000000000 + microseconds * 1000;
}

#else

uint64_t cplatform_thread_clock(void) {
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t)clock : 0;
}

int64_t cplatform_thread_time(uint64_t clock) {
    struct timespec time;
    if (clock_gettime((clockid_t)clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif

int cplatform_processor_count(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }
