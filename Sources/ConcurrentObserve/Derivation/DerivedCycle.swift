// SPDX-License-Identifier: Apache-2.0

/// The error of a derived value that can never be current: it needs itself, or its function changes
/// a property that it reads. (P25)
///
/// A derived value that `Derived(throwing:)` has made has this error, if `Failure` is `any Error`
/// or `DerivedCycle`. Every other derived value traps.
///
/// ```swift
/// let total = Derived(throwing: { get in try get(subtotal).get() + get(fee) })
/// if case .failure(let error as DerivedCycle) = total.value { print(error.path) }
/// ```
///
/// A *ring* consists of derived values that need each other, or of one that needs itself. One
/// member of the ring has the error: a member whose function can throw it. Which of these members
/// has it is not defined, but it is always the same one, whichever member is read first. The others
/// are evaluated from its error, as from any error: they pass the error on with
/// `try get(other).get()`, or replace it. If rings share members, more than one of them may have an
/// error. The error is delivered as a change, and is kept until a property that led into the ring
/// changes.
///
/// A ring still traps if one of its members reads another without the reader: as `other.value`,
/// through a group that is not read member by member, or through a property of a type of yours.
public struct DerivedCycle: Error, Hashable, Sendable {
    /// The places where the derived values of the ring were made, as file and line. The first place
    /// is repeated at the end.
    public let path: [String]

    /// Makes the error for one ring.
    ///
    /// - Parameter ring: The place of each member once, in the order in which the members read each
    ///   other.
    internal init(_ ring: [String]) {
        // The path is the same, whichever member was read first.
        let first = ring.indices.min { ring[$0] < ring[$1] } ?? 0
        let ordered = Array(ring[first...] + ring[..<first])
        path = ordered + ordered.prefix(1)
    }

    @usableFromInline
    internal static func isReported<Failure: Error>(as _: Failure.Type) -> Bool {
        Failure.self == (any Error).self || Failure.self == DerivedCycle.self
    }
}

extension DerivedCycle: CustomStringConvertible {
    public var description: String {
        Set(path).count == 1
            ? "a derived value needs itself, or sets what it reads: \(path[0])"
            : "a derived value needs itself: \(path.joined(separator: " → "))"
    }
}

/// The place where a derived value was made, and whether it reports a ring as an error. Every
/// derived value keeps one, for traps and for `DerivedCycle.path`. It takes thirteen bytes.
@usableFromInline
internal struct DerivationPlace: Sendable {
    /// The address of the file's name, which ends with a zero byte; 0 if there is no such address.
    private let file: UInt
    private let line: UInt32
    /// Whether a ring through the derived value is an error of its function. If not, the process
    /// traps.
    let reportsRings: Bool

    @usableFromInline
    init(_ file: StaticString, _ line: UInt, reportsRings: Bool = false) {
        self.reportsRings = reportsRings
        // Safe: an address; a literal's characters are never freed.
        self.file = file.hasPointerRepresentation ? unsafe UInt(bitPattern: file.utf8Start) : 0
        self.line = UInt32(truncatingIfNeeded: line)
    }

    static var none: DerivationPlace { DerivationPlace("", 0) }

    /// The file and the line, as in `Module/File.swift:12`.
    var text: String {
        // Safe: the address of a literal's characters, which are never freed.
        let name = unsafe UnsafePointer<UInt8>(bitPattern: file).map { unsafe String(cString: $0) }
        return "\(name ?? "?"):\(line)"
    }
}
