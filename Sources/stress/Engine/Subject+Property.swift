// SPDX-License-Identifier: Apache-2.0

extension Worker {
    /// Registers an observer of a property that checks, at its begin and its end, that it may run.
    func observe<Value>(
        _ property: Observed<Value>,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Worker?, Change<Value>) -> Void = { _, _ in }
    ) -> Subject {
        let probe = ProbeReference.make(serial: uniqueSerial())
        let capture = Capture(probe)
        let token = property.observe(options: options) { change in
            guarded(probe) { worker in body(worker, change) }
            withExtendedLifetime(capture) {}
        }
        return Subject(probe: probe, token: token)
    }
}
