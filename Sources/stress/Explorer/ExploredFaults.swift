// SPDX-License-Identifier: Apache-2.0

/// The faults that a search adds to any program, one a schedule: `stress explore --faults`.
struct ExploredFaults: OptionSet, Hashable, Sendable {
    let rawValue: Int
    /// The library has no thread at first. Where it asks for one it may be refused, and then a few
    /// times in a row. (P9, P14)
    static let noThread = ExploredFaults(rawValue: 1)
    /// A thread exits in user code that the library has called. (P17)
    static let exit = ExploredFaults(rawValue: 2)

    static let all: ExploredFaults = [.noThread, .exit]

    /// Each by itself.
    static let names: [(name: String, fault: ExploredFaults)] = [("no-thread", .noThread), ("exit", .exit)]

    /// Names, joined by commas or plus signs; `all` is every fault.
    init?(text: some StringProtocol) {
        var faults: ExploredFaults = []
        for name in text.split(whereSeparator: { $0 == "," || $0 == "+" }) {
            if name == "all" {
                faults = .all
            } else if let fault = Self.names.first(where: { $0.name == name })?.fault {
                faults.insert(fault)
            } else {
                return nil
            }
        }
        if faults.isEmpty { return nil }
        self.init(rawValue: faults.rawValue)
    }

    init(rawValue: Int) { self.rawValue = rawValue }

    /// The names, joined by plus signs.
    var text: String { Self.names.filter { contains($0.fault) }.map(\.name).joined(separator: "+") }
}
