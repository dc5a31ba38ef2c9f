// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc

/// The process that the tests run in.
enum Process {
    /// Bytes of memory that are resident.
    static var residentBytes: Int { pages(at: 1) * Int(sysconf(Int32(_SC_PAGESIZE))) }

    /// Bytes of address space that are in use.
    static var addressSpaceBytes: Int { pages(at: 0) * Int(sysconf(Int32(_SC_PAGESIZE))) }

    /// The processor time that all threads have used together.
    static var processorTime: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func pages(at index: Int) -> Int {
        let file = unsafe open("/proc/self/statm", O_RDONLY)
        precondition(file >= 0, "there is no /proc/self/statm")
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 256)
        let count = unsafe text.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        let fields = String(decoding: text.prefix(count), as: UTF8.self).split(separator: " ")
        return Int(fields[index])!
    }

    /// Forks. Swift hides the function, not the need: services do it, and so does much C.
    ///
    /// - Returns: 0 in the child, the child's number in the parent.
    static func fork() -> pid_t {
        // Safe: that is the function's type; looked up because the importer marks it unavailable.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        return fork()
    }

    /// The exit status of a child: 0 if all went well, the signal's number plus 256 if it was killed.
    static func status(of child: pid_t) -> Int {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) == -1, errno == EINTR {}
        return status & 0x7f == 0 ? Int(status >> 8 & 0xff) : 256 + Int(status & 0x7f)
    }

    /// Waits until everything that is retired is reclaimed: no test finds what another has left.
    static func settle() throws {
        guard ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished else {
            throw WaitedInVain(for: "the reclamation of everything")
        }
    }
}
