// SPDX-License-Identifier: Apache-2.0
//
// Settings that are edited in two places at once. Both places show the same.

import ConcurrentObserve
import Dispatch

final class Settings: ConcurrentObservable {
    let volume = Observed(5)
    let userName = Observed("guest")
    /// A summary of the two values. Only the settings set it.
    var summary: ReadOnly<String> { text.readOnly }

    private let text = Observed("")
    private let summarising: ObservationToken

    init() {
        // A property that is made of others.
        summarising = Group(volume, userName).observe(options: .initial) { [text] change in
            let (volume, name) = change.new
            text.value = "\(name) at \(volume)"
        }
    }
}

/// A form that shows percents and text.
final class Form: ConcurrentObservable {
    let volume = Observed("")
    let userName = Observed("")
}

let settings = Settings()
let (desktop, phone) = (Form(), Form())
var bindings: [ObservationToken] = []

for form in [desktop, phone] {
    // The form takes the settings' values at once, and each follows the other from then on.
    settings.userName.bindBidirectionally(with: form.userName).store(in: &bindings)
    settings.volume.bindBidirectionally(
        with: form.volume,
        forward: { volume in "\(volume * 10) %" },
        backward: { text in (Int(text.prefix { $0.isNumber }) ?? 0) / 10 }
    ).store(in: &bindings)
}
// A property that is bound to itself corrects its values.
settings.volume.bind(to: settings.volume) { min(max($0, 0), 10) }.store(in: &bindings)

func show(_ what: String) {
    print("\(what): \(settings.summary.value), desktop \(desktop.volume.value), phone \(phone.volume.value)")
}

print("at first: desktop \(desktop.volume.value) for \(desktop.userName.value)")

desktop.userName.value = "Ada"
show("a name on the desktop")
print("on the phone: \(phone.userName.value)")

phone.volume.value = "70 %"
show("a volume on the phone")

settings.volume.value = 25
show("too loud")

print("--- both at once")
DispatchQueue.concurrentPerform(iterations: 2) { side in
    let form = side == 0 ? desktop : phone
    for number in 0..<200 { form.userName.value = "\(side)-\(number)" }
}
let names = [settings.userName.value, desktop.userName.value, phone.userName.value]
print("the same everywhere: \(Set(names).count == 1)")

print("--- the phone is unbound")
bindings[2].cancel()
desktop.userName.value = "Grace"
print(
    "desktop \(desktop.userName.value), settings \(settings.userName.value), phone follows: \(phone.userName.value == "Grace")"
)
