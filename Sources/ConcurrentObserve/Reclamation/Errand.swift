// SPDX-License-Identifier: Apache-2.0

/// Something to do, or to let go of, on a thread that may run user code: done once, as soon as one of the `Destroyers` is free. (P5)
///
/// Retire it.
internal final class Errand: Retirable, @unchecked Sendable {
    // Unchecked: written when it is made, and emptied by `reclaim`.
    private var body: (@Sendable () -> Void)?
    private var objects: [AnyObject] = []

    /// Calls `body`.
    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init()
    }

    /// Takes over the references in `objects`, and releases them.
    init(lettingGoOf objects: inout [AnyObject]) {
        super.init()
        swap(&self.objects, &objects)
    }

    override var hold: Hold { .nothing }
    override var runsUserCode: Bool { true }

    override func reclaim() {
        body.take()?()
        objects = []
    }
}
