// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation

extension MirrorCoding where Value: Codable {
    /// JSON, by the type's `Codable`. The keys of objects are written in order, so that equal
    /// values have equal bytes.
    public static var json: MirrorCoding {
        MirrorCoding(
            decode: { _, bytes in try JSONDecoder().decode(Value.self, from: Data(bytes)) },
            encode: { value in
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                return Array(try encoder.encode(value))
            }
        )
    }
}
#endif
