// SPDX-License-Identifier: Apache-2.0

/// A cycle of two bindings through a path. All threads set multiples of 64. Each binding adds one
/// to a number, so a number that has come round is not a multiple.
final class CycleThroughPath: Sendable {
    /// The property to which the cycle leads back.
    enum Back: Sendable { case toNumber, toEnd }

    private let root = PathRoot(PathEnd(0))
    private let other = Observed<UInt64>(0)
    private let back: Back
    private let tokens: [ObservationToken]

    init(back: Back) {
        self.back = back
        let (root, middle) = (root, root.middle.value)
        let number = middle.end.value!.number
        let there = root.property(\.middle.end.number).bind(to: other) { value in
            // A cycle that does not end is stopped.
            if value! % 64 > 32 { root.cancelAllObservations() }
            return value! + 1
        }
        switch back {
        case .toNumber:
            tokens = [
                there, other.bind(to: number) { $0 + 1 },
                number.observe { change in Self.check(change.old!, change.new) },
            ]
        case .toEnd:
            tokens = [
                there, other.bind(to: middle.end) { PathEnd($0 + 1) },
                middle.end.observe { change in Self.check(change.old!!.number.value, change.new!.number.value) },
            ]
        }
    }

    func set(_ value: UInt64) {
        switch back {
        case .toNumber: root.middle.value.end.value!.number.value = value
        case .toEnd: root.middle.value.end.value = PathEnd(value)
        }
    }

    /// Checks the value that a change has replaced.
    private static func check(_ old: UInt64, _ new: UInt64) {
        Worker.current?.check(new % 64 == 0 || old == new - 2, "P3.no-echo") {
            "\(new) has come round to \(old), which another thread has set"
        }
    }

    /// Checks the values that have come round. All setters must have returned.
    func check(_ worker: Worker) {
        // A thread of the library may still be passing on replacements, if these kept racing.
        guard back == .toNumber, tokens[0].isActive else { return }
        worker.check(root.present % 64 == 2 && other.value == root.present - 1, "P3.destination-follows") {
            "what came round a path is \(root.present), what it was made of \(other.value)"
        }
    }
}
