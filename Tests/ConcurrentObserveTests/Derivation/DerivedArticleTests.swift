// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("The article about derived values")
    struct DerivedArticleTests {}
}

extension Promises.DerivedArticleTests {
    @Test("Each line of its code stands in the code below, which compiles and runs")
    func code() throws { try expectArticle("DerivedValues", in: #filePath) }

    fileprivate final class Order: Sendable {
        let price = Observed(5)
        let quantity = Observed(2)
    }

    fileprivate final class Engine: ConcurrentObservable {
        let rpm = Observed(900)
        let stalled = Observed(false)
    }
}

// MARK: - The article's code

extension Promises.DerivedArticleTests {
    @Test("The examples of the overview")
    func overview() {
        let (order, engine, received) = (Order(), Engine(), Log<String>())
        func print(_ text: some Sendable & CustomStringConvertible) { received.append(text.description) }
        let total = Derived(order.price, order.quantity) { $0 * $1 }
        let healthy = Derived { get in
            get(engine.rpm) < 6_000 && !get(engine.stalled)
        }
        print(total.value)
        let note = { @Sendable (text: String) in received.append(text) }
        let token = observe(healthy, note)
        let label = total.map { "\($0) EUR" }
        engine.stalled.value = true
        order.quantity.value = 3
        #expect(received.entries == ["10", "sick"])
        #expect(label.value == "15 EUR")
        withExtendedLifetime(token) {}
    }

    private func observe(_ healthy: Derived<Bool>, _ print: @escaping @Sendable (String) -> Void) -> ObservationToken {
        let token = healthy.observeValues { print($0 ? "healthy" : "sick") }
        return token
    }

    fileprivate final class Turbine: ConcurrentObservable {
        let rpm = Observed(800)
        let engine = Observed(Engine())
        let healthy: Derived<Bool>

        init() {
            healthy = Derived { [rpm, engine] get in
                get(rpm) < 6_000 && !get.follow(engine).stalled
            }.ofModel()
        }
    }

    fileprivate final class Plant: ConcurrentObservable {
        let turbine = Observed(Turbine())
    }

    @Test("The examples of models")
    func models() {
        let (plant, received) = (Plant(), Log<Bool>())
        let print = { @Sendable (value: Bool) in received.append(value) }
        let turbine = plant.turbine.value
        let token = turbine.observe(\.healthy) { change in print(change.new) }
        let healthyInPlant = plant.property(\.turbine.healthy)
        let engine = turbine.engine.value
        engine.stalled.value = true
        turbine.engine.value = Engine()
        engine.stalled.value = false
        turbine.rpm.value = 7_000
        #expect(received.entries == [false, true, false])
        #expect(!healthyInPlant.value)
        plant.turbine.value = Turbine()
        #expect(healthyInPlant.value)
        withExtendedLifetime(token) {}
    }

    @Test("The example of what an observation keeps")
    func keeping() {
        let (turbine, received) = (Turbine(), Log<Int>())
        let print = { @Sendable (number: Int) in received.append(number) }
        let token = turbine.rpm.map { $0 / 60 }.observeValues { print($0) }
        turbine.rpm.value = 6_000
        #expect(received.entries == [100])
        token.cancel()
    }

    @Test("The examples of the forms")
    func forms() {
        let (a, b, c) = (Observed(1), Observed(2), Observed(3))
        let chosen = Derived { get in get(a) > 3 ? get(b) : get(c) }
        #expect(chosen.value == 3)
        a.value = 4
        #expect(chosen.value == 2)
        let (items, index) = (Observed(["x", "y"]), Observed(1))
        let selected = Derived { get in
            let (items, index) = get(Group(items, index))
            return items[index]
        }
        #expect(selected.value == "y")
        items.value = ["p", "q"]
        #expect(selected.value == "q")
    }

    fileprivate struct Client: Sendable {
        struct Profile: Sendable { let name: String }

        func profile(of id: Int) async throws -> Profile { Profile(name: "user \(id)") }
    }

    @Test("The example of a function that suspends")
    func suspending() async throws {
        let client = Client()
        let userID = Observed(17)
        let profile = AsyncDerived(userID) { id in try await client.profile(of: id) }
        let name = try await profile.result().name
        #expect(name == "user 17")
    }

    @Test("A source that runs while it is observed")
    func whileObserved() async throws {
        struct Quote { let price: Double }
        struct Exchange {
            func quotes() -> AsyncStream<Quote> {
                AsyncStream { continuation in
                    continuation.yield(Quote(price: 9.5))
                    continuation.finish()
                }
            }
        }
        let exchange = Exchange()
        let price = WhileObserved(0.0, grace: .seconds(5)) { price in
            for await quote in exchange.quotes() { price.value = quote.price }
        }
        let first = try await price.first { $0 > 0 }
        #expect(first == 9.5)
    }
}
