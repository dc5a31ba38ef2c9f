// SPDX-License-Identifier: Apache-2.0

extension LibraryProgram {
    /// A referent dies when the property refers to another already. (P12)
    static let weakDeathSet = LibraryProgram(
        name: "weak-death-set",
        summary: "the death of a weak property's referent against a change to another",
        threads: [["drop the referent"], ["set another"]]
    ) { backend in
        let property = WeakObserved<Referent>()
        let first = Deferred<Referent?>()
        let second = Referent()
        return Program.Instance(
            setUp: {
                first.fill(Referent())
                property.value = first.content
            },
            threads: [
                [{ first.fill(nil) }],
                [{ property.value = second }],
            ],
            rest: [
                {
                    if property.value === second { return }
                    let message = "the death of a referent has cleared its successor"
                    backend.scheduler.fail("P12.successor-stays", message)
                }
            ]
        )
    }

    /// A property that always refers to an object is read while the object before it dies. (P2)
    static let weakSetRead = LibraryProgram(
        name: "weak-set-read",
        summary: "the death of the referent before against a read of a weak property that always has one",
        threads: [["set another", "drop the one before"], ["read"]]
    ) { backend in
        let property = WeakObserved<Referent>()
        let first = Deferred<Referent?>()
        let second = Referent()
        return Program.Instance(
            setUp: {
                first.fill(Referent())
                property.value = first.content
            },
            threads: [
                [{ property.value = second }, { first.fill(nil) }],
                [
                    {
                        if property.snapshot().value != nil { return }
                        backend.scheduler.fail("P2.never-nil", "read as nil what always refers to an object")
                    }
                ],
            ],
            rest: [{ withExtendedLifetime(second) {} }]
        )
    }
}

/// The referent of a weak property.
private final class Referent: WeaklyObservable {
    let lifetime = ReferentLifetime()
}
