// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Delays the threads of a program in the library's steps, and makes the system refuse what the
/// library asks for: in the copy that `Scripts/perturbed.sh` makes.
///
/// The environment chooses the kinds (`PERTURB`) and the seed (`PERTURB_SEED`), and standard error
/// has both before anything is disturbed. In every millisecond another third of the injection
/// points is hot: a thread that reaches one is delayed there now and then. The seed chooses the
/// points and the delays; the system still decides which thread is where.
internal struct Perturbed: Sendable {
    static let ofProcess = Perturbed()

    private let kinds: Set<Kind>
    private let seed: UInt64
    /// The state of each thread's dice.
    private let key: pthread_key_t
    /// The threads that have dice, and the time of the next delay. Relaxed, both: nothing is read
    /// because of them.
    private static let threads = Atomic<UInt64>(0)
    private static let nextDelay = Atomic<UInt64>(0)

    private enum Kind: String, CaseIterable {
        /// Gives the processor away.
        case yield
        /// Spins or sleeps, for 2 ms at most.
        case stall
        /// Sleeps for 100 ms, rarely.
        case long
        /// Refuses the library a thread, three times of four.
        case noThread = "no-thread"
        /// Delays membarrier.
        case lateBarrier = "late-barrier"
        /// Makes membarrier fail.
        case failBarrier = "fail-barrier"
        /// Makes each deinitialiser that the library runs take 2 ms.
        case slowDeinit = "slow-deinit"
    }

    private init() {
        func value(_ name: String) -> String? {
            // Safe: the text is copied while nothing changes the environment.
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        let names = value("PERTURB")?.split(separator: ",").map(String.init) ?? Kind.allCases.map(\.rawValue)
        kinds = Set(
            names.map { name in
                guard let kind = Kind(rawValue: name) else {
                    fatalError(
                        "PERTURB has no kind \(name), only \(Kind.allCases.map(\.rawValue).joined(separator: ","))"
                    )
                }
                return kind
            }
        )
        seed = value("PERTURB_SEED").flatMap { UInt64($0) } ?? Self.nanoseconds % 1_000_000
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { fatalError("no thread-specific key is left") }
        self.key = key
        let text = "perturbed: PERTURB=\(names.joined(separator: ",")) PERTURB_SEED=\(seed)\n"
        // Safe: the text is written while it exists.
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// A thread has come to an injection point.
    func reached(_ point: StaticString) {
        if kinds.contains(.slowDeinit), point.isSame(as: "destroy.item") { usleep(2_000) }
        if kinds.contains(.lateBarrier), point.isSame(as: "barrier.heavy"), roll() % 8 == 0 {
            usleep(200 + UInt32(roll() % 3_000))
        }
        let now = Self.nanoseconds
        guard now >= Self.nextDelay.load(ordering: .relaxed), isHot(point, at: now) else { return }
        delay(roll())
        // Half of the time is without delays, so that long tests end.
        let end = Self.nanoseconds
        if end - now > 20_000 { Self.nextDelay.store(end + (end - now), ordering: .relaxed) }
    }

    func refusesThread() -> Bool { kinds.contains(.noThread) && roll() % 4 != 0 }

    /// The error number of a call of membarrier; 0 if it succeeds.
    func barrierError(isRegistration: Bool) -> Int32 {
        guard kinds.contains(.failBarrier), !isRegistration else { return 0 }
        let dice = roll() % 16
        return dice == 0 ? ENOMEM : dice == 1 ? EPERM : 0
    }

    private func isHot(_ point: StaticString, at now: UInt64) -> Bool {
        var hash = seed ^ now / 1_000_000
        // Safe: the name lives as long as the program.
        for byte in unsafe UnsafeBufferPointer(start: point.utf8Start, count: point.utf8CodeUnitCount) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return Self.mix(hash) % 3 == 0
    }

    private func delay(_ dice: UInt64) {
        let (choice, length) = (dice % 100, dice / 100)
        if kinds.contains(.long), length % 20_000 == 0 { usleep(100_000) }
        switch choice {
        case 0..<20 where kinds.contains(.stall):
            let end = Self.nanoseconds + 100 + length % 20_000
            while Self.nanoseconds < end {}
        case 20..<40 where kinds.contains(.stall): usleep(50 + UInt32(length % 200))
        case 40..<43 where kinds.contains(.stall): usleep(1_000 + UInt32(length % 1_000))
        case 50..<80 where kinds.contains(.yield): sched_yield()
        default: break
        }
    }

    /// The calling thread's next random number. (Steele, Lea and Flood, "Fast Splittable
    /// Pseudorandom Number Generators", OOPSLA 2014.)
    private func roll() -> UInt64 {
        // Safe: a number, which nothing follows as a pointer.
        var state = UInt64(UInt(bitPattern: unsafe pthread_getspecific(key)))
        if state == 0 { state = Self.mix(seed &+ Self.threads.wrappingAdd(1, ordering: .relaxed).newValue) }
        state &+= 0x9E37_79B9_7F4A_7C15
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: UInt(state)))
        return Self.mix(state)
    }

    private static func mix(_ word: UInt64) -> UInt64 {
        var word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    private static var nanoseconds: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
