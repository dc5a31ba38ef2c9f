// SPDX-License-Identifier: Apache-2.0

import Testing

/// The contract, promise by promise. Every suite is nested here.
///
/// One test runs at a time, because the diagnostics, the reclamation thread and `drain` belong to
/// the process, and several tests block threads.
@Suite("Promises", .serialized)
struct Promises {}
