// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("Bindings from every kind of property")
    struct BindingSourceTests {}
}

extension Promises.BindingSourceTests {
    @Test("P3 From a path: its value at once, then every change, and what it is led to")
    func path() throws {
        let car = Slot(Car(Axle(1), second: nil))
        let (pressure, second, text) = (Observed(0), Observed<Int?>(7), Observed(""))
        let tokens = [
            car.value!.property(\.axle.wheel.pressure).bind(to: pressure),
            car.value!.property(\.second.wheel.pressure).bind(to: second),
            car.value!.property(\.axle.wheel.pressure).bind(to: text) { "\($0) bar" },
        ]
        #expect((pressure.value, second.value, text.value) == (1, nil, "1 bar"))
        car.value!.setPressure(2)
        car.value!.second.value = Axle(3)
        #expect((pressure.value, second.value, text.value) == (2, 3, "2 bar"))
        car.value!.axle.value = Axle(4)
        car.value!.second.value = nil
        #expect((pressure.value, second.value, text.value) == (4, nil, "4 bar"))
        let ends = Log<ObservationEnd>()
        for token in tokens { token.onEnd { ends.append($0) } }
        // Neither side is retained: the bindings end with the root.
        car.clear()
        try eventually("the ends") { ends.count == 3 }
        #expect(ends.entries.allSatisfy { $0 == .sourceDeleted })
    }

    @Test("P3 From a read-only view, a weak property, one without duplicates, a group")
    func others() {
        let (number, weak) = (Observed(1), WeakObserved<Referent>())
        let (view, name, distinct, sum) = (Observed(0), Observed(""), Observed(0), Observed(0))
        let tokens = [
            number.readOnly.bind(to: view), weak.bind(to: name) { $0?.description ?? "none" },
            number.removingDuplicates().bind(to: distinct), Group(number, view).bind(to: sum) { $0.0 + $0.1 },
        ]
        #expect((view.value, name.value, distinct.value, sum.value) == (1, "none", 1, 2))
        let versions = (view.version, distinct.version)
        number.value = 1
        #expect((view.version - versions.0, distinct.version - versions.1) == (1, 0))
        number.value = 5
        var referent: Referent? = Referent("Ada")
        weak.value = referent
        #expect((view.value, name.value, distinct.value, sum.value) == (5, "Ada", 5, 10))
        referent = nil
        #expect(name.value == "none")
        withExtendedLifetime(tokens) {}
    }

    @Test("P3 Racing writers of all steps: the destination ends with the path's last value")
    func racing() throws {
        for _ in 0..<20 {
            let wheels = (0..<3).map { Wheel($0) }
            let car = Car(Axle(wheels[0]))
            let destination = Observed(-1)
            let token = car.property(\.axle.wheel.pressure).bind(to: destination)
            try onThreads(3) { thread in
                for round in 0..<100 {
                    if thread == 0 {
                        car.axle.value.wheel.value = wheels[round % 3]
                    } else {
                        wheels[round * thread % 3].pressure.value = thread * 1_000 + round
                    }
                }
            }
            // Replacements that kept racing are delivered by a thread of the library.
            try Process.settle()
            #expect(destination.value == car.pressure)
            withExtendedLifetime(token) {}
        }
    }

    @Test("P6 Cycles end: through a path of several steps, of one, a view, and a group", arguments: 0..<4)
    func cycles(kind: Int) throws {
        let car = Car(0)
        let other = Observed(0)
        let end = kind == 1 ? car.mileage : car.axle.value.wheel.value.pressure
        let there =
            switch kind {
            case 0: car.property(\.axle.wheel.pressure).bind(to: other)
            case 1: car.property(\.mileage).bind(to: other)
            case 2: end.readOnly.bind(to: other)
            default: Group(end, car.mileage).bind(to: other) { $0.0 }
            }
        let back = other.bind(to: end)
        let versions = (end.version, other.version)
        // On a thread of its own: a cycle that does not end overflows its stack, or hangs.
        let done = Signal("the end of the cycle")
        let thread = TestThread {
            for number in 1...100 { if number % 2 == 0 { end.value = number } else { other.value = number } }
            done.happen()
        }
        try done.wait()
        try thread.join()
        #expect((end.value, other.value) == (100, 100))
        // Each change passes each of the two bindings twice at most.
        #expect(end.version - versions.0 <= 300 && other.version - versions.1 <= 300)
        try onThreads(2) { thread in
            for number in 1...500 { if thread == 0 { end.value = number } else { other.value = -number } }
        }
        try Process.settle()
        #expect(end.version - versions.0 <= 4_000)
        withExtendedLifetime((there, back)) {}
    }
}
