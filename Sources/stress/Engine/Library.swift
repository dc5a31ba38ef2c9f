// SPDX-License-Identifier: Apache-2.0

@_exported import ExplorerKit
@_exported import StressKit

// One source, two commands: the package Instrumented builds it over its copy, the other over the
// library that users build.
#if INSTRUMENTED
@_exported import ConcurrentObserveInstrumented
#else
@_exported import ConcurrentObserve
#endif

/// Which build of the library this command runs.
enum LibraryBuild {
    #if INSTRUMENTED
    static let name = "instrumented"
    #else
    static let name = "product"
    #endif

    /// Whether read sections of liburcu protect the lists of observers; otherwise hazard pointers
    /// do.
    static var usesLiburcu: Bool {
        #if LibURCU && os(Linux)
        true
        #else
        false
        #endif
    }
}
