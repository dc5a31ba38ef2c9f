// SPDX-License-Identifier: Apache-2.0

extension Scenario {
    /// All threads change one property in all possible ways. The changes that its observers receive
    /// must be one chain without gaps.
    static let mutationStorm = Scenario(
        name: "mutation-storm",
        summary: "writers set, exchange and modify one property: its changes chain, and no observer misses one",
        invariants: [
            "P1.every-change-once", "P1.own-observer-receives", "P2.versions-without-gaps", "P2.old-is-last-new",
            "P2.as-asked", "P2.prior-ahead", "P3.last-value", "P9.outcome", "P9.closure-destroyed",
        ] + checkedInCallbacks + checkedAtRest,
        windows: ["another change was published before this was delivered", "set in a callback", "a boxed value"]
    ) { round in
        // One property stores its values in itself, the other one in boxes.
        let small = Storm<UInt64>(round) { $0 }
        let boxed = Storm<BoxedNumber>(round) { BoxedNumber($0) }
        round.load { worker in
            if worker.generator.oneIn(2) {
                small.step(worker)
            } else {
                worker.hit(2)
                boxed.step(worker)
            }
        }
        small.check(round)
        boxed.check(round)
        round.checkRest()
    }
}

/// One property, the changes that its permanent observers have received, and the actions of the
/// threads on it.
private final class Storm<Value: Distinct>: Sendable {
    private let property: Observed<Value>
    private let logs: [Log]
    private let tokens: [ObservationToken]
    private let make: @Sendable (UInt64) -> Value

    init(_ round: Round, _ make: @escaping @Sendable (UInt64) -> Value) {
        let property = Observed(make(0))
        let logs = (0..<round.threads).map { _ in Log() }
        tokens = standingObservers(of: property, logs, make)
        (self.property, self.logs, self.make) = (property, logs, make)
    }

    func step(_ worker: Worker) {
        let log = logs[worker.index]
        switch worker.generator.below(8) {
        case 0..<4:
            worker.begin("set")
            log.announced += 1
            property.value = make(worker.uniqueSerial())
        case 4:
            worker.begin("exchange")
            log.announced += 1
            property.exchange(make(worker.uniqueSerial()))
        case 5, 6:
            worker.begin("modify")
            let value = make(worker.uniqueSerial())
            property.modify { $0 = value }
        default:
            worker.begin("observe")
            let number = worker.uniqueSerial()
            log.ownCalls = 0
            let subject = worker.observe(property) { [logs] worker, change in
                if change.new.serial == number { worker.map { logs[$0.index].ownCalls += 1 } }
            }
            log.announced += 1
            property.value = make(number)
            worker.check("the number of calls for its own change", log.ownCalls, is: 1, "P1.own-observer-receives")
            worker.cancelAndWait(subject)
        }
        if log.lastReceived < property.version { worker.hit(0) }
        if log.nested > 0 { worker.hit(1) }
    }

    func check(_ round: Round) {
        let (last, version) = property.snapshot()
        checkChain(round, logs, version, last.serial)
        for token in tokens { token.cancelAndWaitBlocking() }
    }
}

/// The changes that the callbacks of one thread have received. Only this thread writes it. It is
/// read when the thread has ended.
private final class Log: @unchecked Sendable {
    // Unchecked: one thread writes it. Others read it after they have joined that thread.
    var chain: [ChainLink] = []
    /// The number of calls of each permanent observer, and the sum of the versions.
    var received = [(calls: UInt64, versions: UInt64)](repeating: (0, 0), count: 4)
    var priors = 0
    /// The number of changes that have a prior delivery.
    var announced = 0
    var ownCalls = 0
    var nested = 0
    var lastReceived: UInt64 = 0
}

/// Makes observers that stay. The first one receives prior deliveries, and sometimes sets the
/// property itself.
private func standingObservers<Value: Distinct>(
    of property: Observed<Value>,
    _ logs: [Log],
    _ make: @escaping @Sendable (UInt64) -> Value
) -> [ObservationToken] {
    let choices: [ObservationOptions] = [.prior, [], [], []]
    return choices.enumerated().map { index, options in
        property.observe(options: options) { [weak property] change in
            checkUserCode("callback")
            guard let worker = Worker.current else { return }
            let log = logs[worker.index]
            worker.check(
                change.reason == .valueChanged || change.reason == .prior && options.contains(.prior),
                "P2.as-asked",
                "received \(change.reason), asked for \(options.rawValue)"
            )
            worker.check((change.old != nil) == (change.reason == .valueChanged), "P2.as-asked") {
                "received \(change.reason), with an old value: \(change.old != nil)"
            }
            guard let old = change.old else { return log.priors += 1 }
            log.received[index].calls += 1
            log.received[index].versions &+= change.version
            log.lastReceived = change.version
            guard index == 0 else { return }
            log.chain.append((change.version, old.serial, change.new.serial))
            guard worker.depth == 0, worker.generator.oneIn(64) else { return }
            worker.depth += 1
            log.nested += 1
            log.announced += 1
            property?.value = make(worker.uniqueSerial())
            worker.depth -= 1
        }
    }
}

/// Checks at rest that the changes are one chain, and that every observer has received each of them
/// once.
private func checkChain(_ round: Round, _ logs: [Log], _ version: UInt64, _ last: UInt64) {
    guard round.violations.isEmpty else { return }
    let chain = logs.flatMap(\.chain)
    let gaps = "P2.versions-without-gaps"
    guard round.check(chain, from: 0, to: last, versions: gaps, old: "P2.old-is-last-new", last: "P3.last-value")
    else { return }
    round.check("the number of changes", UInt64(chain.count), is: version, gaps)
    for index in 0..<4 {
        let calls = logs.reduce(0) { $0 &+ $1.received[index].calls }
        let versions = logs.reduce(0) { $0 &+ $1.received[index].versions }
        round.check(calls == version && versions == version &* (version &+ 1) / 2, "P1.every-change-once") {
            "observer \(index) received \(calls) of \(version) changes, sum of their versions \(versions)"
        }
    }
    let announced = logs.reduce(0) { $0 + $1.announced }
    round.check("the number of prior deliveries", logs.reduce(0) { $0 + $1.priors }, is: announced, "P2.prior-ahead")
}
