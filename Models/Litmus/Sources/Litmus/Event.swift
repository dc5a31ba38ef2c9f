// SPDX-License-Identifier: Apache-2.0

/// A read, a write or a barrier of one execution. An update is a read and a write, side by side.
struct Event {
    enum Kind { case read, write, barrier }

    let kind: Kind
    /// -1 for the write that gives a location its first value.
    let thread: Int
    /// Orders the events of a thread: four for each instruction, so that a barrier of membarrier's
    /// finds room before each.
    let position: Int
    let location: String
    let order: Order
    var marks: Marks = []
    var barrier = Barrier.none
    /// Whether RC11 takes it for an atomic access.
    var isAtomic = true
    var instruction: Instruction?

    var isInitial: Bool { thread < 0 }
}

/// The events of a test for one target, with what the program alone says about them.
struct EventGraph {
    var events: [Event] = []
    /// The read of an update and its write, by number.
    var updates: [(read: Int, write: Int)] = []
    /// Where a register gets its value.
    var source: [String: Int] = [:]
    /// Where the threads call membarrier: the barriers before and after, and the thread.
    var calls: [(before: Int, after: Int, thread: Int)] = []
    /// The events that are executed only for some values of a register.
    private var branches: [(register: String, thread: Int, position: Int)] = []
    /// Registers, and the events that depend on them.
    private var dependencies: [(kind: Dependency, register: String, event: Int)] = []

    enum Dependency { case address, data, control, pickedAddress, pickedData }

    init(_ test: Test, for target: Target) {
        let locations = Set(test.threads.flatMap { $0.instructions.map(\.location) }).subtracting([""]).sorted()
        for location in locations {
            var first = Event(kind: .write, thread: -1, position: 0, location: location, order: .relaxed)
            first.instruction = .store(location, .constant(test.initially[location] ?? 0), .relaxed)
            events.append(first)
        }
        for (thread, instructions) in test.threads.map(\.instructions).enumerated() {
            for (index, instruction) in instructions.enumerated() {
                add(target.lower(instruction), thread, index * 4, plain: test.plain)
            }
        }
        precondition(events.count <= 64, "a test has at most 64 events")
    }

    private mutating func add(_ instruction: Instruction, _ thread: Int, _ position: Int, plain: Set<String>) {
        func event(_ kind: Event.Kind, _ offset: Int, _ order: Order, _ marks: Marks = []) -> Event {
            var result = Event(
                kind: kind,
                thread: thread,
                position: position + offset,
                location: instruction.location,
                order: order
            )
            result.marks = marks
            result.instruction = instruction
            result.isAtomic = !plain.contains(instruction.location)
            return result
        }
        let marks = instruction.marks ?? []
        switch instruction.kind {
        case .load:
            append(event(.read, 0, instruction.order, marks), of: instruction)
        case .store:
            append(event(.write, 0, instruction.order, marks), of: instruction)
        case .update:
            let read = events.count
            append(event(.read, 0, instruction.order, marks.subtracting(.release)), of: instruction)
            let write = events.count
            append(event(.write, 1, instruction.order, marks.subtracting([.acquire, .noReturn])), of: instruction)
            updates.append((read, write))
        case .fence:
            var fence = event(.barrier, 0, instruction.order)
            fence.barrier = instruction.barrier ?? .none
            events.append(fence)
        case .membarrier:
            let before = events.count
            for offset in 0...1 {
                var fence = event(.barrier, offset, .sequentiallyConsistent)
                fence.barrier = .full
                events.append(fence)
            }
            calls.append((before, before + 1, thread))
        case .branch:
            branches.append((instruction.control[0], thread, position))
        case .compilerBarrier: break
        }
    }

    private mutating func append(_ event: Event, of instruction: Instruction) {
        let index = events.count
        events.append(event)
        if event.kind == .read, let register = instruction.into { source[register] = index }
        for register in instruction.address { dependencies.append((.address, register, index)) }
        for register in instruction.pickedAddress { dependencies.append((.pickedAddress, register, index)) }
        guard event.kind == .write else { return }
        for register in instruction.data { dependencies.append((.data, register, index)) }
        for register in instruction.pickedData { dependencies.append((.pickedData, register, index)) }
        if case .register(let register, _) = instruction.value { dependencies.append((.data, register, index)) }
        // The comparison decides whether anything is written.
        if case .update(.compareExchange(.register(let register, _))) = instruction.kind {
            dependencies.append((.pickedData, register, index))
        }
    }

    /// From the reads to the events that depend on them.
    func relation(_ kind: Dependency, count: Int) -> Relation {
        var result = Relation(count)
        if kind == .control {
            for branch in branches {
                guard let read = source[branch.register] else { continue }
                for (index, event) in events.enumerated()
                where event.thread == branch.thread && event.position > branch.position {
                    result.insert(read, index)
                }
            }
            return result
        }
        for dependency in dependencies where dependency.kind == kind {
            if let read = source[dependency.register] { result.insert(read, dependency.event) }
        }
        return result
    }
}
