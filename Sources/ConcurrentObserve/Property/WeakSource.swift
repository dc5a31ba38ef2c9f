// SPDX-License-Identifier: Apache-2.0

/// A property, referred to weakly: its sources are not retained. One of a type that the library does not know is. (P11)
@usableFromInline
internal struct WeakSource<Source: ObservableProperty>: Sendable {
    /// The source; nil once it is gone. What it needs to be read may be gone before.
    let find: @Sendable () -> Source?
    /// Retains what the source needs to be read; false if some of it is gone.
    let hold: @Sendable (inout HeldSources) -> Bool

    init(find: @escaping @Sendable () -> Source?, hold: @escaping @Sendable (inout HeldSources) -> Bool) {
        (self.find, self.hold) = (find, hold)
    }

    init(_ source: Source) {
        guard let source = source as? any WeaklyNamed else {
            self.init(find: { source }, hold: { _ in true })
            return
        }
        self = Self.made(by: source)
    }

    private static func made<Named: WeaklyNamed>(by source: Named) -> WeakSource {
        // Safe to force: the caller has the source as a `Source`.
        source.weakSource as! WeakSource
    }

    /// The source is `make` of an object, which it needs.
    init<Object: AnyObject & Sendable>(
        _ object: Object,
        _ make: @escaping @Sendable (Object) -> Source
    ) {
        let reference = WeakReference(object)
        self.init(
            find: { reference.object(as: Object.self).map(make) },
            hold: { held in held.add(reference.object) }
        )
    }

    /// The source, for who holds it.
    var present: Source { find()! }

    /// Calls `body` with the source, which is held meanwhile; nil if it is gone.
    func withHeld<Result>(for owner: AnyObject, _ body: (Source) -> Result) -> Result? {
        var held = HeldSources()
        defer { held.release(for: owner) }
        return hold(&held) ? body(present) : nil
    }
}

/// What is retained while such properties are read.
@usableFromInline
internal struct HeldSources {
    private var objects: [AnyObject] = []

    /// Returns false if there is no object.
    mutating func add(_ object: AnyObject?) -> Bool {
        guard let object else { return false }
        objects.append(object)
        return true
    }

    /// Releases them. A last reference is released elsewhere: what goes with it runs user code. (P5)
    mutating func release(for owner: AnyObject) {
        var last: [AnyObject] = []
        while !objects.isEmpty {
            // The only copy: a pattern would have another.
            var object: AnyObject? = objects.removeLast()
            if isKnownUniquelyReferenced(&object) { last.append(object!) }
        }
        if !last.isEmpty { ThreadRecord.retire(DeferredAction(for: owner, releasing: &last)) }
    }
}

/// A source that can be referred to weakly.
internal protocol WeaklyNamed: ObservableProperty {
    var weakSource: WeakSource<Self> { get }
}

extension Observed: WeaklyNamed {
    var weakSource: WeakSource<Observed> { WeakSource(self) { $0 } }
}

extension WeakObserved: WeaklyNamed {
    var weakSource: WeakSource<WeakObserved> { WeakSource(self) { $0 } }
}

extension ReadOnly: WeaklyNamed {
    var weakSource: WeakSource<ReadOnly> { WeakSource(property) { ReadOnly($0) } }
}

extension RemovingDuplicates: WeaklyNamed {
    var weakSource: WeakSource<RemovingDuplicates> {
        let base = WeakSource(self.base)
        return WeakSource(find: { base.find().map { RemovingDuplicates($0) } }, hold: base.hold)
    }
}
