// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 What a path releases")
    struct P05PathRelinkingTests {}
}

/// A part that is replaced. The path leads to it through a weak step.
private final class Wagon: WeaklyObservable, ConcurrentObservable {
    let lifetime = ReferentLifetime()
    let part: Observed<Gauge.Part>
    private let atDeinit: @Sendable () -> Void

    init(_ part: Observed<Gauge.Part>, atDeinit: @escaping @Sendable () -> Void) {
        (self.part, self.atDeinit) = (part, atDeinit)
    }

    deinit { atDeinit() }
}

private final class Yard: ConcurrentObservable {
    let wagon = WeakObserved<Wagon>()
}

extension Promises.P05PathRelinkingTests {
    /// The property that the deinitialiser sets: the new end, or the property whose change has
    /// relinked the paths.
    enum Deed: String, CaseIterable, Sendable { case setsTheNewEnd, setsTheLink }

    @Test(
        "P5 P7 A referent that dies while paths are relinked finds all of them relinked",
        arguments: Deed.allCases
    )
    func referentDies(deed: Deed) throws {
        let yard = Yard()
        let part = Gauge.Part(0)
        let wagons = Slot<Wagon>()
        // The path's thread has the last reference when it has relinked the first path.
        let replacement = Gauge.Part(1) { wagons.clear() }
        let link = Observed(part)
        wagons.put(
            Wagon(link) {
                switch deed {
                case .setsTheNewEnd: replacement.number.value = 7
                case .setsTheLink: link.value = Gauge.Part(7)
                }
            }
        )
        yard.wagon.value = wagons.value
        let received = (0..<3).map { _ in ReceivedChanges<Int?>() }
        let tokens = received.map { yard.observe(\.wagon.part.number, $0) }
        link.value = replacement
        #expect(wagons.value == nil)
        for received in received {
            #expect(received.mistakes(from: 0).isEmpty)
            // The replacement, what the deinitialiser has done, then the death.
            #expect(received.chain.map(\.new) == [1, 7, nil])
        }
        withExtendedLifetime(tokens) {}
    }
}
