// SPDX-License-Identifier: Apache-2.0

/// A weak reference to an object.
final class Weak<Object: AnyObject & Sendable>: Sendable {
    private weak let reference: Object?

    init(_ object: Object) { reference = object }

    var object: Object? { reference }
}
