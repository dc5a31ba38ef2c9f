// SPDX-License-Identifier: Apache-2.0

// An *item* is a retired object: see `Retirable`. A *pass* takes all items, scans the hazard
// pointers of all threads (in their frames), and reclaims the items that no frame holds. The
// comment at the top of `ReclamationThread.swift` explains this folder.

/// The items that a pass has taken, sorted by what must be done with them. Each item is examined
/// once, when it is taken.
internal struct SortedItems {
    /// Tasks of the reclamation thread. They run before anything else.
    private var tasks = RetiredList()
    /// Items that the deinit threads reclaim, unless a frame has them as its current observer.
    /// Consecutive items of one source are together. Most items are observers; the others are
    /// instances of `DeferredAction` and `Discarded`, which no frame holds.
    private var withUserCode: [SourceItems] = []
    /// The element of `withUserCode` to which items are being added.
    private var latest = SourceItems(sourceAddress: 0)
    private var withUserCodeCount = 0
    /// The other items. Most of them can be pinned by frames.
    var others = RetiredList()
    private(set) var needsGracePeriod = false

    /// Consecutive items of one source that the deinit threads reclaim.
    struct SourceItems {
        var items = RetiredList()
        let sourceAddress: UInt
    }

    /// The references that were swept from magazines.
    var references: [UInt] = []

    /// The references that were taken from the rings of the threads, each with its source.
    var sourcedReferences: [SourcedReference] = []

    /// The number of items and references, without the items in `tasks`.
    var count: Int { withUserCodeCount + others.count + references.count + sourcedReferences.count }

    /// Adds an item.
    ///
    /// - Parameter doesTasks: Whether `doTasks` is still to be called. If not, a task is added to
    ///   `others`.
    mutating func append(_ item: RetiredItem, doesTasks: Bool = true) {
        switch item.hold {
        case .pin:
            needsGracePeriod = true
            others.append(item)
        case .current where item.runsUserCode, .nothing where item.runsUserCode:
            withUserCodeCount += 1
            let source = item.sourceAddress
            if source != latest.sourceAddress { beginItemsWithUserCode(of: source) }
            latest.items.append(item)
        case .nothing where doesTasks:
            tasks.append(item)
        case .current, .nothing, .validatedPin:
            others.append(item)
        }
    }

    private mutating func beginItemsWithUserCode(of source: UInt) {
        if latest.items.count > 0 { withUserCode.append(latest) }
        latest = SourceItems(sourceAddress: source)
    }

    /// Takes out all items of `withUserCode` and of `latest`.
    mutating func takeItemsWithUserCode() -> [SourceItems] {
        beginItemsWithUserCode(of: 0)
        defer { withUserCode = [] }
        return withUserCode
    }

    /// Runs the tasks.
    ///
    /// - Returns: The number of tasks.
    mutating func doTasks() -> Int {
        let count = tasks.count
        while let task = tasks.popFirst() {
            task.reclaim()
            task.release()
        }
        return count
    }
}
