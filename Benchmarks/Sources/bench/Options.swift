// SPDX-License-Identifier: Apache-2.0

/// What the command line asks for.
struct Options {
    /// Fewer and shorter rounds: a look, not a judgement to rely on.
    var isQuick = false
    /// Where the figures are written, if anywhere.
    var jsonPath: String?
    /// Part of the names of the cases to measure; nil for all.
    var part: String?
    var wantsHelp = false

    struct UsageError: Error { let message: String }

    init(_ arguments: some Sequence<String>) throws(UsageError) {
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--help", "-h": wantsHelp = true
            case "--json":
                guard let path = rest.popFirst(), !path.isEmpty, !path.hasPrefix("--") else {
                    throw UsageError(message: "--json needs the file to write. See --help.")
                }
                jsonPath = path
            case "--only":
                guard let part = rest.popFirst(), !part.isEmpty, !part.hasPrefix("--") else {
                    throw UsageError(message: "--only needs a part of the cases' names. See --help.")
                }
                self.part = part
            default: throw UsageError(message: "unknown argument '\(argument)'. See --help.")
            }
        }
    }

    static let help = """
        usage: bench [--quick] [--only TEXT] [--json FILE]

        Compares the library with the same loops written in C, and with a mutex and an array copy, in one run.

          --quick      fewer and shorter rounds
          --only TEXT  measure the cases whose names contain TEXT
          --json FILE  write the figures to FILE as well

        exit codes: 0 every bar holds, 1 wrong usage, 2 a bar falls short, 4 a bar could not be judged
        """
}
