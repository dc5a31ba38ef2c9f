// SPDX-License-Identifier: Apache-2.0

/// The place where a derived value was made, and how the derived value ends a ring. Thirteen bytes.
@usableFromInline
internal struct DerivationPlace: Sendable {
    /// The address of the file's name, which ends with a zero byte; or 0.
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
