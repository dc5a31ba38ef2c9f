// SPDX-License-Identifier: Apache-2.0

import Glibc
import StressKit

/// Keeps the schedule so far of one scheduler, in memory that a signal handler can read.
@safe package final class Trail: @unchecked Sendable {
    // Unchecked: belongs to the running thread.
    private let letters: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private var count = 0
    private var preemptions = 0
    private static let names = Schedule.letters.map { $0.asciiValue! }

    init(capacity: Int) {
        self.capacity = capacity
        // Safe: freed with the object.
        unsafe letters = .allocate(capacity: capacity)
    }

    deinit { unsafe letters.deallocate() }

    func clear() { (count, preemptions) = (0, 0) }

    func note(_ thread: Int, _ preemptions: Int) {
        guard count < capacity else { return }
        // Safe: below the capacity.
        unsafe letters[count] = Self.names[thread]
        count += 1
        self.preemptions = preemptions
    }

    // MARK: Crashes

    /// The four parts of a crash's message. Between them the handler writes the signal, the
    /// schedule and the number of preemptions.
    package typealias Text = (StaticString, StaticString, StaticString, StaticString)

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, nil) == 0 else { harnessFailure("no thread-specific key is left") }
        return key
    }()

    /// Makes this trail the one that is written if the calling thread crashes.
    package func adopt() {
        // Safe: the scheduler outlives its threads; its driver calls `abandon()`.
        unsafe pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    }

    package static func abandon() { pthread_setspecific(key, nil) }

    private typealias Format = (text: Text, file: Int32, exit: StressExit?)
    nonisolated(unsafe) private static var format: Format?
    nonisolated(unsafe) private static let earlier = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private static let installed: Void = {
        guard Sanitizer.current == nil else { return }
        _ = key
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE] {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = reportCrash
            // Safe: signals are numbered from 1 to 64.
            unsafe sigaction(number, &action, earlier + Int(number))
        }
    }()

    /// Installs a handler for the signals of a crash. Installs none under a sanitizer, whose own
    /// report is better.
    ///
    /// - Parameters:
    ///   - file: The descriptor to which the text is written.
    ///   - exit: The exit code of the process. If it is nil, the process ends as it would without
    ///     this handler.
    package static func report(_ text: Text, to file: Int32, exit: StressExit? = nil) {
        if unsafe format == nil { unsafe format = (text, file, exit) }
        _ = installed
    }

    /// Writes the message. It allocates nothing, because the process is dying.
    fileprivate static func report(_ number: Int32) {
        guard let format = unsafe Self.format else { return }
        if let trail = unsafe pthread_getspecific(key) {
            let file = format.file
            write(format.text.0, file)
            write(Int(number), file)
            write(format.text.1, file)
            // Safe: adopted by this thread.
            unsafe Unmanaged<Trail>.fromOpaque(trail)._withUnsafeGuaranteedRef { trail in
                var first = 0
                while first < trail.count {
                    var next = first + 1
                    while unsafe next < trail.count && trail.letters[next] == trail.letters[first] { next += 1 }
                    _ = unsafe Glibc.write(file, trail.letters + first, 1)
                    write(next - first, file)
                    first = next
                }
                write(format.text.2, file)
                write(trail.preemptions, file)
            }
            write(format.text.3, file)
        }
        if let exit = format.exit { _exit(exit.rawValue) }
        // The instruction crashes again, and the earlier action follows.
        unsafe sigaction(number, earlier + Int(number), nil)
    }

    private static func write(_ number: Int, _ file: Int32) {
        if number > 9 { write(number / 10, file) }
        var digit = UInt8(ascii: "0") + UInt8(number % 10)
        _ = unsafe Glibc.write(file, &digit, 1)
    }

    private static func write(_ text: StaticString, _ file: Int32) {
        // Safe: a literal.
        _ = unsafe Glibc.write(file, text.utf8Start, text.utf8CodeUnitCount)
    }
}

/// The signal handler.
private func reportCrash(_ number: Int32) { Trail.report(number) }
