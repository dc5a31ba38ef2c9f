// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A value that may do something when its last copy is destroyed.
struct Thing: Sendable {
    let number: Int
    private let life: Life?

    init(_ number: Int, life: Life? = nil) {
        self.number = number
        self.life = life
    }
}

/// Where paths to such values begin, and what is on the way.
final class Shelf: ConcurrentObservable {
    let box: Observed<Box>

    init(_ thing: Thing) { box = Observed(Box(thing)) }

    final class Box: ConcurrentObservable {
        let thing: Observed<Thing>

        init(_ thing: Thing) { self.thing = Observed(thing) }
    }
}
