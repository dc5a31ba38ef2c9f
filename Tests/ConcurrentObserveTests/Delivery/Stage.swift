// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Dispatch

/// The ways of delivery that are not inline.
enum Route: String, CaseIterable, Sendable {
    case serial, queue, concurrentQueue
    /// On an actor: with a closure and the actor, with a closure that is isolated to the actor, or
    /// with a closure without isolation that is passed in the actor's code.
    case actor, isolated, written
    /// On an observation actor.
    case observationActor

    /// The routes that a `Delivery` names. All forms of `observe` can use them.
    static let named = [serial, queue, concurrentQueue, observationActor]

    /// The routes whose callbacks may block, because they do not run on threads of the cooperative
    /// pool.
    static let blocking = allCases.filter { $0 != .observationActor }

    /// The routes that a `Delivery` names and whose callbacks may block.
    static let namedBlocking = named.filter { $0 != .observationActor }
}

/// The kinds of sources.
enum Origin: String, CaseIterable, Sendable {
    case property, path, registry

    /// The origins whose changes have versions.
    static let versioned = [property, path]
}

/// An event that an observer of any source has received.
struct ReceivedEvent: Sendable, Equatable, CustomStringConvertible {
    enum Kind: Sendable { case initial, prior, change }

    let kind: Kind
    var old: Int?
    let number: Int
    var version: UInt64 = 0

    init(event: Int) {
        kind = .change
        number = event
    }

    init(_ change: Change<Int>) {
        kind =
            switch change.reason {
            case .initial: .initial
            case .prior: .prior
            case .valueChanged, .pathChanged: .change
            }
        (old, number, version) = (change.old, change.new, change.version)
    }

    var description: String { "\(kind) \(old.map { "\($0)" } ?? "-") → \(number) @\(version)" }
}

/// The place in which the callbacks of a route run.
final class Room: Sendable {
    let route: Route
    let queue: DispatchQueue
    let listener = Listener()
    private let observationActor = Slot<ObservationActor>()

    init(_ route: Route) {
        self.route = route
        queue = DispatchQueue(label: "a room", attributes: route == .concurrentQueue ? .concurrent : [])
    }

    /// Returns the delivery that the route names. The room retains an observation actor for each
    /// policy.
    func delivery(_ buffering: Buffering) -> Delivery {
        switch route {
        case .serial: return .serial(buffering: buffering)
        case .observationActor:
            let actor = observationActor.value ?? ObservationActor(buffering: buffering)
            precondition(actor.buffering == buffering, "a room's observation actor has one policy")
            observationActor.put(actor)
            return .actor(actor)
        default: return .queue(queue, buffering: buffering)
        }
    }

    /// Runs `body` in the place of the callbacks, between two of them.
    func perform(_ body: @escaping @Sendable () -> Void) throws {
        switch route {
        case .serial: body()
        // A barrier: on a concurrent queue, too, what began earlier has returned.
        case .queue, .concurrentQueue: queue.sync(flags: .barrier, execute: body)
        case .actor, .isolated, .written: try listener.perform { _ in body() }
        case .observationActor:
            let (actor, done) = (observationActor.value!, Signal("a job of an observation actor"))
            Task.detached {
                await actor.perform(body)
                done.happen()
            }
            try done.wait()
        }
    }

    /// Traps if the caller is not in the place of the callbacks.
    func check() {
        switch route {
        case .serial: break
        case .queue, .concurrentQueue: dispatchPrecondition(condition: .onQueue(queue))
        case .actor, .isolated, .written: listener.preconditionIsolated()
        case .observationActor: observationActor.value!.preconditionIsolated()
        }
    }

    /// Observes with a closure that has the isolation of the route, in the code of the listener.
    ///
    /// - Parameter observe: Receives that closure, and the actor in whose code it is passed.
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

extension ObservationActor {
    func perform(_ body: @Sendable () -> Void) { body() }
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

    /// Makes a change. On a path, it sometimes replaces one of the steps.
    func sendVaried(_ number: Int) {
        guard origin == .path, number % 3 != 0 else { return send(number) }
        if number % 3 == 1 {
            car.value!.axle.value = Axle(number)
        } else {
            car.value!.axle.value.wheel.value = Wheel(number)
        }
    }

    /// The present number; nil if the source has none.
    var number: Int? {
        switch origin {
        case .property: property.value!.value
        case .path: car.value!.pressure
        case .registry: nil
        }
    }

    /// The number of observations.
    var observationCount: Int {
        switch origin {
        case .property: property.value!.observationCount
        case .path: car.value!.axle.observationCount
        case .registry: registry.value!.observationCount
        }
    }

    /// Ends all observations.
    func cancelAll() {
        switch origin {
        case .property: property.value!.cancelAllObservations()
        case .path: car.value!.cancelAllObservations()
        case .registry: registry.value!.cancelAllObservations()
        }
    }

    /// Ends all observations of an owner.
    func cancelAll(ownedBy owner: AnyObject) {
        switch origin {
        case .property: property.value!.cancelAllObservations(ownedBy: owner)
        case .path: car.value!.axle.cancelAllObservations(ownedBy: owner)
        case .registry: registry.value!.cancelAllObservations(ownedBy: owner)
        }
    }

    /// Releases the source.
    func die() {
        property.clear()
        car.clear()
        registry.clear()
    }

    /// Returns whether the source is alive. It does not retain the source.
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
    /// The observed property with the number. A registry has none.
    var observed: any ObservableProperty<Int> {
        switch origin {
        case .property: property.value!
        case .path: car.value!.property(\.axle.wheel.pressure)
        case .registry: fatalError("a registry has no number")
        }
    }

    func observe(
        in room: Room,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (ReceivedEvent) -> Void
    ) -> ObservationToken {
        if let registry = registry.value { return registry.observe(in: room, buffering: buffering, body) }
        return observed.observe(in: room, options: options, buffering: buffering) { body(ReceivedEvent($0)) }
    }

    /// Observes with a closure that also receives the handle. A `Delivery` must name the route.
    func observeWithHandle(
        in room: Room,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (ReceivedEvent, ObservationHandle) -> Void
    ) -> ObservationToken {
        let delivery = room.delivery(buffering)
        if let registry = registry.value {
            return registry.observe(delivery: delivery) { body(ReceivedEvent(event: $0), $1) }
        }
        return observed.observe(options: options, delivery: delivery) { body(ReceivedEvent($0), $1) }
    }

    /// Observes with an owner. A `Delivery` must name the route.
    func observe<Owner: AnyObject & Sendable>(
        in room: Room,
        owner: Owner,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Owner, ReceivedEvent) -> Void
    ) -> ObservationToken {
        let delivery = room.delivery(buffering)
        if let registry = registry.value {
            return registry.observe(owner: owner, delivery: delivery) { body($0, ReceivedEvent(event: $1)) }
        }
        return observed.observe(owner: owner, options: options, delivery: delivery) { body($0, ReceivedEvent($1)) }
    }
}

extension ObservableProperty {
    /// Observes with the route of the room.
    func observe(
        in room: Room,
        options: ObservationOptions = [],
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        switch room.route {
        case .actor: observe(on: room.listener, options: options, buffering: buffering) { body($1) }
        case .isolated, .written:
            room.observing(body) {
                self.observeIsolated(options: options, buffering: buffering, isolation: $0, $1)
            }
        default: observe(options: options, delivery: room.delivery(buffering), body)
        }
    }
}

extension ObserverRegistry<Int> {
    /// Observes with the route of the room.
    func observe(
        in room: Room,
        buffering: Buffering = .unbounded,
        _ body: @escaping @Sendable (ReceivedEvent) -> Void
    ) -> ObservationToken {
        let receive: @Sendable (Int) -> Void = { body(ReceivedEvent(event: $0)) }
        return switch room.route {
        case .actor: observe(on: room.listener, buffering: buffering) { receive($1) }
        case .isolated, .written:
            room.observing(receive) { self.observeIsolated(buffering: buffering, isolation: $0, $1) }
        default: observe(delivery: room.delivery(buffering), receive)
        }
    }
}
