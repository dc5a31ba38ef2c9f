// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// The ways in which callbacks are delivered that are not inline.
enum Route: String, CaseIterable, Sendable {
    case serial, queue, concurrentQueue
    /// On an actor; by a closure that is isolated to an actor; by one that is passed in an actor's code
    /// and carries no isolation.
    case actor, isolated, written

    /// Those whose callbacks may block.
    static let blocking = allCases
}

/// The kinds of sources.
enum Origin: String, CaseIterable, Sendable {
    case property, path, registry

    /// Those whose changes have versions.
    static let versioned = [property, path]
}

/// What an observer of any source has heard.
struct Heard: Sendable, Equatable, CustomStringConvertible {
    enum Kind: Sendable { case initial, prior, change, end }

    let kind: Kind
    var old: Int?
    var number: Int?
    var version: UInt64 = 0

    init(event: Int) {
        kind = .change
        number = event
    }

    init(_ change: Change<Int>) {
        kind =
            switch change.reason {
            case .initial: .initial
            case .sourceDeleted: .end
            default: change.isPrior ? .prior : .change
            }
        (old, number, version) = (change.old, change.new, change.version)
    }

    var description: String { "\(kind) \(old.map { "\($0)" } ?? "-") → \(number.map { "\($0)" } ?? "-") @\(version)" }
}

/// Where the callbacks of a route run.
final class Room: Sendable {
    let route: Route
    let queue: DispatchQueue
    let listener = Listener()

    init(_ route: Route) {
        self.route = route
        queue = DispatchQueue(label: "a room", attributes: route == .concurrentQueue ? .concurrent : [])
    }

    func delivery(_ buffering: Buffering) -> Delivery {
        route == .serial ? .serial(buffering) : .queue(queue, buffering)
    }

    /// Runs `body` where the callbacks run, between two of them.
    func perform(_ body: @escaping @Sendable () -> Void) throws {
        switch route {
        case .serial: body()
        case .queue, .concurrentQueue: queue.sync(execute: body)
        case .actor, .isolated, .written: try listener.perform { _ in body() }
        }
    }

    /// Traps unless it is called where the callbacks run.
    func check() {
        switch route {
        case .serial: break
        case .queue, .concurrentQueue: dispatchPrecondition(condition: .onQueue(queue))
        case .actor, .isolated, .written: listener.preconditionIsolated()
        }
    }

    /// Observes with a closure that is isolated as the route says, in the listener's code.
    ///
    /// - Parameter observe: Receives that closure, and the actor whose code it is passed in.
    func observing<Value: Sendable>(
        _ body: @escaping @Sendable (Value) -> Void,
        _ observe:
            @escaping @Sendable (
                _ isolation: any Actor, _ body: @escaping @isolated(any) @Sendable (Value) -> Void
            ) -> ObservationToken
    ) -> ObservationToken {
        let made = Slot<ObservationToken>()
        let isWritten = route == .written
        try! listener.perform { listener in
            if isWritten {
                made.put(observe(listener) { body($0) })
            } else {
                made.put(observe(listener, listener.isolating(body)))
            }
        }
        return made.take()!
    }
}

/// A source of any kind, with a number that changes.
final class Stage: Sendable {
    let origin: Origin
    let property = Slot<Observed<Int>>()
    let car = Slot<Car>()
    let registry = Slot<ObserverRegistry<Int>>()

    init(_ origin: Origin) {
        self.origin = origin
        switch origin {
        case .property: property.put(Observed(0))
        case .path: car.put(Car(0))
        case .registry: registry.put(ObserverRegistry())
        }
    }

    /// Makes a change.
    func send(_ number: Int) {
        switch origin {
        case .property: property.value!.value = number
        case .path: car.value!.setPressure(number)
        case .registry: registry.value!.notify(number)
        }
    }

    /// Makes a change, of a path now and then by a replacement of one of its steps.
    func sendVaried(_ number: Int) {
        guard origin == .path, number % 3 != 0 else { return send(number) }
        if number % 3 == 1 {
            car.value!.axle.value = Axle(number)
        } else {
            car.value!.axle.value.wheel.value = Wheel(number)
        }
    }

    /// The present number, of a source that has one.
    var number: Int? {
        switch origin {
        case .property: property.value!.value
        case .path: car.value!.pressure
        case .registry: nil
        }
    }

    /// How many observe.
    var observerCount: Int {
        switch origin {
        case .property: property.value!.observerCount
        // The observers of paths are not counted: those of its first step tell whether there is any.
        case .path: ConcurrentObserveDiagnostics.current().liveObservers
        case .registry: registry.value!.count
        }
    }

    /// Ends all observations.
    func removeAll() {
        switch origin {
        case .property: property.value!.removeAllObservers()
        case .path: car.value!.removeAllObservers()
        case .registry: registry.value!.removeAll()
        }
    }

    /// Ends all observations of an owner.
    func removeAll(ownedBy owner: AnyObject) {
        switch origin {
        case .property: property.value!.removeAllObservers(ownedBy: owner)
        case .path: ObservationToken.cancelAll(ownedBy: owner)
        case .registry: registry.value!.removeAll(ownedBy: owner)
        }
    }

    /// Lets go of the source.
    func die() {
        property.clear()
        car.clear()
        registry.clear()
    }

    /// A reference that keeps nothing.
    var isAlive: () -> Bool {
        switch origin {
        case .property:
            let weak = Weak(property.value!)
            return { weak.object != nil }
        case .path:
            let weak = Weak(car.value!)
            return { weak.object != nil }
        case .registry:
            let weak = Weak(registry.value!)
            return { weak.object != nil }
        }
    }
}

// MARK: - Observing

extension Stage {
    func observe(
        in room: Room,
        options: ObservationOptions = [.old, .new],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Heard) -> Void
    ) -> ObservationToken {
        let hear: @Sendable (Change<Int>) -> Void = { body(Heard($0)) }
        let hearEvent: @Sendable (Int) -> Void = { body(Heard(event: $0)) }
        switch (room.route, origin) {
        case (.actor, .property):
            return property.value!.observe(on: room.listener, options: options, buffering: buffering) { hear($1) }
        case (.actor, .path):
            return car.value!.observe(\.axle.wheel.pressure, on: room.listener, options: options, buffering: buffering)
            {
                hear($1)
            }
        case (.actor, .registry):
            return registry.value!.observe(on: room.listener, buffering: buffering) { hearEvent($1) }
        case (.isolated, .property), (.written, .property):
            let property = property.value!
            return room.observing(hear) {
                property.observe(options: options, buffering: buffering, isolation: $0, $1)
            }
        case (.isolated, .path), (.written, .path):
            let car = car.value!
            return room.observing(hear) {
                car.observe(\.axle.wheel.pressure, options: options, buffering: buffering, isolation: $0, $1)
            }
        case (.isolated, .registry), (.written, .registry):
            let registry = registry.value!
            return room.observing(hearEvent) { registry.observe(buffering: buffering, isolation: $0, $1) }
        case (_, .property):
            return property.value!.observe(options: options, delivery: room.delivery(buffering), hear)
        case (_, .path):
            return car.value!.observe(\.axle.wheel.pressure, options: options, delivery: room.delivery(buffering), hear)
        case (_, .registry): return registry.value!.observe(delivery: room.delivery(buffering), hearEvent)
        }
    }

    /// With the observation as a second parameter: serial and queue alone.
    func observeWithHandle(
        in room: Room,
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Heard, ObservationHandle) -> Void
    ) -> ObservationToken {
        switch origin {
        case .property:
            property.value!.observe(delivery: room.delivery(buffering)) { body(Heard($0), $1) }
        case .path:
            car.value!.observe(\.axle.wheel.pressure, delivery: room.delivery(buffering)) { body(Heard($0), $1) }
        case .registry:
            registry.value!.observe(delivery: room.delivery(buffering)) { body(Heard(event: $0), $1) }
        }
    }

    /// Bound to an owner: serial and queue alone.
    func observe<Owner: AnyObject & Sendable>(
        in room: Room,
        owner: Owner,
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Owner, Heard) -> Void
    ) -> ObservationToken {
        switch origin {
        case .property:
            property.value!.observe(owner: owner, delivery: room.delivery(buffering)) { body($0, Heard($1)) }
        case .path:
            car.value!.observe(\.axle.wheel.pressure, owner: owner, delivery: room.delivery(buffering)) {
                body($0, Heard($1))
            }
        case .registry:
            registry.value!.observe(owner: owner, delivery: room.delivery(buffering)) { body($0, Heard(event: $1)) }
        }
    }
}
