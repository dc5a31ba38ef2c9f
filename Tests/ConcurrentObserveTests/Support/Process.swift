// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc

/// The process in which the tests run.
enum Process {
    /// Whether the library was built for systems that have only POSIX threads. The build reads the
    /// same variable.
    static var isPortable: Bool {
        unsafe getenv("CONCURRENT_OBSERVE_PLATFORM").map { unsafe String(cString: $0) } == "portable"
    }

    /// The resident memory in bytes.
    static var residentBytes: Int { pages(at: 1) * Int(sysconf(Int32(_SC_PAGESIZE))) }

    /// The address space in use, in bytes.
    static var addressSpaceBytes: Int { pages(at: 0) * Int(sysconf(Int32(_SC_PAGESIZE))) }

    /// The processor time that all threads have used together.
    static var processorTime: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The processor time that the calling thread has used.
    static var ownTime: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
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

    /// Forks the process. Swift hides the function, but services and much C code use it.
    ///
    /// - Returns: 0 in the child, the child's number in the parent.
    static func fork() -> pid_t {
        // Safe: that is the function's type; looked up because the importer marks it unavailable.
        let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
        return fork()
    }

    /// Makes the system kill the process after some time, so that a process that hangs ends with
    /// its own status.
    ///
    /// The threads of a pool block signals, and a child that such a thread has forked inherits
    /// that.
    static func limitLife(seconds: UInt32) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGALRM)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        alarm(seconds)
    }

    /// Returns the exit status of a child: 0 if all went well, or the signal's number plus 256 if
    /// it was killed.
    ///
    /// A child that has not ended after 40 seconds is killed: it may hang in the handlers of the
    /// fork, before it can limit its own life.
    static func status(of child: pid_t) -> Int {
        var status: Int32 = 0
        let deadline = ContinuousClock.now + .seconds(40)
        while true {
            let ended = unsafe waitpid(child, &status, .now < deadline ? WNOHANG : 0)
            if ended == child { break }
            if ended == 0, .now < deadline { briefPause() } else { kill(child, SIGKILL) }
        }
        return status & 0x7f == 0 ? Int(status >> 8 & 0xff) : 256 + Int(status & 0x7f)
    }

    /// Waits until every retired item is reclaimed, so that no test finds what another has left.
    static func settle() throws {
        guard ConcurrentObserveDiagnostics.drain(deadline: .now + patience) == .finished else {
            throw WaitedInVain(for: "the reclamation of everything")
        }
    }

    /// Runs `body` while the address space of the process cannot grow: no mapping, no thread, no
    /// larger heap.
    static func withoutMoreMemory(_ body: () -> Void) {
        var before = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before)
        var limit = before
        limit.rlim_cur = rlim_t(addressSpaceBytes)
        let error = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        precondition(error == 0, "the limit cannot be set")
        defer { unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &before) }
        let mapping = unsafe mmap(nil, 1 << 24, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        unsafe precondition(mapping == MAP_FAILED, "the limit has no effect")
        body()
    }

    /// Runs `body` while the system can start no thread, except for a caller that asks for its own
    /// stack size.
    static func withoutMoreThreads(_ body: () -> Void) {
        typealias Access = @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32
        // Safe: these are the functions' types; looked up because the importer does not see GNU's
        // own.
        let getDefault = unsafe unsafeBitCast(dlsym(nil, "pthread_getattr_default_np"), to: Access.self)
        let setDefault = unsafe unsafeBitCast(dlsym(nil, "pthread_setattr_default_np"), to: Access.self)
        var before = pthread_attr_t()
        var limit = pthread_attr_t()
        _ = unsafe getDefault(&before)
        unsafe pthread_attr_init(&limit)
        // More than there is address space.
        unsafe pthread_attr_setstacksize(&limit, 1 << 47)
        let error = unsafe setDefault(&limit)
        precondition(error == 0, "the default cannot be set")
        defer { unsafe _ = setDefault(&before) }
        var thread = pthread_t()
        let refusal = unsafe pthread_create(&thread, nil, { _ in nil }, nil)
        precondition(refusal != 0, "the default has no effect")
        body()
    }
}

/// Forks. The child runs `body` and exits. Returns the child's status: 0 if `body` returned true.
func inChild(_ body: () -> Bool) -> Int {
    let child = Process.fork()
    if child == 0 {
        Process.limitLife(seconds: 15)
        _exit(body() ? 0 : 1)
    }
    check(child > 0, "the process cannot be forked")
    return Process.status(of: child)
}

/// Waits in the blocking form. An asynchronous caller reaches that form through this function.
func waitsForTheEnd(of token: ObservationToken) -> Bool { token.cancelAndWaitBlocking() == .finished }

/// Ends an exit test's process with a message unless `condition` holds.
func check(_ condition: Bool, _ message: @autoclosure () -> String) {
    if condition { return }
    let text = Array((message() + "\n").utf8)
    _ = unsafe text.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(EXIT_FAILURE)
}
