// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Litmus

@Suite("The checker")
struct CheckerTests {
    @Test("agrees with every published verdict for AArch64", arguments: PublishedTest.all.map(\.name))
    func published(name: String) throws {
        let published = try #require(PublishedTest.all.first { $0.name == name })
        #expect((Checker.find(in: published.test, for: .instructions) != nil) == published.isAllowed)
    }

    @Test("knows at least sixty published tests, each once")
    func publishedNames() {
        let names = PublishedTest.all.map(\.name)
        #expect(names.count >= 60 && Set(names).count == names.count)
    }

    @Test("agrees with the literature", arguments: Target.allCases)
    func classics(target: Target) {
        for classic in ClassicTest.all {
            #expect(
                (Checker.find(in: classic.test, for: target) != nil) == classic.allowed.contains(target),
                "\(classic.test.name)"
            )
        }
    }

    @Test("every row of the protocol is reached and holds", arguments: Target.allCases)
    func rows(target: Target) {
        for (variant, test) in Protocol.withTwins {
            #expect(Checker.find(.reached, in: test, for: target) != nil, "\(test.name), \(variant)")
            #expect(Checker.find(in: test, for: target) == nil, "\(test.name), \(variant)")
        }
    }

    @Test("rows have names of their own, at most four threads and eight events each")
    func sizes() {
        #expect(Set(Protocol.all.map(\.name)).count == Protocol.all.count)
        for test in Protocol.all {
            #expect(test.threads.count <= 4)
            for thread in 0..<test.threads.count {
                let events = EventGraph(test, for: .armv81).events.filter { $0.thread == thread && $0.kind != .barrier }
                #expect(events.count <= 8, "\(test.name)")
            }
        }
    }

    @Test("finds the defects that the library had", arguments: Defect.all.map(\.name))
    func defects(name: String) throws {
        let defect = try #require(Defect.all.first { $0.name == name })
        #expect(Set(Target.allCases.filter { Checker.find(in: defect.test, for: $0) != nil }) == defect.found)
    }

    @Test("prints an execution as a table of threads")
    func table() throws {
        let finding = try #require(Checker.find(in: Defect.all[0].test, for: .armv80))
        #expect(finding.table.contains("| bodies") && finding.table.contains("| registrar"))
        #expect(finding.table.contains("version = load version acquiring acq ← 0, from its first value"))
    }
}

@Suite("A relation")
struct RelationTests {
    @Test("composes, closes and inverts")
    func algebra() {
        var steps = Relation(4)
        for index in 0..<3 { steps.insert(index, index + 1) }
        #expect((steps * steps).contains(0, 2) && !(steps * steps).contains(0, 1))
        #expect(steps.transitiveClosure.contains(0, 3) && steps.isAcyclic)
        #expect(steps.inverse.contains(3, 2) && !steps.inverse.contains(2, 3))
        steps.insert(3, 0)
        #expect(!steps.isAcyclic)
    }
}

@Suite("A compiler")
struct ReorderingTests {
    @Test("moves a load above a releasing store, unless a barrier is between them")
    func roachMotel() {
        let store = Instruction.store("x", 1, .releasing)
        let load = Instruction.load("y", .relaxed, into: "a")
        #expect(Reordering.orders(of: [store, load]).count == 2)
        #expect(Reordering.orders(of: [store, .light, load]).count == 1)
        #expect(Reordering.orders(of: [load, store]).count == 1)
        #expect(Reordering.orders(of: [.load("y", .acquiring, into: "a"), .store("x", 1, .relaxed)]).count == 1)
        #expect(Reordering.orders(of: [load, .store("z", .register("a"), .relaxed)]).count == 1)
    }
}
