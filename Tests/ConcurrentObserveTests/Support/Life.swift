// SPDX-License-Identifier: Apache-2.0

/// An object that counts its death. If a closure captures it, it shows when and on which thread the
/// closure was destroyed.
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

    /// Does nothing. A closure that calls this function captures the object.
    func touch() {}
}

/// Makes objects, and counts those that are alive.
final class Lives: Sendable {
    private let births = Counter()
    private let deaths = Counter()
    private let threads = Log<Int>()

    /// Makes an object.
    ///
    /// - Parameter atDeath: Runs in the object's `deinit`, before its death is counted.
    func make(atDeath: (@Sendable () -> Void)? = nil) -> Life {
        births.increment()
        return Life(self, atDeath)
    }

    var alive: Int { births.value - deaths.value }
    var dead: Int { deaths.value }

    /// The threads on which the objects died, in order.
    var deathThreads: [Int] { threads.entries }

    /// Waits until all are dead.
    ///
    /// - Returns: The time that it took.
    @discardableResult
    func waitUntilNoneIsLeft() throws -> Duration {
        try eventually("the end of \(alive) captured objects") { alive == 0 }
    }

    /// Waits until `condition` holds. The time limit begins again with each death, because the
    /// whole time depends on the load of the machine.
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

/// An object that only counts its death. It takes no lock and allocates no memory: a forked child
/// could not use a lock. (The standard library's `Mutex` traps there when it is contended.)
final class Mortal: Sendable {
    private let deaths: Counter

    init(_ deaths: Counter) { self.deaths = deaths }

    deinit { deaths.increment() }

    /// Does nothing. A closure that calls this function captures the object.
    func touch() {}
}
