// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An observation under test: its token, and the probe that watches its closure.
struct Subject: Sendable {
    let probe: ProbeReference
    let token: ObservationToken

    /// Runs the body of a callback between the checks that every callback under test makes. It
    /// retains the capture that shows whether the closure is destroyed.
    typealias Call = @Sendable (_ body: (Worker?) -> Void) -> Void

    /// Observes with a closure under test.
    ///
    /// - Parameters:
    ///   - atEnd: Called by the deinit of the closure's capture.
    ///   - observe: Registers a closure. Only this closure may retain the call.
    init(
        serial: UInt64,
        atEnd: (@Sendable () -> Void)? = nil,
        observing observe: (@escaping Call) -> ObservationToken
    ) {
        probe = ProbeReference.make(serial: serial)
        token = observe(Self.call(probe, Capture(probe, atEnd: atEnd)))
    }

    private static func call(_ probe: ProbeReference, _ capture: Capture) -> Call {
        { body in
            guarded(probe, body)
            withExtendedLifetime(capture) {}
        }
    }
}

extension Worker {
    /// Registers an observer that checks at its begin and at its end whether it may run.
    ///
    /// - Parameters:
    ///   - body: Called by the callback between the two checks.
    ///   - atEnd: Called by the deinit of the closure's capture.
    func observe(
        _ registry: ObserverRegistry<UInt64>,
        _ body: @escaping @Sendable (Worker?, UInt64) -> Void = { _, _ in },
        atEnd: (@Sendable () -> Void)? = nil
    ) -> Subject {
        Subject(serial: uniqueSerial(), atEnd: atEnd) { call in
            registry.observe { event in call { body($0, event) } }
        }
    }

    /// Registers an observer of a property that checks at its begin and at its end whether it may
    /// run.
    func observe<Value>(
        _ property: Observed<Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Worker?, Change<Value>) -> Void = { _, _ in }
    ) -> Subject {
        Subject(serial: uniqueSerial()) { call in
            property.observe(options: options) { change in call { body($0, change) } }
        }
    }

    /// Ends an observation with `cancelAndWait`, and checks the promises of that call. (P9)
    func cancelAndWait(_ subject: Subject) {
        begin("cancelAndWait")
        subject.probe.markEnding()
        let start = nanoseconds()
        waitsFor = subject.probe
        let outcome = subject.token.cancelAndWaitBlocking()
        waitsFor = nil
        record("cancelAndWait", nanoseconds: nanoseconds() - start)
        subject.probe.markDead()
        checkWait(for: subject, outcome)
    }
}

/// Runs the body of a callback between the checks that every callback under test makes. (P5, P9,
/// P14)
@inline(__always)
private func guarded(_ probe: ProbeReference, _ body: (Worker?) -> Void) {
    checkUserCode("callback")
    let worker = Worker.current
    checkCallable(probe, "begins", worker)
    if let worker {
        worker.note("callback", probe.serial)
        worker.notePassing(probe)
        worker.depth += 1
    }
    probe.markRunning(true)
    body(worker)
    probe.markRunning(false)
    if let worker {
        worker.depth -= 1
        worker.note("callback ends", probe.serial)
    }
    checkCallable(probe, "ends", worker)
}

/// Checks that the closure may be called at this moment.
///
/// - Parameter worker: The calling thread's worker; nil on a thread of the library.
private func checkCallable(_ probe: ProbeReference, _ moment: StaticString, _ worker: Worker?) {
    worker?.checks &+= 2
    func report(_ invariant: String, _ message: String) {
        unsafe Violations.current?.report(invariant, "a callback \(moment) \(message)", worker: worker)
    }
    if probe.isDead { report("P9.nothing-after-wait", "after cancelAndWait returned") }
    if probe.destroyed != 0 { report("P14.not-while-called", "on a closure that is destroyed") }
}

extension Worker {
    fileprivate func notePassing(_ probe: ProbeReference) {
        pass.calls += 1
        if pass.watched == probe.serial { pass.watchedCalls += 1 }
        if !pass.mustNotCall.isEmpty {
            check(!pass.mustNotCall.contains(probe.serial), "P6.not-in-this-pass") {
                "an observer that this pass has registered or cancelled is called in it"
            }
        }
    }
}
