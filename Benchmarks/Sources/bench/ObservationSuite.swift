// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Observation
import Synchronization

/// Compares with the standard library's Observation, whose classes belong to one thread or actor at
/// a time. It does less than a property.
enum ObservationSuite {
    static let cases = [tracked, observations]

    /// A change with one observer. Their observer is called before the change and only once, and
    /// must be registered again for the next change.
    private static let tracked = Case(name: "observation.set.1-observer", unit: .nanoseconds, bar: .setOfObservation) {
        effort in
        let (property, model) = (Observed(0), Model())
        let counter = Counter()
        let token = property.observe { change in counter.value &+= change.new }
        let (times, fewer) = (effort.work(400_000), effort.work(50_000))
        return Case.Sides(
            ours: { withExtendedLifetime(token) { nanoseconds { setInLoop(property, times) } } / Double(times) },
            reference: { nanoseconds { model.setTracked(fewer) } / Double(fewer) }
        )
    }

    /// The time from a change until a task has received it from its sequence, one change at a time.
    /// Their change is made on the actor that owns the object.
    private static let observations = Case(
        name: "observations.round-trip",
        unit: .nanoseconds,
        bar: .compared("two threads wake each other: it is the scheduler's time"),
        summary: .median
    ) { effort in
        let (property, model) = (Observed(0), DomainModel())
        let values = property.values(options: .initial)
        let ours = Listener { listener in for await value in values { listener.receive(value) } }
        let theirs = Listener { listener in await model.listen(listener) }
        let times = effort.work(20_000)
        return Case.Sides(
            ours: { roundTrips(times, ours) { property.value = $0 } },
            reference: { roundTrips(times, theirs) { model.set($0) } }
        )
    }

    private static func roundTrips(_ times: Int, _ listener: Listener, _ set: (Int) -> Void) -> Double {
        var isReceived = true
        let first = listener.next
        let time = nanoseconds {
            for value in first..<first + times where isReceived {
                set(value)
                isReceived = listener.wait(for: value)
            }
        }
        return isReceived ? time / Double(times) : .nan
    }
}

/// A task that receives values from a sequence.
private final class Listener: Sendable {
    private let received = Atomic<Int>(-1)
    private let signal = DispatchSemaphore(value: 0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Starts the task. Returns when it has received the present value of the sequence, zero.
    init(_ listen: @escaping @Sendable (Listener) async -> Void) {
        task.withLock { [unowned self] in $0 = Task.detached { await listen(self) } }
        _ = wait(for: 0)
    }

    deinit { task.withLock { $0?.cancel() } }

    /// The next value to send. Relaxed: the semaphore orders it.
    var next: Int { received.load(ordering: .relaxed) + 1 }

    func receive(_ value: Int) {
        received.store(value, ordering: .relaxed)
        signal.signal()
    }

    /// Waits until the task has received the value.
    ///
    /// - Returns: Whether the value was delivered within a second.
    func wait(for value: Int) -> Bool {
        while signal.wait(timeout: .now() + 1) == .success {
            if received.load(ordering: .relaxed) >= value { return true }
        }
        return false
    }
}

@globalActor
private actor Domain {
    static let shared = Domain()
}

/// Observation's sequence must not be used across isolation domains. It begins to track again when
/// a change is about to be made, and would miss the change itself.
@Domain @Observable
private final class DomainModel {
    var value = 0
    nonisolated init() {}

    func listen(_ listener: Listener) async {
        for await value in Observations({ self.value }) { listener.receive(value) }
    }

    nonisolated func set(_ value: Int) {
        Task { @Domain in self.value = value }
    }
}

@Observable
private final class Model {
    var value = 0
    @ObservationIgnored private let counter = Counter()

    @inline(never)
    func setTracked(_ times: Int) {
        for value in 0..<times {
            withObservationTracking {
                _ = self.value
            } onChange: { [counter] in
                counter.value &+= 1
            }
            self.value = value
        }
    }
}
