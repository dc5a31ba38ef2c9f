// SPDX-License-Identifier: Apache-2.0
//
// Functions of Swift's runtime that the language does not offer. They are called here, and not in
// the header: some compilers take calls that they find in Swift code for their own, and fail.

#include "CPlatform.h"

extern void *swift_tryRetain(void *object);
extern void *swift_nonatomic_retain_n(void *object, uint32_t count);

void *cplatform_try_retain(void *object) { return swift_tryRetain(object); }

void cplatform_retain_unshared(void *object, uint32_t count) { swift_nonatomic_retain_n(object, count); }
