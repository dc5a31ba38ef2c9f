// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Synchronization
import Testing

extension Promises {
    @Suite("Values that an asynchronous function computes", .timeLimit(.minutes(1)), .leavesNothingBehind)
    struct AsyncDerivedTests {}
}

extension Promises.AsyncDerivedTests {
    @Test("The value is pending, then the result; a change makes it pending before the setter returns")
    func results() async throws {
        let source = Observed(1)
        let (gate, doubled) = gated(source)
        #expect(doubled.value == nil && doubled.last == nil)
        gate.open()
        #expect(try await doubled.result() == 2)
        gate.close()
        source.value = 4
        #expect(doubled.value == nil && doubled.last == 2)
        gate.open()
        #expect(try await doubled.result() == 8)
    }

    @Test("A result that comes late replaces nothing, and its run is cancelled")
    func overtaken() async throws {
        let source = Observed(1)
        let gates = [1: Gate(), 2: Gate()]
        let cancelled = Observed(0)
        let derived = AsyncDerived(source) { number in
            await withTaskCancellationHandler {
                await gates[number]!.pass()
            } onCancel: {
                cancelled.value = number
            }
            return number
        }
        let results = Mutex<[Int?]>([])
        let token = derived.observe { change in results.withLock { $0.append(try? change.new?.get()) } }
        source.value = 2
        #expect(try await cancelled.first { $0 != 0 } == 1)
        gates[2]!.open()
        #expect(try await derived.result() == 2)
        gates[1]!.open()
        try await whenQuiet()
        #expect(derived.last == 2)
        #expect(results.withLock { $0 } == [nil, 2])
        token.cancel()
    }

    @Test("A failure keeps the last good result, and the next change runs again")
    func failure() async throws {
        struct Odd: Error, Equatable {}
        let source = Observed(2)
        let derived = AsyncDerived(source) { number in
            if number % 2 == 1 { throw Odd() }
            return number
        }
        #expect(try await derived.result() == 2)
        source.value = 3
        await #expect(throws: Odd.self) { try await derived.result() }
        guard case .failure(is Odd) = derived.value else {
            Issue.record("\(String(describing: derived.value))")
            return
        }
        #expect(derived.last == 2)
        source.value = 4
        #expect(try await derived.result() == 4)
    }

    @Test("Released, it cancels its run and ends its observations")
    func released() async throws {
        let gate = Gate()
        let isCancelled = Observed(false)
        let source = Observed(1)
        let end = Observed<ObservationEnd?>(nil)
        var derived: AsyncDerived? = AsyncDerived(source) { number in
            await withTaskCancellationHandler {
                await gate.pass()
            } onCancel: {
                isCancelled.value = true
            }
            return number
        }
        let token = derived!.observe { _ in }
        token.onEnd { end.value = $0 }
        derived = nil
        #expect(try await isCancelled.first { $0 })
        #expect(try await end.first { $0 != nil } == .sourceDeleted)
        gate.open()
        source.value = 2
        try await whenQuiet()
        #expect(source.observationCount == 0)
    }

    @Test("It computes from a derived value of several properties, which nothing else keeps")
    func several() async throws {
        let (host, port) = (Observed("a"), Observed(1))
        let address = AsyncDerived(Derived(host, port) { "\($0):\($1)" }) { address in
            await Task.yield()
            return address
        }
        #expect(try await address.result() == "a:1")
        port.value = 2
        #expect(try await address.result() == "a:2")
        let upper = Derived(address) { (try? $0?.get())?.uppercased() ?? "" }
        #expect(upper.value == "A:2")
    }

    @Test("It may be made in the body of a change and of a commit")
    func inBodies() async throws {
        let (source, other) = (Observed(1), Observed(0))
        let first = other.modify { _ in AsyncDerived(source) { $0 } }
        let second = Group(other, Observed(0)).commit { _ in AsyncDerived(source) { $0 } }
        #expect(try await first.result() == 1)
        #expect(try await second.result() == 1)
    }

    @Test("An observer of the value that sets the source again leaves one run, of the last value")
    func setsAgain() async throws {
        let source = Observed(0)
        let begun = Mutex<[Int]>([])
        let derived = AsyncDerived(source) { number in
            begun.withLock { $0.append(number) }
            return number
        }
        #expect(try await derived.result() == 0)
        let token = derived.observe { change in if change.new == nil, source.value == 1 { source.value = 2 } }
        source.value = 1
        #expect(try await derived.result() == 2)
        try await whenQuiet()
        #expect(begun.withLock { $0 } == [0, 2])
        token.cancel()
    }

    @Test("The task-local values of the setter reach the function")
    func taskLocals() async throws {
        enum Trace { @TaskLocal static var id = 0 }
        let source = Observed(1)
        let ids = AsyncDerived(source) { _ in Trace.id }
        #expect(try await ids.result() == 0)
        Trace.$id.withValue(7) { source.value = 2 }
        #expect(try await ids.result() == 7)
    }

    @Test("Writers race: the last result is that of the last value, and results come in order")
    func races() async throws {
        let source = Observed(1)
        let derived = AsyncDerived(source) { number in
            for _ in 0..<number % 4 { await Task.yield() }
            return number
        }
        let last = Mutex(0)
        let token = derived.observe(delivery: .serial()) { change in
            guard case .success(let number) = change.new else { return }
            last.withLock { last in
                #expect(number > last)
                last = number
            }
        }
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<2_000 { source.modify { $0 += 1 } } }
            }
        }
        #expect(try await derived.result() == 8_001)
        await token.flush()
        #expect(last.withLock { $0 } == 8_001)
    }

    private func gated(_ source: Observed<Int>) -> (Gate, AsyncDerived<Int>) {
        let gate = Gate()
        return (
            gate,
            AsyncDerived(source) { number in
                await gate.pass()
                return number * 2
            }
        )
    }
}

/// Lets tasks pass while it is open. A cancelled task waits like any other.
private final class Gate: Sendable {
    private let isOpen = Observed(false)

    func open() { isOpen.value = true }
    func close() { isOpen.value = false }

    func pass() async {
        // In a task of its own, which no other cancels.
        await Task.detached { [isOpen] in _ = try? await isOpen.first { $0 } }.value
    }
}
