// SPDX-License-Identifier: Apache-2.0

/// A weak reference to a property. It retains neither the property nor the objects that are needed
/// to read the property. There is one exception: it retains a property whose type the library does
/// not know. (P11)
@usableFromInline
internal struct WeakSource<Source: ObservableProperty>: Sendable {
    /// Returns the source; nil once it is gone. The objects that are needed to read the source may
    /// be gone earlier.
    let find: @Sendable () -> Source?
    /// Retains the objects that are needed to read the source. Returns false if one is gone.
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

    /// Makes a weak reference to the source that `make` makes from `object`. The object is needed
    /// to read the source.
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

    /// The source, which must exist: the caller must have retained its objects with `hold`.
    var present: Source { find()! }

    /// Calls `body` with the source, and returns the result. Retains the objects that are needed to
    /// read the source until `body` returns. Returns nil if the source is gone.
    ///
    /// - Parameter owner: See `HeldSources.release(for:)`.
    func withHeld<Result>(for owner: AnyObject, _ body: (Source) -> Result) -> Result? {
        var held = HeldSources()
        defer { held.release(for: owner) }
        return hold(&held) ? body(present) : nil
    }
}

/// The objects that are retained while the source of a `WeakSource` is read.
@usableFromInline
internal struct HeldSources {
    /// The objects; nil if there are none.
    private var objects: [AnyObject]?

    /// Retains an object. Returns false if there is none.
    mutating func add(_ object: AnyObject?) -> Bool {
        guard let object else { return false }
        if objects == nil { objects = [] }
        objects!.append(object)
        return true
    }

    /// Releases the objects. If a reference is the last one, a thread of the library releases it,
    /// since that may run user code. (P5)
    ///
    /// - Parameter owner: The object for which that thread releases them: see `DeferredAction`.
    @inline(__always)
    mutating func release(for owner: AnyObject) {
        if objects != nil { releaseAll(for: owner) }
    }

    @inline(never)
    private mutating func releaseAll(for owner: AnyObject) {
        var last: [AnyObject] = []
        while objects!.count > 0 {
            // This must be the only reference here: `if let` would make another one.
            var object: AnyObject? = objects!.removeLast()
            if isKnownUniquelyReferenced(&object) { last.append(object!) }
        }
        objects = nil
        if !last.isEmpty { ThreadRecord.retire(DeferredAction(for: owner, releasing: &last)) }
    }
}

/// A property that can make a weak reference to itself.
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

extension _RemovingDuplicates: WeaklyNamed {
    var weakSource: WeakSource<_RemovingDuplicates> {
        let base = WeakSource(self.base)
        return WeakSource(find: { base.find().map { _RemovingDuplicates($0) } }, hold: base.hold)
    }
}
