// SPDX-License-Identifier: Apache-2.0

import HTTPEdge
import Hummingbird

/// The page at `/`, which shows the flags and can change them. Its files are a part of the program.
enum Page {
    static func add(to router: Router<EdgeContext>) {
        add("/", "text/html", PackageResources.page_html, to: router)
        add("page.css", "text/css", PackageResources.page_css, to: router)
        add("page.js", "text/javascript", PackageResources.page_js, to: router)
    }

    private static func add(_ path: RouterPath, _ type: String, _ bytes: [UInt8], to router: Router<EdgeContext>) {
        router.read(path) { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "\(type); charset=utf-8", .cacheControl: "no-cache"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
            )
        }
    }
}
