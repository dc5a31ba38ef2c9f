// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve

/// A value that may run a closure when its last copy is destroyed.
struct Thing: Sendable {
    let number: Int
    private let life: Life?

    init(_ number: Int, life: Life? = nil) {
        self.number = number
        self.life = life
    }
}

/// The root of paths to such values, with the objects on the way.
final class Shelf: ConcurrentObservable {
    let box: Observed<Box>

    init(_ thing: Thing) { box = Observed(Box(thing)) }

    final class Box: ConcurrentObservable {
        let thing: Observed<Thing>

        init(_ thing: Thing) { self.thing = Observed(thing) }
    }
}
