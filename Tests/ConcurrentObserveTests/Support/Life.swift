// SPDX-License-Identifier: Apache-2.0

/// An object that counts its death: captured by a closure, it shows when the closure was destroyed, and where.
final class Life: Sendable {
    private let lives: Lives
    private let atDeath: (@Sendable () -> Void)?

    fileprivate init(_ lives: Lives, _ atDeath: (@Sendable () -> Void)?) {
        self.lives = lives
        self.atDeath = atDeath
    }

    deinit {
        atDeath?()
        lives.died()
    }

    /// A use, so that a closure captures the object.
    func touch() {}
}

/// How many of the objects it made are alive.
final class Lives: Sendable {
    private let births = Counter()
    private let deaths = Counter()
    private let threads = Log<Int>()

    /// - Parameter atDeath: Runs in the object's `deinit`, before its death is counted.
    func make(atDeath: (@Sendable () -> Void)? = nil) -> Life {
        births.increment()
        return Life(self, atDeath)
    }

    var alive: Int { births.value - deaths.value }
    var dead: Int { deaths.value }

    /// The threads that the objects died on, in order.
    var deathThreads: [Int] { threads.entries }

    /// Waits until all are dead. - Returns: How long it took.
    @discardableResult
    func waitUntilNoneIsLeft() throws -> Duration {
        try eventually("the end of \(alive) captured objects") { alive == 0 }
    }

    fileprivate func died() {
        threads.append(threadNumber())
        deaths.increment()
    }
}

/// Counts its death and does nothing else: no lock, which a forked child could not use (the standard library's `Mutex` traps
/// there when it is contended), and no memory.
final class Mortal: Sendable {
    private let deaths: Counter

    init(_ deaths: Counter) { self.deaths = deaths }

    deinit { deaths.increment() }

    /// A use, so that a closure captures the object.
    func touch() {}
}
