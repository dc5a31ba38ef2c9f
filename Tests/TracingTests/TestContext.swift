// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import Dispatch
import Foundation
import InMemoryLogging
import Logging
import Synchronization
import Tracing

/// A context value that counts its instances, and shows where it is destroyed.
final class Tag: Sendable {
    static let live = Atomic<Int>(0)
    let id: Int
    private let whenDestroyed: (@Sendable () -> Void)?

    init(_ id: Int, whenDestroyed: (@Sendable () -> Void)? = nil) {
        (self.id, self.whenDestroyed) = (id, whenDestroyed)
        Self.live.add(1, ordering: .relaxed)
    }

    deinit {
        whenDestroyed?()
        Self.live.subtract(1, ordering: .relaxed)
    }
}

private enum TagKey: ServiceContextKey { typealias Value = Tag }

extension ServiceContext {
    var tag: Tag? {
        get { self[TagKey.self] }
        set { self[TagKey.self] = newValue }
    }
}

/// Calls `body` with a context and a logger of one id.
func inContext<Result>(_ id: Int, _ body: () -> Result) -> Result { inContext(Tag(id), body) }

func inContext<Result>(_ tag: Tag, _ body: () -> Result) -> Result {
    var context = ServiceContext.topLevel
    context.tag = tag
    var logger = Logger(label: "test") { _ in InMemoryLogHandler() }
    logger[metadataKey: "id"] = "\(tag.id)"
    return ServiceContext.withValue(context) { withLogger(logger) { _ in body() } }
}

/// Sets a property from four tasks at once, each in its own context, to numbers that all differ.
func setConcurrently(_ property: Observed<Int>) async {
    await withTaskGroup { group in
        for thread in 1...4 {
            group.addTask {
                for value in 1...500 {
                    let id = thread * 1_000 + value
                    inContext(id) { property.value = id }
                }
            }
        }
    }
}

/// A value that a callback has received, and the context in which it ran.
struct Seen: Equatable, Sendable {
    var value: Int
    var context: Int?
    var logger: Int?

    init(_ value: Int, context: Int?) { (self.value, self.context, logger) = (value, context, context) }

    /// Records the context of the calling task.
    init(_ value: Int) {
        self.value = value
        context = ServiceContext.current?.tag?.id
        logger = Logger.current[metadataKey: "id"].flatMap { Int("\($0)") }
    }

    var agrees: Bool { context == value && logger == value }
}

final class Log<Entry: Sendable>: Sendable {
    private let list = Mutex<[Entry]>([])
    var entries: [Entry] { list.withLock { $0 } }
    func append(_ entry: Entry) { list.withLock { $0.append(entry) } }
}

/// A callback that blocks its thread until the test releases it.
final class Hold: Sendable {
    private let entered = DispatchSemaphore(value: 0)
    private let exit = DispatchSemaphore(value: 0)

    /// Blocks. Call it in the callback.
    func hold() {
        entered.signal()
        exit.wait()
    }

    /// Calls `begin` on another thread, and `body` while the callback blocks. Returns when `begin`
    /// has returned.
    func whileHeld(_ begin: @escaping @Sendable () -> Void, _ body: () -> Void) async {
        async let begun: Void = Self.elsewhere(begin)
        await Self.elsewhere { [entered] in entered.wait() }
        body()
        exit.signal()
        await begun
    }

    private static func elsewhere(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                body()
                continuation.resume()
            }
        }
    }
}

@globalActor actor Stage { static let shared = Stage() }

/// A form of observing whose delivery is deferred.
enum Place: CaseIterable {
    case serial, queue, concurrentQueue, actor, onActor, isolated

    func observe<Property: ObservableProperty>(
        _ property: Property,
        _ buffering: Buffering,
        options: ObservationOptions = [],
        _ body: @escaping @Sendable (Change<Property.Value>) -> Void
    ) -> Kept {
        let actor = ObservationActor()
        let token =
            switch self {
            case .serial:
                property.observe(options: options, delivery: .serial(buffering: buffering), body)
            case .queue:
                property.observe(
                    options: options,
                    delivery: .queue(DispatchQueue(label: "q"), buffering: buffering),
                    body
                )
            case .concurrentQueue:
                property.observe(
                    options: options,
                    delivery: .queue(DispatchQueue(label: "q", attributes: .concurrent), buffering: buffering),
                    body
                )
            case .actor:
                property.observe(options: options, delivery: .actor(actor, buffering: buffering), body)
            case .onActor:
                property.observe(on: actor, options: options, buffering: buffering) { _, change in body(change) }
            case .isolated:
                property.observeIsolated(options: options, buffering: buffering) { @Stage change in body(change) }
            }
        return Kept(token: token, actor: actor)
    }
}

/// The objects that keep an observation going.
struct Kept {
    let token: ObservationToken
    let actor: ObservationActor

    func flush() async { await token.flush() }
    func end() async { await token.cancelAndWait() }
}

let policies: [Buffering] = [.unbounded, .latest, .droppingOldest(2), .droppingNewest(2)]

extension Buffering {
    /// The values among 1 to 6 that are delivered if they come while the observer is busy.
    var keptOfSix: [Int] {
        switch self {
        case .unbounded: Array(1...6)
        case .latest: [6]
        case .droppingOldest: [5, 6]
        case .droppingNewest: [1, 2]
        }
    }
}
#endif
