// SPDX-License-Identifier: Apache-2.0

/// Where a derived value was made: twelve bytes.
@usableFromInline
internal struct DerivationPlace: Sendable {
    /// Where the file's name begins, which ends with a zero; or 0.
    private let file: UInt
    private let line: UInt32

    @usableFromInline
    init(_ file: StaticString, _ line: UInt) {
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
