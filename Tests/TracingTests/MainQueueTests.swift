// SPDX-License-Identifier: Apache-2.0

#if Tracing
import ConcurrentObserve
import Foundation
import XCTest

/// XCTest calls its tests on the main thread, so a test can run the main queue.
final class MainQueueTests: XCTestCase {
    /// The callbacks do not have the context of a thread that runs the main queue.
    func testContextOfTheThreadIsHidden() {
        let property = Observed(0)
        let log = Log<Seen>()
        let token = property.observe(delivery: .queue(.main)) { log.append(Seen($0.new)) }
        Thread {
            property.value = 1
            inContext(2) { property.value = 2 }
        }.start()
        let deadline = Date(timeIntervalSinceNow: 60)
        inContext(100) {
            while log.entries.count < 2, RunLoop.main.run(mode: .default, before: deadline), Date() < deadline {}
        }
        XCTAssertEqual(log.entries, [Seen(1, context: nil), Seen(2, context: 2)])
        token.cancel()
    }
}
#endif
