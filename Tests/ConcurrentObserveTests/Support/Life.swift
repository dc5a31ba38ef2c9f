// SPDX-License-Identifier: Apache-2.0

/// An object that counts its death: captured by a closure, it shows when the closure was destroyed,
/// and where.
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

    /// Waits until `condition` holds. The patience is for each next death: how long all take
    /// depends on how busy the machine is.
    func wait(for what: String, until condition: () -> Bool) throws {
        var (count, begin) = (dead, ContinuousClock.now)
        while !condition() {
            if dead != count { (count, begin) = (dead, ContinuousClock.now) }
            if ContinuousClock.now - begin > patience { throw WaitedInVain(for: what) }
            briefPause()
        }
    }

    fileprivate func died() {
        threads.append(threadNumber())
        deaths.increment()
    }
}

/// Counts its death and does nothing else: no lock, which a forked child could not use (the
/// standard library's `Mutex` traps there when it is contended), and no memory.
final class Mortal: Sendable {
    private let deaths: Counter

    init(_ deaths: Counter) { self.deaths = deaths }

    deinit { deaths.increment() }

    /// A use, so that a closure captures the object.
    func touch() {}
}
