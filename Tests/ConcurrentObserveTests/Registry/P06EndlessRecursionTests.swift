// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Glibc
import Testing

extension Promises {
    @Suite("P6 Callbacks that call themselves")
    struct P06EndlessRecursionTests {}
}

/// The ways in which a callback can call itself without end.
enum EndlessRecursion: String, CaseIterable, Codable, Sendable {
    case set, setBoxed, setOfWeak, modify, notify, path, binding, ownerBound, initial

    func begin() {
        switch self {
        case .set: recur(on: Observed(0)) { $0 + 1 }
        case .setBoxed: recur(on: Observed([0])) { [$0[0] + 1] }
        case .setOfWeak:
            let referent = Referent()
            let property = WeakObserved(referent)
            let token = property.observe { _ in property.value = referent }
            property.value = referent
            token.cancel()
        case .modify:
            let property = Observed(0)
            let token = property.observe { (_: Change<Int>) in property.modify { $0 += 1 } }
            property.modify { $0 += 1 }
            token.cancel()
        case .notify:
            let registry = ObserverRegistry<Int>()
            let token = registry.observe { registry.notify($0 + 1) }
            registry.notify(0)
            token.cancel()
        case .path:
            let car = Car(0)
            let token = car.observe(\.axle.wheel.pressure) { (change: Change<Int>) in
                car.setPressure(change.new + 1)
            }
            car.setPressure(1)
            token.cancel()
        case .binding:
            let (source, destination) = (Observed(0), Observed(0))
            let tokens = [
                source.bind(to: destination), destination.observe { change in source.value = change.new + 1 },
            ]
            source.value = 1
            tokens.forEach { $0.cancel() }
        case .ownerBound:
            let property = Observed(0)
            let token = property.observe(owner: property) { property, change in property.value = change.new + 1 }
            property.value = 1
            token.cancel()
        case .initial: observeInitial(Observed(0))
        }
    }

    private func recur<Value: Sendable>(on property: Observed<Value>, _ next: @escaping @Sendable (Value) -> Value) {
        let token = property.observeValues { property.value = next($0) }
        property.value = next(property.value)
        token.cancel()
    }

    private func observeInitial(_ property: Observed<Int>) {
        property.observe(options: .initial) { _ in observeInitial(property) }.cancel()
    }

    private final class Referent: WeaklyObservable {
        let lifetime = ReferentLifetime()
    }
}

extension Promises.P06EndlessRecursionTests {
    @Test("P6 A callback that calls itself without end traps and says why", arguments: EndlessRecursion.allCases)
    func traps(recursion: EndlessRecursion) async { await expectTrap(recursion, stackSize: 512 << 10) }

    @Test("P6 It traps on a stack of any usual size", arguments: [128 << 10, 1 << 20, 8 << 20])
    func stackSizes(stackSize: Int) async { await expectTrap(.set, stackSize: stackSize) }

    @Test("P6 It traps on the main thread")
    func mainThread() async { await expectTrap(.notify, stackSize: 0) }

    /// Expects that the recursion traps.
    ///
    /// - Parameter stackSize: The size of the thread's stack; 0 for the main thread.
    private func expectTrap(_ recursion: EndlessRecursion, stackSize: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [recursion, stackSize] in
            Process.limitLife(seconds: 60)
            if stackSize == 0 {
                await MainActor.run { recursion.begin() }
            } else {
                try? TestThread(stackSize: stackSize) { recursion.begin() }.join()
            }
            exit(EXIT_SUCCESS)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("callbacks are nested on a thread whose stack is nearly used up"),
            "\(text.prefix(1_000))"
        )
    }

    @Test("P6 A recursion that has an end may be as deep as the stack allows")
    func deepRecursion() throws {
        let registry = ObserverRegistry<Int>()
        let calls = Counter()
        let token = registry.observe { level in
            calls.increment()
            if level > 1 { registry.notify(level - 1) }
        }
        try TestThread(stackSize: 512 << 20) { registry.notify(50_000) }.join()
        #expect(calls.value == 50_000)
        #expect(token.cancelAndWaitBlocking() == .finished)
        try Process.settle()
    }
}
