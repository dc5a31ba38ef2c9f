// SPDX-License-Identifier: Apache-2.0

import Testing

/// The contract, promise by promise: every suite is nested here.
///
/// One test at a time: the diagnostics, the reclamation thread and `drain` are the process's, and
/// several tests block threads.
@Suite("Promises", .serialized)
struct Promises {}
