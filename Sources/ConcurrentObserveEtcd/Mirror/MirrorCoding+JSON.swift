// SPDX-License-Identifier: Apache-2.0

#if Etcd
import Foundation

extension MirrorCoding where Value: Codable {
    /// Converts values to JSON and back, by `Codable`. The keys of an object are sorted, so their
    /// order does not change the bytes.
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
