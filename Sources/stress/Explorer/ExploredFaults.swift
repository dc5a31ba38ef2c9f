// SPDX-License-Identifier: Apache-2.0

/// The faults that a search adds to any program, one a schedule: `stress explore --faults`.
struct ExploredFaults: OptionSet, Hashable, Sendable {
    let rawValue: Int
    /// The library has no thread at first. When it asks for one, the request may be refused,
    /// sometimes several times in a row. (P9, P14)
    static let noThread = ExploredFaults(rawValue: 1)
    /// A thread exits in user code that the library has called. (P17)
    static let exit = ExploredFaults(rawValue: 2)

    static let all: ExploredFaults = [.noThread, .exit]

    /// The faults one by one, with their names.
    static let names: [(name: String, fault: ExploredFaults)] = [("no-thread", .noThread), ("exit", .exit)]

    /// Parses names that are joined by commas or plus signs. `all` stands for every fault.
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
