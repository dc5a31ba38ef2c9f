// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation

extension MirrorItem {
    init(_ pair: Etcdserverpb_KeyValue, isDeletion: Bool = false) {
        var counts = MirrorCounts()
        counts.createRevision = pair.createRevision
        counts.version = pair.version
        counts.lease = pair.lease
        self.init(
            key: MirrorKey(Array(pair.key)),
            value: isDeletion ? nil : Array(pair.value),
            revision: pair.modRevision,
            counts: counts
        )
    }
}

extension WatchMessage {
    init(_ message: Etcdserverpb_WatchResponse) {
        self.init(
            watchID: message.watchID,
            headerRevision: message.header.revision,
            isCreated: message.created,
            isCanceled: message.canceled,
            compactRevision: message.compactRevision,
            cancelReason: message.cancelReason,
            isFragment: message.fragment,
            events: message.events.map { MirrorItem($0.kv, isDeletion: $0.type == .delete) }
        )
    }
}

extension EtcdRange {
    var request: Etcdserverpb_RangeRequest {
        var request = Etcdserverpb_RangeRequest()
        request.key = Data(start.bytes)
        request.rangeEnd = Data(end.bytes)
        return request
    }

    func watch(from revision: Int64) -> Etcdserverpb_WatchRequest {
        var request = Etcdserverpb_WatchRequest()
        request.createRequest.key = Data(start.bytes)
        request.createRequest.rangeEnd = Data(end.bytes)
        request.createRequest.startRevision = revision
        request.createRequest.progressNotify = true
        request.createRequest.fragment = true
        return request
    }
}

extension Etcdserverpb_WatchRequest {
    static var progress: Etcdserverpb_WatchRequest {
        var request = Etcdserverpb_WatchRequest()
        request.progressRequest = Etcdserverpb_WatchProgressRequest()
        return request
    }
}
#endif
