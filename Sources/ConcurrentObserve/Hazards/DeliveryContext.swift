// SPDX-License-Identifier: Apache-2.0

/// Describes the change that a thread is delivering. The room above defines the subclasses. All
/// code that runs on the thread during the delivery can ask for the context.
@usableFromInline
internal class DeliveryContext: @unchecked Sendable {
    // Unchecked: each subclass says how its properties are guarded.
    init() {}

    /// The context of the calling thread: the innermost one whose `perform` has not returned.
    @inline(__always)
    static var current: DeliveryContext? {
        // Safe: records are never freed; the slot is on this thread's stack until `perform`
        // returns.
        guard let slot = unsafe ThreadRecord.current.pointee.context else { return nil }
        return unsafe slot.pointee.context
    }

    /// Runs `body` with this as the calling thread's context.
    final func perform(_ body: () -> Void) {
        var slot = ContextSlot(self)
        slot.perform(body)
    }

    /// Runs `body` with a context that is created only when some code asks for it. In most
    /// deliveries no code does.
    static func perform<Step: ContextStep>(for step: Step, _ body: () -> Void) {
        // Safe: the step is kept until `body` has returned.
        unsafe withUnsafePointer(to: step) { step in
            // The closure captures nothing, and so allocates nothing.
            var slot = unsafe ContextSlot(of: step) {
                unsafe $0.assumingMemoryBound(to: Step.self).pointee.makeContext()
            }
            slot.perform(body)
        }
    }
}

/// Creates a context when some code asks for it.
internal protocol ContextStep {
    func makeContext() -> DeliveryContext
}

/// A thread's context, on the stack of the `perform` that sets it. Until some code asks for the
/// context, the slot only knows how to create it.
@safe internal struct ContextSlot {
    private var made: DeliveryContext?
    private let step: UnsafeRawPointer?
    private let make: ((UnsafeRawPointer) -> DeliveryContext)?

    fileprivate init(_ context: DeliveryContext) {
        made = context
        unsafe (step, make) = (nil, nil)
    }

    fileprivate init(of step: UnsafeRawPointer, _ make: @escaping (UnsafeRawPointer) -> DeliveryContext) {
        made = nil
        unsafe (self.step, self.make) = (step, make)
    }

    /// Out of line, because a thread rarely has a slot.
    fileprivate var context: DeliveryContext? {
        @inline(never)
        mutating get {
            if let made { return made }
            // Safe: `DeliveryContext.perform` keeps the step.
            guard let step = unsafe step, let make = unsafe make else { return nil }
            made = unsafe make(step)
            return made
        }
    }

    /// Runs `body` with this slot as the calling thread's.
    @inline(never)
    fileprivate mutating func perform(_ body: () -> Void) {
        // Safe: records are never freed. This record forgets the slot before the slot is gone.
        let record = unsafe ThreadRecord.current
        let outer = unsafe record.pointee.context
        unsafe withUnsafeMutablePointer(to: &self) { slot in
            unsafe record.pointee.context = slot
            body()
            unsafe record.pointee.context = outer
        }
    }
}
