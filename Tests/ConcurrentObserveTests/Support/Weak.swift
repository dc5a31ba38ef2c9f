// SPDX-License-Identifier: Apache-2.0

/// An object that is not kept.
final class Weak<Object: AnyObject & Sendable>: Sendable {
    private weak let reference: Object?

    init(_ object: Object) { reference = object }

    var object: Object? { reference }
}
