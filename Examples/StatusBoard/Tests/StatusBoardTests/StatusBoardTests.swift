// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import ConcurrentObserveTesting
import Foundation
import Hummingbird
import HummingbirdTesting
import Testing

@testable import StatusBoard

/// No test sleeps: the clock is the tests' own, and each waits for what it needs.
@Suite("The status board", .serialized, .leavesNothingBehind, .timeLimit(.minutes(1)))
struct StatusBoardTests {
    let clock = ManualClock()

    func makeBoard(fetchAdvice: @escaping @Sendable (Health) async throws -> String = { "\($0)" }) -> Board {
        Board(clock: clock, fetchAdvice: fetchAdvice, measureLoad: { 0.5 })
    }

    func application(of board: Board) -> some ApplicationProtocol {
        Application(router: routes(of: board, clock: clock))
    }

    @Test("A report can be read, and be taken back")
    func reports() async throws {
        try await application(of: makeBoard()).test(.router) { client in
            let report = ByteBuffer(string: #"{"health": "degraded", "note": "slow disks"}"#)
            try await client.execute(uri: "/services/search", method: .put, body: report) { answer in
                #expect(answer.status == .noContent)
            }
            let body = try await client.execute(uri: "/services/search", method: .get).body
            let read = try JSONDecoder().decode(Report.self, from: body)
            #expect(read == Report(health: .degraded, note: "slow disks"))
            try await client.execute(uri: "/services/search", method: .delete)
            try await client.execute(uri: "/services/search", method: .get) { #expect($0.status == .notFound) }
            let mistake = ByteBuffer(string: #"{"health": "well"}"#)
            try await client.execute(uri: "/services/search", method: .put, body: mistake) { answer in
                #expect(answer.status == .badRequest)
            }
        }
    }

    @Test("Who waits for a health receives the report that has it")
    func waits() async throws {
        let board = makeBoard()
        board.reports["search"].value = Report(health: .down)
        try await application(of: board).test(.router) { client in
            async let answer = client.execute(uri: "/services/search/until/up?seconds=5", method: .get)
            try await clock.whenSleeping()
            board.reports["search"].value = Report(health: .degraded)
            board.reports["search"].value = Report(health: .up, note: "again")
            let body = try await answer.body
            #expect(try JSONDecoder().decode(Report.self, from: body).note == "again")
        }
    }

    @Test("Who waits too long learns the last health")
    func timeout() async throws {
        let board = makeBoard()
        board.reports["search"].value = Report(health: .degraded)
        try await application(of: board).test(.router) { client in
            async let answer = client.execute(uri: "/services/search/until/up?seconds=5", method: .get)
            try await clock.whenSleeping()
            clock.advance(by: .seconds(5))
            let response = try await answer
            #expect(response.status == .gatewayTimeout)
            #expect(String(buffer: response.body).contains("degraded"))
        }
    }

    @Test("Several reports are one update, and a slow client misses no service")
    func updates() async throws {
        let board = makeBoard()
        let updates = board.contents.record()
        _ = try await updates.next()
        try await application(of: board).test(.router) { client in
            let reports = ByteBuffer(string: #"{"search": {"health": "up"}, "mail": {"health": "down"}}"#)
            try await client.execute(uri: "/services", method: .patch, body: reports)
        }
        let contents = try await updates.next()
        #expect(Update(from: [:], to: contents).reports.keys.sorted() == ["mail", "search"])
        board.reports["mail"].value = nil
        let update = try await Update(from: contents, to: updates.next())
        #expect(update.removed == ["mail"] && update.reports.isEmpty)
    }

    @Test("The worst health counts, but not under maintenance")
    func health() async throws {
        let board = makeBoard()
        let healths = board.health.removingDuplicates().record(options: .initial)
        board.reports["search"].value = Report(health: .down)
        board.reports["mail"].value = Report(health: .degraded)
        board.isUnderMaintenance.value = true
        board.isUnderMaintenance.value = false
        board.reports["search"].value = nil
        try await healths.expect([.up, .down, .up, .down, .degraded])
    }

    @Test("The advice is that of the present health, also if an older one comes later")
    func advice() async throws {
        let board = makeBoard { health in
            // The task is cancelled when the health changes: this ends the wait.
            if health == .down { try? await ManualClock().sleep(for: .seconds(1)) }
            return "\(health)"
        }
        #expect(try await board.advice.result() == "up")
        board.reports["search"].value = Report(health: .down)
        #expect(board.advice.value == nil && board.advice.last == "up")
        board.reports["search"].value = Report(health: .degraded)
        #expect(try await board.advice.result() == "degraded")
    }

    @Test("The load is measured each second while a client watches, and again for the next client")
    func load() async throws {
        let board = makeBoard()
        let watcher = board.load.record()
        try await clock.whenSleeping()
        clock.advance(by: .seconds(1))
        try await watcher.expect([0.5, 0.5])
        watcher.token?.cancel()
        // The pause between two measurements, and the time that a run goes on unwatched.
        try await clock.whenSleeping(2)
        clock.advance(by: .seconds(10))
        let next = board.load.record()
        try await next.next()
        next.ignoreRest()
        watcher.ignoreRest()
    }
}
