// SPDX-License-Identifier: Apache-2.0

/// An action, or the release of some references, on a thread that may run user code: done once, as
/// soon as one of the `DeinitThreads` is free. (P5)
///
/// Retire it.
internal final class DeferredAction: Retirable, @unchecked Sendable {
    // Unchecked: written when it is made, and emptied by `reclaim`.
    private var body: (@Sendable () -> Void)?
    private var objects: [AnyObject] = []

    /// The source that it belongs to.
    private let owner: UInt

    /// Calls `body`, for `owner`.
    init(for owner: AnyObject, _ body: @escaping @Sendable () -> Void) {
        self.body = body
        self.owner = Self.source(of: owner)
        super.init()
    }

    /// Takes over the references in `objects`, and releases them. Other actions for `owner` do not
    /// wait for the release.
    init(for owner: AnyObject, releasing objects: inout [AnyObject]) {
        self.owner = Self.source(of: owner) | 1
        super.init()
        swap(&self.objects, &objects)
    }

    private static func source(of owner: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(owner)) }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }
    override var source: UInt { owner }

    override func reclaim() {
        body.take()?()
        objects = []
    }
}
