// SPDX-License-Identifier: Apache-2.0

import HummingbirdCore
import Logging
import NIOCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Accepts a connection only while the process has a descriptor for it. Other connections wait in
/// the system's queue.
///
/// If accepting fails because there is no descriptor, NIO's server tries again at once, as fast as
/// it can.
package struct ConnectionLimit: AvailableConnectionsDelegate {
    private let most: Int
    private let logger: Logger
    private var count = 0

    package init(_ most: Int, logger: Logger) {
        self.most = most
        self.logger = logger
    }

    package mutating func connectionOpened() {
        count += 1
        guard count == most else { return }
        logger.warning(
            "others wait: there are as many connections as there may be",
            metadata: ["connections": "\(most)"]
        )
    }

    package mutating func connectionClosed() { count -= 1 }

    package func isAcceptingNewConnections() -> Bool { count < most }

    /// Limits the connections that a listening channel accepts. Call it on the channel's event
    /// loop.
    package func add(to channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(AvailableConnectionsChannelHandler(delegate: self))
    }
}

/// Sets the number of connections that the process may have.
package enum Descriptors {
    /// Raises the process's limit of descriptors to the largest number that the system allows.
    ///
    /// - Returns: The number of connections. The process itself needs some descriptors for its
    ///   threads, its log and its own connections.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        // Safe: the calls use the limit only while they run.
        unsafe getrlimit(files, &limit)
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(files, &limit)
        unsafe getrlimit(files, &limit)
        let descriptors = Int(clamping: limit.rlim_cur)
        return max(descriptors - 32 - 4 * System.coreCount, 8)
    }

    #if canImport(Glibc)
    private static let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    private static let files = RLIMIT_NOFILE
    #endif
}
