// SPDX-License-Identifier: Apache-2.0

/// The library's protocol as litmus tests: the rows of the table "Orderings" in the article
/// *Protocol and memory model*.
///
/// A step that says `at` is a line of the library's code, with the ordering that stands there;
/// `Drift` compares the two. Steps without are scenery: liburcu's, the kernel's, the language's, or
/// another test's subject.
public enum Protocol {
    /// One row: a test with membarrier, or one that does not use it.
    public static let all: [Test] =
        walk + publication + ends + latch + commits + pinnedValues + retirement + magazines + rings + boxes + parking
        + locks + mailboxes
        + records + lifetimes + paths + derived + weakReferents + flags

    /// Every test and, of those that use membarrier, the twin without.
    public static let withTwins: [(variant: String, test: Test)] = all.flatMap { test in
        test.usesMembarrier ? [("membarrier", test), ("fences", test.fenced)] : [("", test)]
    }

    // liburcu's read section, and its grace period for one reader: an old section is awaited,
    // between two barriers.
    static let enterSection: [Instruction] = [.store("section", 1, .relaxed), .light]
    static let leaveSection: [Instruction] = [.light, .store("section", 0, .relaxed)]
    static let gracePeriod: [Instruction] = [.membarrier, .load("section", .relaxed, into: "inSection"), .membarrier]
}
