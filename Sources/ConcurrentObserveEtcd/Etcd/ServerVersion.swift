// SPDX-License-Identifier: Apache-2.0

#if Etcd
/// The version of a server. It decides whether the mirror may trust the order of progress answers:
/// see `ordersProgressAnswers`.
struct ServerVersion: Sendable, Equatable {
    let parts: [Int]

    init?(_ text: String) {
        let numbers = text.prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        parts = numbers
    }

    /// Whether the server sends answers to progress requests in order with the events. Older
    /// servers do not: see etcd's issue 15220.
    var ordersProgressAnswers: Bool {
        switch (parts[0], parts[1]) {
        case (3, ..<4): false
        case (3, 4): parts[2] >= 25
        case (3, 5): parts[2] >= 8
        default: parts[0] >= 3
        }
    }
}
#endif
