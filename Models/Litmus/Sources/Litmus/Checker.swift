// SPDX-License-Identifier: Apache-2.0

/// Looks for an execution of a test that its model allows.
public struct Checker {
    public enum Question: Sendable {
        /// An execution with the outcome that must not be.
        case violation
        /// An execution in which the registers are as given: a test without one shows nothing.
        case reached
    }

    /// A finding: an execution and its outcome.
    public struct Finding {
        let test: Test
        let execution: Execution
        public let outcome: Outcome
        public let isRace: Bool
    }

    /// The first execution that answers `question`, in every order that the compiler may have
    /// chosen; nil if there is none.
    public static func find(_ question: Question = .violation, in test: Test, for target: Target) -> Finding? {
        for variant in variants(of: test) {
            if let finding = findAsWritten(question, in: variant, for: target) { return finding }
        }
        return nil
    }

    /// The orders of a test's instructions that a compiler may write.
    private static func variants(of test: Test) -> [Test] {
        guard test.usesMembarrier else { return [test] }
        var variants = [test]
        for (index, thread) in test.threads.enumerated() {
            let orders = Reordering.orders(of: thread.instructions)
            variants = variants.flatMap { variant in
                orders.map { order in
                    var next = variant
                    next.threads[index].instructions = order
                    return next
                }
            }
        }
        return variants
    }

    private static func findAsWritten(_ question: Question, in test: Test, for target: Target) -> Finding? {
        let graph = EventGraph(test, for: target)
        var finding: Finding?
        _ = Candidates(test, graph).first { execution, outcome in
            let isBad = question == .reached || test.isBad(outcome)
            let mayRace = question == .violation && target == .rc11 && !test.plain.isEmpty
            guard isBad || mayRace else { return false }
            guard let allowed = allowed(execution, for: target, needsRace: !isBad) else { return false }
            finding = Finding(test: test, execution: allowed, outcome: outcome, isRace: !isBad)
            return true
        }
        return finding
    }

    /// The execution with the points that membarrier's barriers may have, if the model allows it.
    private static func allowed(_ execution: Execution, for target: Target, needsRace: Bool) -> Execution? {
        func isAllowed(_ execution: Execution) -> Bool {
            switch target {
            case .armv80, .armv81, .armv83: Armv8.allows(execution)
            case .x86: TotalStoreOrder.allows(execution)
            case .rc11: RC11.allows(execution) && (!needsRace || RC11.hasRace(execution))
            }
        }
        // Barriers forbid more, so that what is not allowed without some of them is not allowed
        // with all.
        func place(_ rest: ArraySlice<(before: Int, after: Int, thread: Int)>, _ execution: Execution) -> Execution? {
            guard isAllowed(execution) else { return nil }
            guard let call = rest.first else { return execution }
            let others = Set(execution.graph.events.map(\.thread)).subtracting([call.thread, -1]).sorted()
            func interrupt(_ threads: ArraySlice<Int>, _ execution: Execution) -> Execution? {
                guard let thread = threads.first else { return place(rest.dropFirst(), execution) }
                for point in points(of: thread, in: execution.graph) {
                    var next = execution
                    next.interrupt(thread, at: point, from: call)
                    guard isAllowed(next) else { continue }
                    if let found = interrupt(threads.dropFirst(), next) { return found }
                }
                return nil
            }
            return interrupt(others[...], execution)
        }
        return place(execution.graph.calls[...], execution)
    }

    /// Before each access of the thread, and after the last.
    private static func points(of thread: Int, in graph: EventGraph) -> [Int] {
        let starts = Set(graph.events.filter { $0.thread == thread }.map { $0.position / 4 * 4 }).sorted()
        return starts.map { $0 - 1 } + [(starts.last ?? 0) + 3]
    }
}

extension Execution {
    /// Lets a call of membarrier's interrupt a thread at a point.
    mutating func interrupt(_ thread: Int, at point: Int, from call: (before: Int, after: Int, thread: Int)) {
        var barrier = Event(
            kind: .barrier,
            thread: thread,
            position: point,
            location: "",
            order: .sequentiallyConsistent
        )
        barrier.barrier = .full
        crossing += [(call.before, events.count), (events.count, call.after)]
        events.append(barrier)
    }
}
