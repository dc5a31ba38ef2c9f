// SPDX-License-Identifier: Apache-2.0

/// What can go wrong where a program allows it: a choice of the schedule, as which thread goes on is. It costs as much as a preemption.
///
/// In a schedule its letter stands where a thread's would: the thread before it is the one that it happens to.
enum ExploredFault: Int {
    /// The library asks for a thread, and there is none.
    case refusal = 10
    /// The thread exits where it stands.
    case exit = 11

    var label: StaticString {
        switch self {
        case .refusal: "no thread is to be had"
        case .exit: "the thread exits"
        }
    }
}
