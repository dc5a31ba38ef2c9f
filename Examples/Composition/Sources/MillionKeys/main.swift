// SPDX-License-Identifier: Apache-2.0
//
// Sessions by their numbers: some are observed, one by one, while threads change any of them.
//
//   MillionKeys                    with 20,000 sessions; prints what must always be the same
//   MillionKeys SESSIONS OBSERVED  measures, beside a dictionary and its closures behind a mutex

import ConcurrentObserve
import ConcurrentObserveCollections
import Dispatch
import Synchronization

struct Session: Sendable {
    var user: Int
    var requests = 0
}

/// The least that does the same: each change takes the lock, and calls the key's closure after it.
final class LockedSessions: Sendable {
    private let state: Mutex<(sessions: [Int: Session], observers: [Int: @Sendable (Session) -> Void])>

    init(_ sessions: [Int: Session]) { state = Mutex((sessions, [:])) }

    func observe(_ number: Int, _ body: @escaping @Sendable (Session) -> Void) {
        state.withLock { $0.observers[number] = body }
    }

    func countRequest(of number: Int) {
        let (session, observer) = state.withLock { state in
            state.sessions[number]!.requests += 1
            return (state.sessions[number]!, state.observers[number])
        }
        observer?(session)
    }

    func read(_ number: Int) -> Session? { state.withLock { $0.sessions[number] } }
}

// In functions: closures at the top level of a program belong to the main actor, and would trap on
// another thread.

func sessions(_ count: Int) -> [Int: Session] {
    Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, Session(user: $0)) })
}

func show() {
    let sessions = ObservedDictionary(PersistentDictionary(sessions(20_000)))
    let seen = Atomic(0)
    let tokens = (0..<100).map { number in
        sessions[number * 200].observe { _ in seen.wrappingAdd(1, ordering: .relaxed) }
    }
    // Each session once, on two threads: a change of a session without an observer calls none.
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
        for number in stride(from: thread, to: 20_000, by: 2) { sessions[number].modify { $0!.requests += 1 } }
    }
    print("\(sessions.contents.version) changes, \(seen.load(ordering: .relaxed)) calls of \(tokens.count) observers")

    let before = sessions.contents.value
    sessions[7].value = nil
    sessions[20_000].value = Session(user: 20_000)
    let difference = sessions.contents.value.difference(from: before)
    print("ended: \(difference.removed.map(\.key)), begun: \(difference.inserted.map(\.key))")
    print("\(before.count) sessions before, \(sessions.contents.value.count) now")
}

/// Nanoseconds for each of `count` calls, `body`'s threads together.
func time(_ count: Int, threads: Int, _ body: @Sendable (Int) -> Void) -> Double {
    let clock = ContinuousClock()
    let elapsed = clock.measure {
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            var number = UInt64(thread + 1)
            for _ in 0..<count / threads {
                // A different session each time, far from the last one.
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                body(Int(number >> 33))
            }
        }
    }
    return elapsed / .nanoseconds(1) / Double(count)
}

func measure(_ count: Int, observed: Int) {
    let ours = ObservedDictionary(PersistentDictionary(sessions(count)))
    let locked = LockedSessions(sessions(count))
    let calls = Atomic(0)
    var tokens: [ObservationToken] = []
    var table: [(name: String, times: [(ours: Double, locked: Double)])] = []
    for isObserved in [false, true] {
        if isObserved {
            for index in 0..<observed {
                let number = index * (count / observed)
                tokens.append(ours[number].observe { _ in calls.wrappingAdd(1, ordering: .relaxed) })
                locked.observe(number) { _ in calls.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        for threads in [1, 2] {
            var times: [(ours: Double, locked: Double)] = []
            for _ in 0..<7 {
                times.append(
                    (
                        time(100_000, threads: threads) { number in ours[number % count].modify { $0!.requests += 1 } },
                        time(100_000, threads: threads) { number in locked.countRequest(of: number % count) }
                    )
                )
            }
            table.append(("change, \(isObserved ? observed : 0) observed, threads: \(threads)", times))
        }
    }
    for threads in [1, 2] {
        var times: [(ours: Double, locked: Double)] = []
        for _ in 0..<7 {
            times.append(
                (
                    time(400_000, threads: threads) { number in _ = ours[number % count].value },
                    time(400_000, threads: threads) { number in _ = locked.read(number % count) }
                )
            )
        }
        table.append(("read, threads: \(threads)", times))
    }
    for (name, times) in table {
        let ours = times.map(\.ours).sorted(), ratios = times.map { $0.ours / $0.locked }.sorted()
        let figures = [ours[0], ours[3], ours[6]].map { "\(Int($0))" }.joined(separator: " … ")
        let multiples = [ratios[0], ratios[3], ratios[6]].map { "\((10 * $0).rounded() / 10)" }.joined(separator: " … ")
        print("\(name): \(figures) ns, \(multiples) × a dictionary behind a mutex (least, median, most)")
    }
    withExtendedLifetime(tokens) {}
}

switch CommandLine.arguments.dropFirst().map({ Int($0) }) {
case []: show()
case let numbers where numbers.count == 2 && numbers.allSatisfy { $0 ?? 0 > 0 } && numbers[0]! >= numbers[1]!:
    measure(numbers[0]!, observed: numbers[1]!)
default: fatalError("usage: MillionKeys [SESSIONS OBSERVED]")
}
