// SPDX-License-Identifier: Apache-2.0

/// An action, or a release of references, that may run user code. A deinit thread performs it once,
/// as soon as one is free. The creator must retire it. (P5)
internal final class DeferredAction: Retirable, @unchecked Sendable {
    // Unchecked: written by the initializer, and emptied by `reclaim`.
    private var body: (@Sendable () -> Void)?
    private var objects: [AnyObject] = []

    /// Identifies the source of the action: see `sourceAddress`. The lowest bit is set in actions
    /// that release references. These have their own queue, so other actions do not wait for them.
    private let owner: UInt

    /// Creates an action that calls `body` for `owner`.
    init(for owner: AnyObject, _ body: @escaping @Sendable () -> Void) {
        self.body = body
        self.owner = Self.address(of: owner)
        super.init()
    }

    /// Creates an action that releases the references in `objects`. Takes over these references
    /// from the caller. Other actions for `owner` do not wait for the release.
    init(for owner: AnyObject, releasing objects: inout [AnyObject]) {
        self.owner = Self.address(of: owner) | 1
        super.init()
        swap(&self.objects, &objects)
    }

    private static func address(of owner: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(owner)) }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }
    override var sourceAddress: UInt { owner }

    override func reclaim() {
        body.take()?()
        objects = []
    }
}
