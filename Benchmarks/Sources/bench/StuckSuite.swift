// SPDX-License-Identifier: Apache-2.0

import Judging
import ConcurrentObserve
import Dispatch
import Glibc
import Synchronization

/// Measures all other operations while one callback blocks, on its registry and on another one.
enum StuckSuite {
    static let cases = [wait, destruction, growth]

    private static let wait = Case(
        name: "token.cancelAndWait.beside-stuck-callback",
        unit: .microseconds,
        bar: .waitBesideStuckMicroseconds,
        summary: .median,
        isLong: true
    ) { effort in
        let stuck = StuckCallback()
        let count = effort.work(1_000)
        return Case.Sides(ours: {
            let times = (0..<count).flatMap { _ in
                stuck.registries.map { registry in
                    let counter = Counter()
                    let token = registry.observe { event in counter.value &+= event }
                    return nanoseconds { token.cancelAndWaitBlocking() } / 1_000
                }
            }
            return times.median
        })
    }

    /// The longest time from the return of `cancel()` to the `deinit` of the capture.
    private static let destruction = Case(
        name: "token.cancel.destroyed-beside-stuck-callback",
        unit: .milliseconds,
        bar: .destructionBesideStuckMilliseconds,
        summary: .median,
        isLong: true
    ) { effort in
        let stuck = StuckCallback()
        let count = effort.work(200)
        return Case.Sides(ours: {
            let times = (0..<count).flatMap { _ in
                stuck.registries.map { registry in
                    let grave = Grave()
                    let token = registry.observe(watchedBy: grave)
                    token.cancel()
                    return nanoseconds { grave.wait() } / 1_000_000
                }
            }
            return times.max()!
        })
    }

    /// The growth of resident memory from before the very first round to the end, with the same
    /// number of pairs on each registry. The callback blocks for ten seconds.
    private static let growth = Case(
        name: "registry.observe-cancel.growth-beside-stuck-callback",
        unit: .mebibytes,
        bar: .growthBesideStuckMebibytes,
        summary: .median,
        isLong: true
    ) { effort in
        let pairs = effort.work(1_000_000)
        let hold = Duration.seconds(effort.work(10))
        let before = residentBytes()
        return Case.Sides(ours: {
            let stuck = StuckCallback()
            let end = ContinuousClock.now + hold
            for event in 0..<pairs {
                for registry in stuck.registries {
                    let token = registry.observe { _ in }
                    if event & 63 == 0 { stuck.registries[1].notify(event) }
                    token.cancel()
                }
            }
            while ContinuousClock.now < end { usleep(10_000) }
            return withExtendedLifetime(stuck) { Double(max(0, residentBytes() - before)) / 1_048_576 }
        })
    }
}

/// Waits for the deinit of a capture.
private final class Grave: Sendable {
    private let isFilled = DispatchSemaphore(value: 0)

    func fill() { isFilled.signal() }
    func wait() { isFilled.wait() }
}

private final class Capture: Sendable {
    private let grave: Grave

    init(_ grave: Grave) { self.grave = grave }
    deinit { grave.fill() }
    func touch() {}
}

extension ObserverRegistry<Int> {
    /// A function of its own, so that the caller keeps no reference to the captures of the closure.
    fileprivate func observe(watchedBy grave: Grave) -> ObservationToken {
        let capture = Capture(grave)
        return observe { _ in capture.touch() }
    }
}

private func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, 128, file) != nil else { return 0 }
    let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).split(
        separator: " "
    )
    return Int(fields[1])! * Int(getpagesize())
}
