// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Interposition
import Testing

extension Promises {
    @Suite("P18 Fork: locks of other libraries")
    struct P18ForkGateTests {}
}

/// A value that readers find through liburcu: a string that is neither a literal nor fits into the property itself.
private typealias Text = Observed<String>

/// An event of which no other test has a registry.
private struct Undelivered: Sendable { let number: Int }

/// Reads on the calling thread and on a new one, which exits. True if both find the value.
private func readsOnTwoThreads(_ property: Text) -> Bool {
    let first = property.value
    let second = Slot<String>()
    let thread = TestThread { second.put(property.value) }
    guard (try? thread.join()) != nil, let second = second.value else { return false }
    return first == second && first.count > 15
}

/// A thread of the system's, and what it waits for.
private final class Watched: Sendable {
    private let number = Slot<Int>()
    let thread: TestThread

    init(_ body: @escaping @Sendable () -> Void) {
        thread = TestThread { [number] in
            number.put(threadNumber())
            body()
        }
    }

    /// Whether the thread sleeps in the kernel now.
    var sleeps: Bool {
        guard let number = number.value else { return false }
        let file = unsafe open("/proc/self/task/\(number)/stat", O_RDONLY)
        guard file >= 0 else { return false }
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 256)
        let count = unsafe text.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        // The state follows the name, which is in parentheses.
        guard let end = text.prefix(max(0, count)).lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
            return false
        }
        return text[end + 2] == UInt8(ascii: "S")
    }

    /// Waits until the thread sleeps; false if it has not for as long as tests wait.
    func comesToSleep(or isDone: () -> Bool = { false }) -> Bool {
        let deadline = ContinuousClock.now + patience
        while !sleeps, !isDone() {
            guard .now < deadline else { return false }
            briefPause()
        }
        return true
    }
}

/// Waits until a thread has stopped behind the lock that it was to stop behind.
private func waitUntilStopped() {
    let deadline = ContinuousClock.now + patience
    while !interposition_has_stopped() {
        check(.now < deadline, "no thread has taken the lock")
        briefPause()
    }
}

/// Forks while another thread is stopped behind a lock. Returns the status of the child, which does `body`.
private func forkBesideStopped(_ body: @escaping @Sendable () -> Bool) throws -> Int {
    waitUntilStopped()
    let (isForking, status) = (Flag(), Slot<Int>())
    let forker = Watched {
        isForking.set()
        status.put(inChild(body))
    }
    // It waits for the stopped thread, or, where it should and does not, for its child, which has the lock for ever.
    check(
        forker.comesToSleep { status.value != nil } && isForking.isSet,
        "the thread that forks neither waits nor ends"
    )
    interposition_release()
    try forker.thread.join()
    return status.value ?? -1
}

extension Promises.P18ForkGateTests {
    @Test("P18 A fork waits for a thread that registers with liburcu: the child reads on its old and on a new thread")
    func whileRegistering() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let property = Text(String(repeating: "text", count: 9))
            check(readsOnTwoThreads(property), "before the fork")
            // More threads than records, so that this one needs a new reader.
            let others = (0..<2).map { _ in Parked { _ = property.value } }
            let reader = TestThread {
                // The first lock of a registration is the one that liburcu's own handlers do not hold.
                unsafe interposition_stop(1, "liburcu-bp")
                _ = property.value
            }
            let status = try forkBesideStopped { readsOnTwoThreads(property) }
            check(status == 0, "the child: \(status)")
            try reader.join()
            for other in others { try other.leave() }
            check(readsOnTwoThreads(property), "after the fork")
        }
    }

    @Test("P18 A thread that has read takes no lock of liburcu's when it exits")
    func whileExiting() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let property = Text(String(repeating: "text", count: 9))
            check(readsOnTwoThreads(property), "before the exit")
            // More threads than records, so that this one registers with liburcu.
            let others = (0..<2).map { _ in Parked { _ = property.value } }
            let reader = TestThread {
                _ = property.value
                // The first lock of an exit is the registry's, the second the one that a fork does not hold.
                unsafe interposition_stop(1, "liburcu-bp")
            }
            try reader.join()
            check(!interposition_has_stopped(), "the exit has taken a lock of liburcu's")
            for other in others { try other.leave() }
        }
    }

    @Test("P18 A reader that a thread has left serves the next, and is the forking thread's own in the child")
    func inheritedReader() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let property = Text(String(repeating: "text", count: 9))
            for round in 0..<20 {
                let status = Slot<Int>()
                // Each thread takes over the record and the reader of the one before, forks, and reads on in the child while values are
                // reclaimed there: a reader that liburcu has forgotten would not keep them.
                try onNewThread {
                    _ = property.value
                    status.put(
                        inChild {
                            let writer = TestThread {
                                for number in 0..<2_000 { property.value = "another text, number \(number)" }
                            }
                            for _ in 0..<2_000 where property.value.count <= 15 { return false }
                            return (try? writer.join()) != nil && readsOnTwoThreads(property)
                        }
                    )
                }
                check(status.value == 0, "the child of round \(round): \(status.value ?? -1)")
            }
        }
    }

    @Test("P18 A fork waits for a thread that uses the library for the first time")
    func whileFirstUse() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let first = TestThread {
                // The executable's: the lock of the first use.
                unsafe interposition_stop(1, "Tests")
                ObserverRegistry<Int>().observe { _ in }.cancel()
            }
            let status = try forkBesideStopped {
                let registry = ObserverRegistry<Int>()
                let token = registry.observe { _ in }
                return token.cancelAndWaitBlocking() == .finished
                    && readsOnTwoThreads(Text(String(repeating: "text", count: 9)))
            }
            check(status == 0, "the child: \(status)")
            try first.join()
        }
    }

    // The repair taken back: a known defect of `stress calibrate`.
    @Test("P18 A fork that does not wait for the first use leaves a child that waits for ever")
    func withoutTheWait() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let first = TestThread {
                unsafe interposition_stop(1, "Tests")
                ObserverRegistry<Int>().observe { _ in }.cancel()
            }
            waitUntilStopped()
            let status = Slot<Int>()
            try onNewThread {
                // The fork handlers neither take nor release the lock of the first use.
                unsafe interposition_pass("Tests")
                status.put(
                    inChild {
                        unsafe interposition_pass("")
                        Process.limitLife(seconds: 2)
                        ObserverRegistry<Int>().observe { _ in }.cancel()
                        return true
                    }
                )
            }
            check(status.value == 256 + Int(SIGALRM), "the child: \(status.value ?? -1)")
            interposition_release()
            try first.join()
        }
    }

    @Test("P18 A fork waits for a thread that makes the first registry of a type: the child makes another")
    func whileMakingTypes() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            check(readsOnTwoThreads(Text(String(repeating: "text", count: 9))), "before the fork")
            // Its own code has the runtime make the registry's type.
            let type: Any.Type = ObserverRegistry<Undelivered>.self
            let maker = TestThread {
                // The next lock of the runtime is that of a type which the registry needs.
                unsafe interposition_stop(1, "swiftCore")
                ObserverRegistry<Undelivered>().observe { _ in }.cancel()
            }
            let status = try forkBesideStopped {
                ObserverRegistry<Undelivered>().observe { _ in }.cancelAndWaitBlocking() == .finished
            }
            check(status == 0, "the child: \(status)")
            try maker.join()
            withExtendedLifetime(type) {}
        }
    }

    @Test(
        "P18 The fork handlers ask the runtime for nothing that it makes under a lock",
        arguments: Neighbours.allCases
    )
    func handlersMakeNothing(beside neighbours: Neighbours) async {
        await #expect(processExitsWith: .success) { [neighbours] in
            Process.limitLife(seconds: 60)
            let property = Text(String(repeating: "text", count: 9))
            let others = neighbours.make(property)
            property.observe { _ in }.cancel()
            unsafe interposition_count("swiftCore", false)
            let child = Process.fork()
            let count = interposition_counted()
            if child == 0 { _exit(Int32(min(count, 100))) }
            check(count == 0, "the parent's handlers have taken \(count) locks")
            let status = Process.status(of: child)
            check(status == 0, "the child's handlers have taken \(status) locks")
            for other in others { try other.leave() }
        }
    }

    @Test("P18 A thread that forks, and one that comes meanwhile, sleep while they wait")
    func waitsAsleep() async {
        await #expect(processExitsWith: .success) {
            Process.limitLife(seconds: 60)
            let property = Text(String(repeating: "text", count: 9))
            check(readsOnTwoThreads(property), "before the fork")
            let others = (0..<2).map { _ in Parked { _ = property.value } }
            let inside = TestThread {
                unsafe interposition_stop(1, "liburcu-bp")
                _ = property.value
            }
            waitUntilStopped()
            let status = Slot<Int>()
            let forker = Watched { status.put(inChild { readsOnTwoThreads(property) }) }
            check(forker.comesToSleep(), "the thread that forks does not sleep")
            // A thread of a higher priority that spun here would keep the other from its processor.
            let passer = Watched { property.observe { _ in }.cancel() }
            check(passer.comesToSleep(), "the thread that comes to the gate does not sleep")
            interposition_release()
            try inside.join()
            try forker.thread.join()
            try passer.thread.join()
            for other in others { try other.leave() }
            check(status.value == 0, "the child: \(status.value ?? -1)")
        }
    }
}

/// What other threads of the process are doing when one of them forks.
enum Neighbours: String, CaseIterable, Codable {
    case none
    /// Each has used the library, and stays.
    case idle
    /// Each stays inside a callback, deeper than a record's own frames.
    case nested
    /// The library's own threads destroy what they take over; none is done.
    case destroying
    /// Each has used what is made once in a room above, with a lock of its own.
    case registering

    fileprivate func make(_ property: Text) -> [Parked] {
        switch self {
        case .none: []
        case .idle: (0..<3).map { _ in Parked { property.observe { _ in }.cancel() } }
        case .nested:
            (0..<3).map { _ in
                Parked { stay in
                    let registry = ObserverRegistry<Int>()
                    let token = registry.observe { depth in
                        if depth < 12 { registry.notify(depth + 1) } else { stay() }
                    }
                    registry.notify(0)
                    token.cancel()
                }
            }
        case .destroying:
            [
                Parked { stay in
                    for _ in 0..<3 {
                        let capture = AtEnd(stay)
                        ObserverRegistry<Int>().observe { _ in withExtendedLifetime(capture) {} }.cancel()
                    }
                    stay()
                }
            ]
        case .registering:
            [
                Parked {
                    let owner = AtEnd {}
                    let owned = property.observe(owner: owner) { _, _ in }
                    let labelled = ObserverRegistry<Int>(label: "a registry")
                    let delivered = labelled.observe(delivery: .serial()) { _ in }
                    labelled.notify(1)
                    withExtendedLifetime((owner, owned, delivered)) {}
                }
            ]
        }
    }
}

/// A thread that has done something and then stays, with its record.
private final class Parked: Sendable {
    private let exit = Signal("the release of a thread that stays")
    private let thread: TestThread

    convenience init(_ body: @escaping @Sendable () -> Void) {
        self.init { stay in
            body()
            stay()
        }
    }

    /// - Parameter body: Gets what has the thread that calls it stay.
    init(_ body: @escaping @Sendable (_ stay: @escaping @Sendable () -> Void) -> Void) {
        let entered = Signal("the start of a thread that stays")
        thread = TestThread { [exit] in
            body {
                entered.happen()
                exit.hold()
            }
        }
        check(entered.happens(within: patience), "a thread does not start")
    }

    func leave() throws {
        exit.happen()
        try thread.join()
    }
}

/// Does something when it is destroyed.
private final class AtEnd: Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }
}
