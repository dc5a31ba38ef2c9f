// SPDX-License-Identifier: Apache-2.0

/// One step of a thread: an access to a location, a barrier, or a branch.
///
/// Registers have names that are unique in a test. A register keeps what its one instruction has
/// read.
public struct Instruction: Sendable {
    public enum Kind: Sendable, Equatable {
        case load, store
        /// Reads and writes in one step. With an expected value it is a compare-exchange that
        /// succeeds; one that fails is a load.
        case update(Update)
        case fence
        /// The compiler keeps the order; the processor is not asked to.
        case compilerBarrier
        /// A full barrier of every other thread, at some point of its own, between what is before
        /// the call and what is after it.
        case membarrier
        /// A branch: the instructions after it are executed only if the register has the value that
        /// the test says.
        case branch
    }

    public enum Update: Sendable, Equatable { case exchange, add, or, compareExchange(expected: Value) }

    public var kind: Kind
    public var location = ""
    public var order = Order.relaxed
    public var into: String?
    public var value: Value = 0

    /// Registers that the address is computed from; `picked`: through a conditional selection.
    public var address: [String] = []
    /// Registers that the stored value is computed from.
    public var data: [String] = []
    public var pickedAddress: [String] = []
    public var pickedData: [String] = []
    /// The register that a branch tests.
    public var control: [String] = []

    /// Set for tests of instructions; for tests of source code a `Target` chooses.
    public var marks: Marks?
    public var barrier: Barrier?

    /// Where the code has this step. Steps without one are scenery: they are never weakened.
    public var site: Site?
    /// Weakenings that no test finds, each with the reason why the code has the stronger ordering.
    public var kept: [String: String] = [:]

    init(_ kind: Kind, _ location: String = "") {
        self.kind = kind
        self.location = location
    }
}

/// A value to store: a constant, or a value computed from a register.
public enum Value: Sendable, Equatable, ExpressibleByIntegerLiteral {
    case constant(Int)
    case register(String, plus: Int)

    public init(integerLiteral value: Int) { self = .constant(value) }
    public static func register(_ name: String) -> Value { .register(name, plus: 0) }
}

/// A line of the library's sources.
public struct Site: Sendable, Hashable {
    /// Below `Sources/ConcurrentObserve`.
    public let file: String
    /// A part of exactly one line of the file's code after `after`, at or a few lines before the
    /// ordering.
    public let fragment: String
    /// A part of exactly one line of the file's code, or empty: the beginning of the file.
    public let after: String
}

// MARK: - The notation

extension Instruction {
    public static func load(_ location: String, _ order: Order, into: String, address: [String] = []) -> Instruction {
        var result = Instruction(.load, location)
        (result.order, result.into, result.address) = (order, into, address)
        return result
    }

    public static func store(_ location: String, _ value: Value, _ order: Order, address: [String] = []) -> Instruction
    {
        var result = Instruction(.store, location)
        (result.order, result.value, result.address) = (order, value, address)
        return result
    }

    public static func update(_ location: String, _ update: Update, _ value: Value, _ order: Order, into: String? = nil)
        -> Instruction
    {
        var result = Instruction(.update(update), location)
        (result.order, result.value, result.into) = (order, value, into)
        return result
    }

    public static func exchange(_ location: String, _ value: Value, _ order: Order, into: String? = nil) -> Instruction
    {
        update(location, .exchange, value, order, into: into)
    }

    public static func compareExchange(
        _ location: String,
        _ expected: Value,
        _ desired: Value,
        _ order: Order,
        into: String? = nil
    ) -> Instruction {
        update(location, .compareExchange(expected: expected), desired, order, into: into)
    }

    public static func fence(_ order: Order) -> Instruction {
        var result = Instruction(.fence)
        result.order = order
        return result
    }

    /// The light side of the asymmetric barrier.
    public static var light: Instruction { Instruction(.compilerBarrier) }
    /// The heavy side of the asymmetric barrier.
    public static var membarrier: Instruction { Instruction(.membarrier) }

    public static func branch(_ register: String) -> Instruction {
        var result = Instruction(.branch)
        result.control = [register]
        return result
    }

    /// Takes a lock that is free.
    public static func lock(_ location: String) -> Instruction { .compareExchange(location, 0, 1, .acquiring) }
    public static func unlock(_ location: String) -> Instruction { .exchange(location, 0, .releasing) }

    /// This step, at a line of the code.
    public func at(_ file: String, _ fragment: String, after: String = "") -> Instruction {
        with { $0.site = Site(file: file, fragment: fragment, after: after) }
    }

    /// Marks a step whose ordering is stronger than any test needs: `change` is the weakening that
    /// shows it, `reason` says why the ordering stays.
    public func keeps(_ change: String, because reason: String) -> Instruction { with { $0.kept[change] = reason } }

    func with(_ change: (inout Instruction) -> Void) -> Instruction {
        var result = self
        change(&result)
        return result
    }
}

extension Instruction: CustomStringConvertible {
    public var description: String {
        let target = into.map { "\($0) = " } ?? ""
        let marks = marks.map { $0.isEmpty ? "" : " \($0.names)" } ?? ""
        let order = order == .relaxed ? "" : " \(order.rawValue)"
        switch kind {
        case .load: return "\(target)load \(location)\(order)\(marks)"
        case .store: return "store \(location) \(value)\(order)\(marks)"
        case .update(.exchange): return "\(target)exchange \(location) \(value)\(order)\(marks)"
        case .update(.add): return "\(target)add \(location) \(value)\(order)\(marks)"
        case .update(.or): return "\(target)or \(location) \(value)\(order)\(marks)"
        case .update(.compareExchange(let expected)):
            return "\(target)compareExchange \(location) \(expected) → \(value)\(order)\(marks)"
        case .fence: return barrier.map { "barrier \($0.rawValue)" } ?? "fence\(order)"
        case .compilerBarrier: return "compiler barrier"
        case .membarrier: return "membarrier"
        case .branch: return "if \(control[0])"
        }
    }
}

extension Value: CustomStringConvertible {
    public var description: String {
        switch self {
        case .constant(let value): "\(value)"
        case .register(let name, plus: 0): name
        case .register(let name, let more): "\(name)+\(more)"
        }
    }
}

extension Marks {
    var names: String {
        let all: [(Marks, String)] = [
            (.acquire, "acq"), (.acquirePC, "acqPC"), (.release, "rel"), (.exclusive, "excl"), (.noReturn, "noret"),
            (.locked, "lock"),
        ]
        return all.filter { contains($0.0) }.map(\.1).joined(separator: "+")
    }
}
