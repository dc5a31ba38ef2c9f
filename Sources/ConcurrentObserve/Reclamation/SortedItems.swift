// SPDX-License-Identifier: Apache-2.0

/// What a pass has taken, sorted by what there is to do: each item is looked at once, on the way.
internal struct SortedItems {
    /// Tasks of the reclamation thread, which come before anything else.
    private var tasks = RetiredList()
    /// What the deinit threads reclaim, unless a frame has it as its current observer. Neighbours
    /// of one source are together.
    private var observers: [SourceItems] = []
    /// The last of these, which is still growing.
    private var latest = SourceItems(source: 0)
    private var observerCount = 0
    /// Anything else: most of all what frames pin.
    var others = RetiredList()
    private(set) var needsGracePeriod = false

    /// Items of one source.
    struct SourceItems {
        var items = RetiredList()
        let source: UInt
    }

    /// What was swept from magazines.
    var references: [UInt] = []

    /// What was taken from rings.
    var sourcedReferences: [SourcedReference] = []

    /// How many items and references there are, without tasks.
    var count: Int { observerCount + others.count + references.count + sourcedReferences.count }

    /// - Parameter doesTasks: Whether `doTasks` is still to come.
    mutating func append(_ item: RetiredItem, doesTasks: Bool = true) {
        switch item.hold {
        case .pin:
            needsGracePeriod = true
            others.append(item)
        case .current where item.runsUserCode, .nothing where item.runsUserCode:
            observerCount += 1
            let source = item.queueSource
            if source != latest.source { beginObservers(of: source) }
            latest.items.append(item)
        case .nothing where doesTasks:
            tasks.append(item)
        case .current, .nothing, .validatedPin:
            others.append(item)
        }
    }

    private mutating func beginObservers(of source: UInt) {
        if latest.items.count > 0 { observers.append(latest) }
        latest = SourceItems(source: source)
    }

    /// Hands the observers over.
    mutating func takeObservers() -> [SourceItems] {
        beginObservers(of: 0)
        defer { observers = [] }
        return observers
    }

    /// - Returns: How many tasks there were.
    mutating func doTasks() -> Int {
        let count = tasks.count
        while let task = tasks.popFirst() {
            task.reclaim()
            task.release()
        }
        return count
    }
}

extension RetiredItem {
    /// The source by which an item that runs user code is queued.
    internal var queueSource: UInt { queuedSource(source) }
}

extension SourcedReference {
    internal var queueSource: UInt { queuedSource(source) }
}

private func queuedSource(_ source: UInt) -> UInt {
    return source
}
