// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import OpenCombine

/// Measures the ways to notify that other programs use.
enum PeerNotifySuite {
    static let cases = [
        combine(1, .notifyOneOfCombine), combine(10, .notifyTenOfCombine), combine(100, .notifyHundredOfCombine),
        combine(10_000, .notifyHundredOfCombine),
        center(1, .notifyOneOfCenter), center(10, .notifyManyOfCenter), center(100, .notifyManyOfCenter),
        center(10_000, .notifyManyOfCenter),
        actor(1), actor(100),
    ]

    private static func combine(_ count: Int, _ bar: Bar) -> Case {
        versus("opencombine.notify.\(count)-observers", count, bar) { ObservedSubject(count).notify }
    }

    private static func center(_ count: Int, _ bar: Bar) -> Case {
        versus("notificationcenter.notify.\(count)-observers", count, bar) { ObservedCenter(count).notify }
    }

    /// Returns a case in which the caller awaits each notification, because an actor requires it.
    private static func actor(_ count: Int) -> Case {
        versus("actor.notify.\(count)-observers", count, .notifyOfActor) { ActorList(count).notify }
    }

    private static func versus(
        _ name: String,
        _ count: Int,
        _ bar: Bar,
        _ peer: @escaping @Sendable () -> (_ events: Int) -> Void
    ) -> Case {
        Case(name: name, unit: .nanoseconds, bar: bar) { effort in
            let observed = ObservedCounters(count)
            let notifyPeer = peer()
            let events = effort.work(4_000_000 / (count + 1))
            let fewer = max(1, effort.work(400_000 / (count + 1)))
            return Case.Sides(
                ours: { nanoseconds { observed.notify(events) } / Double(events) },
                reference: { nanoseconds { notifyPeer(fewer) } / Double(fewer) }
            )
        }
    }
}

/// A subject with sinks. Each sink has its own counter.
private final class ObservedSubject {
    private let subject = PassthroughSubject<Int, Never>()
    private var sinks: [AnyCancellable] = []

    init(_ count: Int) {
        for _ in 0..<count {
            let counter = Counter()
            sinks.append(subject.sink { event in counter.value &+= event })
        }
    }

    @inline(never)
    func notify(_ events: Int) {
        for event in 0..<events { subject.send(event) }
    }
}

/// A notification center with observers. Each observer has its own counter. The notifications have
/// no value, so the center does less than the others.
private final class ObservedCenter {
    private let center = NotificationCenter()
    private let name = Notification.Name("changed")
    private var tokens: [any NSObjectProtocol] = []

    init(_ count: Int) {
        for _ in 0..<count {
            let counter = Counter()
            tokens.append(center.addObserver(forName: name, object: nil, queue: nil) { _ in counter.value &+= 1 })
        }
    }

    deinit {
        for token in tokens { center.removeObserver(token) }
    }

    @inline(never)
    func notify(_ events: Int) {
        for _ in 0..<events { center.post(name: name, object: nil) }
    }
}

/// An actor that holds closures and calls them.
private final class ActorList {
    private actor Observers {
        private let closures: [@Sendable (Int) -> Void]

        init(_ closures: [@Sendable (Int) -> Void]) { self.closures = closures }

        func notify(_ event: Int) {
            for closure in closures { closure(event) }
        }
    }

    private let observers: Observers

    init(_ count: Int) {
        observers = Observers(
            (0..<count).map { _ in
                let counter = Counter()
                return { event in counter.value &+= event }
            }
        )
    }

    func notify(_ events: Int) {
        let isDone = DispatchSemaphore(value: 0)
        Task.detached { [observers] in
            for event in 0..<events { await observers.notify(event) }
            isDone.signal()
        }
        isDone.wait()
    }
}
