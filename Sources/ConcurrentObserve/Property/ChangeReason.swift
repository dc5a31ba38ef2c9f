// SPDX-License-Identifier: Apache-2.0

/// Why an observer of a property, or of a path, is called.
public enum ChangeReason: Sendable, Equatable {
    /// The observation begins: the value at that moment. (P4)
    case initial
    /// A change is about to be made, and `.prior` was asked for: the value before it.
    case prior
    /// The property was given a value, an equal one included.
    case valueChanged
    /// An earlier step of the path was replaced, so that the path leads to another property, or to
    /// none. `depth` is the index of that step: 0 for the property of the path's root.
    case pathChanged(depth: Int)
}
