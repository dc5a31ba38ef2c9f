// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Testing

extension Promises {
    @Suite("P5 The names in the traps of bodies")
    struct P05ModifyNamesTests {}
}

/// A change inside the body of another property.
enum NamedMisuse: String, CaseIterable, Codable, Sendable {
    case set, modify, exchange, compareExchange, unlabelled, weak, ofWeak, commit, largeCommit, commitInModify

    func commit() {
        let (from, to) = (Observed(0, label: "from"), Observed("", label: "to"))
        switch self {
        case .set: from.modify { _ in to.value = "a" }
        case .modify: from.modify { _ in to.modify { $0 = "a" } }
        case .exchange: from.modify { _ in _ = to.exchange("a") }
        case .compareExchange: from.modify { _ in _ = to.compareExchange(expected: "", desired: "a") }
        case .unlabelled: Observed([0.5]).modify { _ in Observed("").value = "a" }
        case .weak: from.modify { _ in WeakObserved<Referent>(nil, label: "owner").value = nil }
        case .ofWeak: Group(WeakObserved<Referent>(), from).commit { _ in to.value = "a" }
        case .commit: Group(from, Observed(true)).commit { _ in to.value = "a" }
        case .largeCommit:
            PropertyList((0..<10).map { Observed($0, label: "\($0)") }).commit { _ in to.value = "a" }
        case .commitInModify: from.modify { _ in Group(from, to).commit { _ in } }
        }
    }

    /// The parts of the message that name the two properties.
    var names: [String] {
        switch self {
        case .unlabelled:
            [
                "a property of type Observed<String> was changed inside the modify of a property of type Observed<Array<Double>>."
            ]
        case .weak:
            ["the property 'owner' of type WeakObserved<Referent> was changed inside the modify of the property 'from'"]
        case .ofWeak: ["a property of type WeakObserved<Referent>", "the property 'from' of type Observed<Int>"]
        case .commit:
            [
                "the property 'to' of type Observed<String> was changed inside the commit of ",
                "a property of type Observed<Bool>", "the property 'from' of type Observed<Int>",
            ]
        case .largeCommit: ["the property 'to' of type Observed<String>", ", and 2 others."]
        case .commitInModify: ["It was called inside the modify of the property 'from' of type Observed<Int>."]
        default:
            [
                "the property 'to' of type Observed<String> was changed inside the modify of the property 'from' of type Observed<Int>."
            ]
        }
    }
}

extension Promises.P05ModifyNamesTests {
    @Test("P5 The trap of a change inside another property's body names both", arguments: NamedMisuse.allCases)
    func names(misuse: NamedMisuse) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
            Process.limitLife(seconds: 20)
            misuse.commit()
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        for name in misuse.names { #expect(text.contains(name), "\(text.prefix(1_000))") }
    }
}
