// SPDX-License-Identifier: Apache-2.0

/// The referent of a weak step dies while paths are relinked. Checks that its deinitialiser finds
/// all of them relinked: every path receives the change that it makes in the new property.
func checkDeathInRelinking(_ round: Round) {
    let root = WeakRoot()
    let last = Place<WeakMiddle>()
    // When the first path is relinked, its thread has the last reference.
    let replacement = WatchedEnd(1) { _ = last.exchange(nil) }
    let end = Observed(WatchedEnd(0, nil))
    _ = last.exchange(WeakMiddle(end) { replacement.number.value = 2 })
    root.middle.value = last.content
    let received = (0..<3).map { _ in Record<UInt64>() }
    let tokens = received.map { received in
        root.observe(\.middle.end.number) { change in received.note(change.new ?? 0) }
    }
    end.value = replacement
    for received in received {
        // The replacement, the deinitialiser's change, and the death, which has the number 0.
        round.check("what a path received", received.all.sorted(), is: [0, 1, 2], "P5.relinked-before-a-deinit")
    }
    for token in tokens { token.cancelAndWaitBlocking() }
}

private final class WeakRoot: ConcurrentObservable {
    let middle = WeakObserved<WeakMiddle>()
}

/// The referent of a weak step. Its property is made only when it is used.
private final class WeakMiddle: WeaklyObservable, ConcurrentObservable {
    let lifetime = ReferentLifetime()
    let end: Observed<WatchedEnd>
    private let atDeinit: @Sendable () -> Void

    init(_ end: Observed<WatchedEnd>, atDeinit: @escaping @Sendable () -> Void) {
        (self.end, self.atDeinit) = (end, atDeinit)
    }

    deinit {
        checkUserCode("referent's deinit")
        atDeinit()
    }
}

/// The end of a path. It runs a closure once, when a path is linked to it.
private final class WatchedEnd: ConcurrentObservable {
    let number: Observed<UInt64>
    private let atLinking: Guarded<(@Sendable () -> Void)?>

    init(_ number: UInt64, _ atLinking: (@Sendable () -> Void)?) {
        self.number = Observed(number)
        self.atLinking = Guarded(atLinking)
    }

    var observedProperties: WatchedEnd {
        if let atLinking = atLinking.withLock({ $0.take() }) { atLinking() }
        return self
    }
}
