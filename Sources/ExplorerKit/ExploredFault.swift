// SPDX-License-Identifier: Apache-2.0

/// A fault that can happen where a program allows it. The schedule chooses it, as it chooses the
/// thread that goes on. A fault costs as much as a preemption.
///
/// In a schedule its letter stands where a thread's would: the thread before it is the one that it
/// happens to.
package enum ExploredFault: Int {
    /// The library asks for a thread, and there is none.
    case refusal = 10
    /// The thread exits where it stands.
    case exit = 11

    package var label: StaticString {
        switch self {
        case .refusal: "no thread is to be had"
        case .exit: "the thread exits"
        }
    }
}
