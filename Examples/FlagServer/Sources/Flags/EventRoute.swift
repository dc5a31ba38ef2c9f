// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// `GET /events`.
struct EventRoute: Sendable {
    let stream: EventStream

    func add(to router: Router<FlagRequestContext>) {
        router.get("events") { request, context in
            EventResponse.make(request, context) { send in
                try await stream.run { event in try await send(event.encoded) }
            }
        }
    }
}
