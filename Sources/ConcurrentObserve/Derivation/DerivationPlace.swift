// SPDX-License-Identifier: Apache-2.0

/// Where a derived value was made, and how it ends a ring: thirteen bytes.
@usableFromInline
internal struct DerivationPlace: Sendable {
    /// Where the file's name begins, which ends with a zero; or 0.
    private let file: UInt
    private let line: UInt32
    /// Whether a ring through the derived value is an error of its function, and no trap.
    let reportsRings: Bool

    @usableFromInline
    init(_ file: StaticString, _ line: UInt, reportsRings: Bool = false) {
        self.reportsRings = reportsRings
        // Safe: an address; a literal's characters are never freed.
        self.file = file.hasPointerRepresentation ? unsafe UInt(bitPattern: file.utf8Start) : 0
        self.line = UInt32(truncatingIfNeeded: line)
    }

    static var none: DerivationPlace { DerivationPlace("", 0) }

    /// The file and the line.
    var text: String {
        // Safe: as above.
        let name = unsafe UnsafePointer<UInt8>(bitPattern: file).map { unsafe String(cString: $0) }
        return "\(name ?? "?"):\(line)"
    }
}
