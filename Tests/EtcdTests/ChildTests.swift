// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation
import Testing

@Suite("The programs beside the tests", .timeLimit(.minutes(1)))
struct ChildTests {
    @Test("The output of a program that fails ends with it: a test that reads it does not wait for ever")
    func failure() throws {
        let begin = ContinuousClock.now
        #expect(try Child(["false"]).readLine() == nil)
        #expect(try Child(["no-such-program"]).readLine() == nil)
        #expect(begin.duration(to: .now) < .seconds(20))
    }

    @Test("A program's process id comes before what the program writes, however soon that is")
    func order() throws {
        for _ in 0..<50 {
            let child = try Child(["echo", "7"])
            #expect(child.id > 7)
            #expect(child.readLine() == "7")
        }
    }

    @Test("A program that is silent for longer than the limit has hung; it ends with its object")
    func silence() async throws {
        let id: Int32
        do {
            let child = try Child(["sleep", "1000"])
            id = child.id
            #expect(child.readLine(within: 50) == nil)
            #expect(kill(id, 0) == 0)
        }
        try await eventually("it has ended") { kill(id, 0) != 0 }
    }

    @Test("A command of etcdctl that fails is an error of the test's")
    func control() async throws {
        let etcd = try await EtcdCluster()
        try await etcd.control("put /t/a 1")
        await #expect(throws: TestFailure.self) { try await etcd.control("role add") }
    }
}
#endif
