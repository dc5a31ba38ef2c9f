// SPDX-License-Identifier: Apache-2.0

import ConcurrentObserve
import Foundation
import Glibc
import Testing

extension Promises {
    @Suite("P17 The library's own threads")
    struct P17LibraryThreadsTests {}
}

/// The scheduling of the thread that starts the library's threads.
enum Scheduling: String, CaseIterable, Codable, Sendable {
    case ordinary, idle, batch, realTime

    /// Schedules the calling thread in this way, on only one processor. Returns false if that is
    /// not permitted.
    func apply() -> Bool {
        // One bit for each processor: the first of those that the thread may use.
        var processors = [UInt](repeating: 0, count: 128)
        let count = processors.count * MemoryLayout<UInt>.stride
        guard unsafe getAffinity(0, count, &processors) == 0 else { return false }
        guard let index = processors.firstIndex(where: { $0 != 0 }) else { return false }
        let first = processors[index] & ~(processors[index] &- 1)
        processors = [UInt](repeating: 0, count: 128)
        processors[index] = first
        guard unsafe setAffinity(0, count, &processors) == 0 else { return false }
        var parameters = sched_param(sched_priority: self == .realTime ? 1 : 0)
        return unsafe self == .ordinary || sched_setscheduler(0, policy, &parameters) == 0
    }

    private var policy: Int32 {
        switch self {
        case .ordinary: 0
        case .realTime: 1
        case .batch: 3
        case .idle: 5
        }
    }

    private typealias Access = @convention(c) (pid_t, Int, UnsafeMutablePointer<UInt>) -> Int32
    // Safe, both: these are the functions' types; looked up because the importer does not see GNU's
    // own.
    private var getAffinity: Access { unsafe unsafeBitCast(dlsym(nil, "sched_getaffinity"), to: Access.self) }
    private var setAffinity: Access { unsafe unsafeBitCast(dlsym(nil, "sched_setaffinity"), to: Access.self) }
}

extension Promises.P17LibraryThreadsTests {
    @Test(
        "P17 The library's threads do not inherit how the thread is scheduled that starts them",
        .disabled(if: Process.isPortable, "only the form for Linux knows processors and nice values"),
        arguments: Scheduling.allCases
    )
    func scheduling(scheduling: Scheduling) async {
        await #expect(processExitsWith: .success) { [scheduling] in
            Process.limitLife(seconds: 60)
            let registry = ObserverRegistry<Int>()
            let lives = Lives()
            let ofProcess = SystemThread(at: "/proc/self")
            let done = Signal("the first use of the library")
            let mayExit = Signal("the thread's release")
            let isPermitted = Flag()
            let thread = TestThread {
                if scheduling.apply() {
                    isPermitted.set()
                    let life = lives.make()
                    registry.observe { _ in life.touch() }.cancel()
                    ConcurrentObserveDiagnostics.drain(deadline: .now + patience)
                }
                done.happen()
                mayExit.hold()
            }
            try? done.wait()
            defer { mayExit.happen() }
            guard isPermitted.isSet else { exit(EXIT_SUCCESS) }
            let threads = SystemThread.all
            for name in ["observe-reclaim", "observe-destroy"] {
                guard let found = threads.first(where: { $0.name == name }) else {
                    return check(false, "there is no thread \(name)")
                }
                check(found.policy == 0, "\(name) has the policy \(found.policy)")
                check(found.processors == ofProcess.processors, "\(name) may use the processors \(found.processors)")
                check(found.nice == ofProcess.nice, "\(name) has the nice value \(found.nice)")
            }
            withExtendedLifetime(thread) {}
        }
    }
}

/// A thread, with the system's description of it.
private struct SystemThread {
    let name: String
    let policy: Int
    let nice: Int
    let processors: String

    /// Reads a thread's description.
    ///
    /// - Parameter path: The folder of a thread, or of a process for its main thread.
    init(at path: String) {
        func text(_ file: String) -> String { (try? String(contentsOfFile: path + "/" + file, encoding: .utf8)) ?? "" }
        name = text("comm").trimmingCharacters(in: .newlines)
        // The fields after the name, which is in parentheses: the third is the first of them.
        let stat = text("stat")
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst()
        func field(_ number: Int) -> Int { fields.dropFirst(number - 3).first.flatMap { Int($0) } ?? -1 }
        (policy, nice) = (field(41), field(19))
        processors =
            text("status").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }.map(String.init) ?? ""
    }

    static var all: [SystemThread] {
        let folder = "/proc/self/task"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map {
            SystemThread(at: folder + "/" + $0)
        }
    }
}
