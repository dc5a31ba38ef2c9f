// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P1 Models of every kind")
    struct PathModelsTests {}
}

extension Promises.PathModelsTests {
    @Test("P1 A model whose properties are a struct of their own, at the root and on the way")
    func separate() throws {
        let inner = Sheet(1)
        let root = Slot(Sheet(0, next: inner))
        let (received, next) = (ReceivedChanges<Int>(), ReceivedChanges<Int?>())
        let tokens = [
            root.value!.observe(\.number, received).recordEnd(to: received),
            root.value!.observe(\.next.number, next).recordEnd(to: next),
        ]
        root.value!.observedProperties.number.value = 2
        inner.observedProperties.number.value = 3
        root.value!.observedProperties.next.value = Sheet(4)
        root.value!.observedProperties.next.value = nil
        #expect(received.lines == ["valueChanged 0 → 2 @1"])
        #expect(next.chain.map(\.new) == [3, 4, nil])
        root.clear()
        try received.ended.wait()
        try next.ended.wait()
        try Process.settle()
        #expect(received.lines == ["valueChanged 0 → 2 @1", "sourceDeleted"])
        #expect(next.lines.last == "sourceDeleted")
        #expect(next.ends == [.sourceDeleted])
        withExtendedLifetime(tokens) {}
    }

    @Test("P8 Its observers are removed by object, too")
    func removal() {
        let root = Sheet(0, next: Sheet(1))
        let received = ReceivedChanges<Int?>()
        let token = root.observe(\.next.number, received)
        let own = root.observedProperties.number.observe { (_: Change<Int>) in }
        root.cancelAllObservations()
        root.observedProperties.next.value = nil
        #expect(received.count == 0)
        #expect(!token.isActive && !own.isActive)
    }

    @Test("P1 A path that is given as a value, in generic code, for any model and value")
    func generic() {
        let (car, sheet) = (Car(1), Sheet(2))
        let (pressures, numbers) = (firstAndLater(car, \.axle.wheel.pressure), firstAndLater(sheet, \.number))
        car.axle.value = Axle(3)
        sheet.observedProperties.number.value = 4
        #expect(pressures.received.lines == ["initial - → 1 @0", "pathChanged(depth: 0) 1 → 3 @1"])
        #expect(numbers.received.lines == ["initial - → 2 @0", "valueChanged 2 → 4 @1"])
        withExtendedLifetime((pressures, numbers)) {}
    }

    @Test("P1 Generic models, and a property that is generic, too")
    func genericModel() {
        let holder = Holder(Holder(1))
        let received = ReceivedChanges<Int>()
        let token = holder.observe(\.content.content, received)
        holder.content.value.content.value = 2
        holder.content.value = Holder(3)
        #expect(received.lines == ["valueChanged 1 → 2 @1", "pathChanged(depth: 0) 2 → 3 @2"])
        withExtendedLifetime(token) {}
    }

    @Test("P1 P2 A list that refers to its own kind, as deep as it goes, and back to the beginning")
    func recursive() {
        let sheets = (0..<3).map { Sheet($0) }
        for index in 0..<2 { sheets[index].observedProperties.next.value = sheets[index + 1] }
        let received = ReceivedChanges<Int?>()
        let token = sheets[0].observe(\.next.next.next.number, received, options: .initial)
        sheets[2].observedProperties.next.value = sheets[0]
        sheets[0].observedProperties.number.value = 10
        // One property, two steps of the path.
        sheets[0].observedProperties.next.value = sheets[0]
        sheets[0].observedProperties.next.value = nil
        #expect(received.chain.last?.new == .some(nil))
        #expect(received.mistakes(from: nil).isEmpty)
        #expect(received.chain.map(\.new).prefix(2) == [0, 10])
        sheets[2].observedProperties.next.value = nil
        withExtendedLifetime(token) {}
    }

    private func firstAndLater<Model: ConcurrentObservable, Value: Sendable>(
        _ model: Model,
        _ path: KeyPath<_ObservedPath<Model, Model>, _ObservedPath<Model, Value>>
    ) -> (received: ReceivedChanges<Value>, token: ObservationToken) {
        let received = ReceivedChanges<Value>()
        return (received, model.observe(path, received, options: .initial))
    }
}

/// A model whose properties are in another object.
private final class Sheet: ConcurrentObservable, ObservationSource {
    struct Properties: Sendable {
        let number: Observed<Int>
        let next: Observed<Sheet?>
    }

    private let properties: Properties

    init(_ number: Int, next: Sheet? = nil) {
        properties = Properties(number: Observed(number), next: Observed(next))
    }

    var observedProperties: Properties { properties }

    func cancelAllObservations() { ObservationToken.cancelAll(of: properties.number, properties.next) }
}

private final class Holder<Content: Sendable>: ConcurrentObservable {
    let content: Observed<Content>
    init(_ content: Content) { self.content = Observed(content) }
}
