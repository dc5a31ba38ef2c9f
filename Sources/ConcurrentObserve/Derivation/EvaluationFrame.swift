// SPDX-License-Identifier: Apache-2.0

/// One evaluation on a thread's stack: how a derived value that needs itself is found. (P25)
@safe internal struct EvaluationFrame {
    /// Where the derived value is, which the caller keeps. Compared, not followed.
    let derived: UInt
    let name: StaticString
    let line: UInt
    private let outer: UnsafePointer<EvaluationFrame>?

    /// The innermost evaluation of the calling thread.
    private static var current: UnsafePointer<EvaluationFrame>? {
        // Safe, both: records are never freed, and this one forgets a frame before it is gone.
        unsafe ThreadRecord.current.pointee.evaluation?.assumingMemoryBound(to: EvaluationFrame.self)
    }

    /// Runs an evaluation of `derived`, unless the thread is in one already: that traps.
    static func perform<Result>(
        _ derived: AnyObject,
        _ name: StaticString,
        _ line: UInt,
        _ body: () -> Result
    ) -> Result {
        let address = UInt(bitPattern: ObjectIdentifier(derived))
        let outer = unsafe current
        let frame = unsafe EvaluationFrame(derived: address, name: name, line: line, outer: unsafe outer)
        if isInside(address) { frame.trapCycle() }
        // Safe: records are never freed; the frame is on the stack until the body has returned.
        let record = unsafe ThreadRecord.current
        return unsafe withUnsafePointer(to: frame) { frame in
            unsafe record.pointee.evaluation = UnsafeRawPointer(frame)
            defer { unsafe record.pointee.evaluation = UnsafeRawPointer(outer) }
            return body()
        }
    }

    /// Whether the calling thread evaluates the derived value at an address.
    static func isInside(_ derived: UInt) -> Bool {
        // Safe: the frames are those of calls that have not returned.
        var next = unsafe current
        while let frame = unsafe next {
            if unsafe frame.pointee.derived == derived { return true }
            unsafe next = unsafe frame.pointee.outer
        }
        return false
    }

    /// Ends the process, with the path from the derived value to itself.
    private func trapCycle() -> Never {
        var path = [place]
        var next = unsafe outer
        // Safe: as above.
        while let frame = unsafe next {
            path.append(unsafe frame.pointee.place)
            if unsafe frame.pointee.derived == derived { break }
            unsafe next = unsafe frame.pointee.outer
        }
        let text = path.reversed().joined(separator: " → ")
        fatalError(
            "ConcurrentObserve: a derived value needs itself: \(text). Have one of them read something else, or keep what it needs of itself in a property."
        )
    }

    private var place: String { "\(name):\(line)" }
}

/// Finds the function that sets what it has read: its result could never become current, so that it
/// would run for ever. Traps in the set. (P25)
///
/// Registered only when an evaluation has failed several times: most often others have made the changes.
internal final class SelfWatch: LinkedPath, @unchecked Sendable {
    // Unchecked: used by the thread that evaluates, but for constants.
    private let derived: UInt
    private let thread = ThreadRecord.ownAddress
    private let place: String
    private var observers: [UInt: Observer] = [:]

    init(_ derived: AnyObject, _ name: StaticString, _ line: UInt) {
        self.derived = UInt(bitPattern: ObjectIdentifier(derived))
        place = "\(name):\(line)"
    }

    /// From now on looks at the changes of a source.
    func look(at source: any DerivationRoot) {
        guard observers[source.versionAddress] == nil else { return }
        observers[source.versionAddress] = source.register(self)
    }

    func end() {
        for observer in observers.values { observer.end(.cancelled) }
        observers = [:]
    }

    override func linkHasChanged(_ deferred: DeferredDeliveries) {
        guard ThreadRecord.ownAddress == thread, EvaluationFrame.isInside(derived) else { return }
        fatalError(
            "ConcurrentObserve: the function of a derived value (\(place)) sets a property that it has read, so that its result can never be current. Set properties that it does not read, or set this one elsewhere: in an observer of the derived value."
        )
    }
}
