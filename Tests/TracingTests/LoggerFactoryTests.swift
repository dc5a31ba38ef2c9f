// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import Foundation
import InMemoryLogging
import Logging
import Testing
import Tracing

@Suite("Log handler factories that observe", .timeLimit(.minutes(5)))
struct LoggerFactoryTests {
    @Test("A log handler factory may observe with a mailbox, and wait for a thread that sets the property")
    func factory() async {
        await #expect(processExitsWith: .success) {
            // Ends the process if it hangs.
            alarm(60)
            let level = Observed(0)
            let (seen, tokens) = (Log<Seen>(), Log<ObservationToken>())
            let observe: @Sendable () -> Void = {
                let token = level.observe(delivery: .serial()) { change in
                    // swift-log has no logger yet while it calls the factory.
                    let isInFactory = change.new < 5
                    let context = ServiceContext.current?.tag?.id
                    seen.append(isInFactory ? Seen(change.new, context: context) : Seen(change.new))
                }
                tokens.append(token)
            }
            LoggingSystem.bootstrap { _ in
                observe()
                var context = ServiceContext.topLevel
                context.tag = Tag(1)
                ServiceContext.withValue(context) { level.value = 1 }
                let isSet = DispatchSemaphore(value: 0)
                Thread {
                    level.value = 2
                    isSet.signal()
                }.start()
                isSet.wait()
                return InMemoryLogHandler()
            }
            observe()
            inContext(5) { level.value = 5 }
            level.value = 6
            for token in tokens.entries { await token.flush() }
            let count = tokens.entries.count
            // The factory is called twice.
            precondition(count == 3)
            let inFactory = seen.entries.filter { $0.value < 5 }
            precondition(inFactory.contains(Seen(1, context: 1)) && inFactory.contains(Seen(2, context: nil)))
            precondition(inFactory.allSatisfy { $0.context == ($0.value == 1 ? 1 : nil) })
            precondition(seen.entries.filter { $0 == Seen(5, context: 5) }.count == count)
            precondition(seen.entries.filter { $0 == Seen(6, context: nil) }.count == count)
        }
    }
}
#endif
