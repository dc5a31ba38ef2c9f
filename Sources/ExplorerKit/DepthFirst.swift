// SPDX-License-Identifier: Apache-2.0

/// Runs all schedules with at most `bound` preemptions, one after the other.
///
/// Search with the bounds 0, 1, 2, … in this order: the first failure then has the fewest
/// preemptions, and is found soon. (Iterative context bounding: Musuvathi and Qadeer, PLDI 2007.
/// Leaving a thread that cannot go on costs nothing.)
package final class DepthFirst: Strategy {
    private struct Node {
        let decision: Decision
        /// The options that the bound allows and that were not tried yet.
        var untried: ThreadSet
        var chosen: Int
        /// The number of preemptions before this decision.
        let spent: Int
    }

    private let bound: Int
    private var path: [Node] = []
    private var depth = 0
    private var spent = 0

    /// Set if a schedule came to another decision than the previous schedule did at the same place:
    /// the program is not deterministic.
    package private(set) var hasDiverged = false
    /// Whether the bound has excluded schedules.
    package private(set) var isBounded = false

    package init(bound: Int) { self.bound = bound }

    package func choose(_ decision: Decision) -> Int {
        if depth == path.count { path.append(node(for: decision)) }
        let node = path[depth]
        if node.decision != decision {
            hasDiverged = true
            return decision.usual
        }
        depth += 1
        spent = node.spent + decision.cost(of: node.chosen)
        return node.chosen
    }

    private func node(for decision: Decision) -> Node {
        var untried = decision.options
        for thread in untried where spent + decision.cost(of: thread) > bound {
            isBounded = true
            untried.remove(thread)
        }
        untried.remove(decision.usual)
        return Node(decision: decision, untried: untried, chosen: decision.usual, spent: spent)
    }

    package func advance() -> Bool {
        // The nodes from `depth` on belong to the previous schedule: this schedule did not reach
        // them.
        path.removeSubrange(depth...)
        (depth, spent) = (0, 0)
        while var node = path.popLast() {
            guard let next = node.untried.first else { continue }
            node.untried.remove(next)
            node.chosen = next
            path.append(node)
            return true
        }
        return false
    }
}
