#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of a running FlagServer: page.py URL [FOLDER FOR SCREENSHOTS]. Exit codes: 0 all holds, 1 something does not."""

import json
import sys
import urllib.request

from browser import Browser


def put(url, name, enabled, rollout):
    body = json.dumps({"enabled": enabled, "rollout": rollout}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/flags/{name}", body, method="PUT"), timeout=60).close()


def patch(url, flags):
    body = json.dumps(flags).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/flags", body, method="PATCH"), timeout=60).close()


def listing(url):
    with urllib.request.urlopen(f"{url}/flags", timeout=60) as answer:
        return json.load(answer)


def row(name):
    return f"rows.get('{name}')"


def check(page, url, pictures):
    page.call("Page.enable")
    page.call("Page.navigate", url=url)
    page.wait("the page shows all flags", "document.querySelectorAll('#flags tr').length === 5")
    page.wait("the page is live", "document.getElementById('connection').textContent === 'Live'")

    # A change that another client makes while the page is open.
    put(url, "dark-mode", True, 25)
    page.wait("the flag is on", f"{row('dark-mode')}.button.textContent === 'on'")
    page.wait("its rollout is shown", f"{row('dark-mode')}.rollout.value === '25'")
    page.wait("its version is shown", f"{row('dark-mode')}.version.textContent === '1'")
    page.wait("it is announced", "news.textContent === 'dark-mode is on for 25 %'")

    # One that is made on the page.
    page.evaluate(f"{row('maintenance')}.button.click()")
    page.wait("the switch is on", f"{row('maintenance')}.button.getAttribute('aria-checked') === 'true'")
    with urllib.request.urlopen(f"{url}/flags/maintenance", timeout=60) as answer:
        flag = json.load(answer)
    assert flag["enabled"] and flag["version"] == 2, f"the server has {flag}"

    # Several as one commit, and what is computed of them.
    page.wait("the derived flag is off", f"{row('checkout-open')}.state.textContent === 'off'")
    patch(url, {"new-checkout": {"enabled": True}, "maintenance": {"enabled": False}, "search-suggestions": {"enabled": True}})
    page.wait("the derived flag is on", f"{row('checkout-open')}.state.textContent === 'on'")
    page.wait("all three are announced", "news.textContent.split(', ').length === 3")
    page.wait("as one version", "stream.textContent === 'Version 3, 0 dropped'")

    # A rollout, on the page; one that is out of range changes nothing.
    for share in (130, 40):
        page.evaluate(f"Object.assign({row('dark-mode')}.rollout, {{ value: {share} }}).dispatchEvent(new Event('change'))")
    page.wait("the rollout is made", f"stream.textContent === 'Version 4, 0 dropped' && {row('dark-mode')}.flag.rollout === 40")

    # Several on the page, as one commit.
    page.evaluate("several.click()")
    page.evaluate(f"{row('bulk-export')}.button.click()")
    page.evaluate(f"Object.assign({row('dark-mode')}.rollout, {{ value: 60 }}).dispatchEvent(new Event('change'))")
    page.wait("both wait", "apply.textContent === 'Apply 2 changes' && !drafting.hidden && document.querySelectorAll('tr.draft').length === 2")
    flags = listing(url)
    assert flags["version"] == 4, f"drafts have changed something: {flags}"
    if pictures:
        page.save(f"{pictures}/drafts.png")
    page.evaluate("apply.click()")
    page.wait("they are one version", "stream.textContent === 'Version 5, 0 dropped' && drafting.hidden && !document.querySelector('tr.draft')")
    flags = {flag["name"]: flag for flag in listing(url)["flags"]}
    assert flags["bulk-export"]["enabled"] and flags["dark-mode"]["rollout"] == 60, f"the server has {flags}"
    page.evaluate(f"{row('bulk-export')}.button.click(), discard.click()")
    page.wait("what is discarded is not shown", f"{row('bulk-export')}.button.textContent === 'on'")
    page.evaluate(f"several.click(), {row('bulk-export')}.button.click()")
    page.wait("the flag is off again", f"{row('bulk-export')}.flag.version === 6")

    # Assistive technology reads a switch for each flag, with its name and its state.
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    switches = {
        node["name"]["value"]: next(p["value"]["value"] for p in node["properties"] if p["name"] == "checked")
        for node in nodes if node.get("role", {}).get("value") == "switch"
    }
    on = {"new-checkout", "search-suggestions", "dark-mode"}
    expected = {name: "true" if name in on else "false"
                for name in ["new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance"]}
    assert switches == expected, f"switches: {switches}"

    # The colours of text and ground, far enough apart in both schemes; and everything fits, on a
    # telephone as on a desk.
    for scheme in ["light", "dark"]:
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.wait("colours have settled", "!document.querySelector('tr.fresh') && !document.getAnimations().length")
        for selector in ["h1", "thead th", "button[aria-checked=true]", "input[type=number]", "#connection", "td.on", ".computed", "#stream"]:
            ratio = page.evaluate(CONTRAST % selector)
            assert ratio >= 4.5, f"{scheme}: the contrast of {selector} is {ratio:.1f}"
        for width in [360, 1280]:
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=640, deviceScaleFactor=1, mobile=width < 500)
            needed = page.evaluate("document.documentElement.scrollWidth")
            assert needed <= width, f"the page needs {needed} px of {width}"
            if pictures:
                page.save(f"{pictures}/{scheme}-{width}.png")


# WCAG's contrast ratio between an element's colour and the nearest ground below it, as the browser
# paints both.
CONTRAST = """(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const paint = (colours) => {
        for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const element = document.querySelector("%s"), grounds = [];
    for (let e = element; e; e = e.parentElement) grounds.unshift(getComputedStyle(e).backgroundColor);
    const base = matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "white";
    const ground = paint([base, ...grounds]), text = paint([base, ...grounds, getComputedStyle(element).color]);
    return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
})()"""


def main():
    url, pictures = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    page = Browser()
    try:
        check(page, url, pictures)
    except (AssertionError, RuntimeError) as failure:
        sys.exit(f"page: {failure}")
    finally:
        page.close()
    print("page: live, changes on both sides, several at once, accessible, light and dark, 360 and 1280 px")


if __name__ == "__main__":
    main()
