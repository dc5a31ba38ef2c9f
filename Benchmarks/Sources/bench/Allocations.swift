// SPDX-License-Identifier: Apache-2.0

import CReference

/// Returns the number of calls of `malloc` and related functions in this process, on all threads,
/// while `body` runs.
func allocations(_ body: () -> Void) -> Int {
    let before = creference_begin_counting_allocations()
    body()
    return creference_end_counting_allocations() - before
}
