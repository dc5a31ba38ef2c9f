// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CReference.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

_Thread_local long creference_thread_tally;

static void count(void *context, long event) { ((struct creference_counter *)context)->value += event; }

static void tally(void *context, long event) {
    (void)context;
    creference_tally(event);
}

struct creference_list *creference_list_make(size_t size) {
    struct creference_list *list = malloc(sizeof *list + size * sizeof list->entries[0]);
    if (!list) abort();
    list->count = size;
    for (size_t i = 0; i < size; i++) {
        list->entries[i].call = count;
        list->entries[i].context = calloc(1, sizeof(struct creference_counter));
        if (!list->entries[i].context) abort();
    }
    return list;
}

struct creference_list *creference_list_make_tallying(void) {
    struct creference_list *list = creference_list_make(1);
    list->entries[0].call = tally;
    return list;
}

void creference_list_free(struct creference_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->entries[i].context);
    free(list);
}

__attribute__((noinline)) static void notify(struct creference_list *const *head, long event) {
    _urcu_bp_read_lock();
    struct creference_list *list = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < list->count; i++) list->entries[i].call(list->entries[i].context, event);
    _urcu_bp_read_unlock();
}

void creference_notify_repeatedly(struct creference_list *const *head, long events) {
    for (long event = 0; event < events; event++) notify(head, event);
}

__attribute__((noinline)) static void empty_section(void) {
    _urcu_bp_read_lock();
    _urcu_bp_read_unlock();
}

void creference_empty_section_repeatedly(long times) {
    for (long i = 0; i < times; i++) empty_section();
}

size_t creference_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

long creference_preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}
