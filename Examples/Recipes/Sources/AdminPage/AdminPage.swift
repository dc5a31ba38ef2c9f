// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveInspection

/// The text that an admin endpoint of a service answers.
struct AdminPage {
    let verdict: Derived<String>

    var text: String {
        let origins = ConcurrentObserveDiagnostics.observationsByOrigin()
        return """
            \(ConcurrentObserveDiagnostics.graph())

            \(verdict.explain())

            \(origins.map { "\($0.place): \($0.count)" }.joined(separator: "\n"))
            """
    }
}
