// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch
import Testing

extension Promises {
    @Suite("P1 The order of the kinds of observers")
    struct P01KindsTests {}
}

extension Promises.P01KindsTests {
    @Test("P1 A serial observer that was registered first is called after the inline ones")
    func serialAfterInline() {
        let (property, registry, order) = (Observed(0), ObserverRegistry<Int>(), Log<String>())
        let tokens = [
            property.observe(delivery: .serial()) { _ in order.append("serial") },
            property.observe { _ in order.append("inline") },
            registry.observe(delivery: .serial()) { _ in order.append("registry: serial") },
            registry.observe { _ in order.append("registry: inline") },
        ]
        property.value = 1
        registry.notify(1)
        #expect(order.entries == ["inline", "serial", "registry: inline", "registry: serial"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A path that was observed last is relinked, and its observer called, before the property's own")
    func pathsFirst() {
        let (axle, order) = (Axle(1), Log<String>())
        let tokens = [
            axle.wheel.observe { _ in order.append("property") },
            axle.observe(\.wheel.pressure) { change in order.append("path \(change.new)") },
        ]
        let wheel = Wheel(2)
        axle.wheel.value = wheel
        wheel.pressure.value += 1
        #expect(order.entries == ["path \(wheel.pressure.value - 1)", "property", "path \(wheel.pressure.value)"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A queue receives a change while an inline callback that was registered first blocks")
    func mailboxesBeforeInline() {
        let (property, registry) = (Observed(0), ObserverRegistry<Int>())
        let queue = DispatchQueue(label: "kinds")
        let (arrivals, blocked) = (Log<Int>(), Log<Bool>())
        let arrived = DispatchSemaphore(value: 0)
        let wait: @Sendable () -> Void = { blocked.append(arrived.wait(timeout: .now() + 60) == .success) }
        let receive: @Sendable (Int) -> Void = { number in
            arrivals.append(number)
            arrived.signal()
        }
        let tokens = [
            property.observe { _ in wait() }, property.observeValues(delivery: .queue(queue), receive),
            registry.observe { _ in wait() }, registry.observe(delivery: .queue(queue), receive),
        ]
        property.value = 1
        registry.notify(2)
        #expect(arrivals.entries == [1, 2])
        #expect(blocked.entries == [true, true])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A serial observer of a path is called after the property's inline ones, at a replacement too")
    func serialPathsLast() {
        let (axle, order) = (Axle(1), Log<String>())
        let tokens = [
            axle.observe(\.wheel.pressure, delivery: .serial()) { _ in order.append("path, serial") },
            axle.wheel.observe { _ in order.append("property, inline") },
            axle.observe(\.wheel.pressure) { _ in order.append("path, inline") },
        ]
        axle.wheel.value = Wheel(2)
        #expect(order.entries == ["path, inline", "property, inline", "path, serial"])
        withExtendedLifetime(tokens) {}
    }

    @Test("P1 A serial observer of a path receives a prior delivery after the property's inline ones")
    func serialPathsPrior() {
        let (axle, order) = (Axle(1), Log<String>())
        let pressure = axle.wheel.value.pressure
        let tokens = [
            axle.observe(\.wheel.pressure, options: .prior, delivery: .serial()) { change in
                order.append("serial \(change.reason)")
            },
            pressure.observe(options: .prior) { change in order.append("inline \(change.reason)") },
        ]
        pressure.value = 2
        #expect(order.entries == ["inline prior", "serial prior", "inline valueChanged", "serial valueChanged"])
        withExtendedLifetime(tokens) {}
    }
}
