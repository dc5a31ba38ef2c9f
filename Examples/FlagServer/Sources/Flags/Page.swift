// SPDX-License-Identifier: Apache-2.0

import Hummingbird

/// The page at `/`, which shows the flags as they are and changes them.
enum Page {
    static var response: Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-cache"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html))
        )
    }

    private static let html = #"""
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Feature flags</title>
        <link rel="icon" href="data:,">
        <style>
        :root { color-scheme: light dark; --on: light-dark(#0a6b2d, #6fdc8c); --quiet: light-dark(#555, #b0b0b0);
                --line: light-dark(#ccc, #444); --fresh: light-dark(#fff3bf, #4a4000); }
        body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 46rem; padding: 0 1rem; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: .5rem .75rem; border-bottom: 1px solid var(--line); font-weight: normal; }
        thead th { color: var(--quiet); }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        tr.fresh { background: var(--fresh); }
        @media (prefers-reduced-motion: no-preference) { tr { transition: background .6s; } }
        button { font: inherit; padding: .25rem .75rem; min-width: 5rem; cursor: pointer; color: inherit; background: none;
                 border: 1px solid currentcolor; border-radius: .25rem; }
        button[aria-checked=true] { color: var(--on); font-weight: bold; }
        button:focus-visible { outline: 3px solid var(--on); outline-offset: 2px; }
        #connection, #stream, .computed { color: var(--quiet); }
        .on { color: var(--on); font-weight: bold; }
        </style>
        <main>
        <h1>Feature flags</h1>
        <p id="connection" role="status">Connecting …</p>
        <table>
        <caption hidden>The flags, as they are now</caption>
        <thead><tr><th scope="col">Flag</th><th scope="col">State</th><th scope="col" class="number">Rollout</th>
        <th scope="col" class="number">Version</th></tr></thead>
        <tbody id="flags"></tbody>
        <tbody id="derived"></tbody>
        </table>
        <p id="stream"></p>
        <p id="news" role="status" aria-live="polite"></p>
        <noscript><p>This page needs JavaScript. <a href="/flags">The flags as JSON</a></p></noscript>
        </main>
        <script>
        const [body, computed, stream, connection, news] = ["flags", "derived", "stream", "connection", "news"].map(id => document.getElementById(id));
        const rows = new Map();

        function addRow(to, name) {
            const row = to.insertRow();
            const head = document.createElement("th");
            head.scope = "row";
            head.textContent = name;
            row.append(head);
            rows.set(name, row);
            return row;
        }

        function addFlag(name) {
            const row = addRow(body, name);
            const button = document.createElement("button");
            button.setAttribute("role", "switch");
            button.setAttribute("aria-label", name);
            button.onclick = () => put(name, button.getAttribute("aria-checked") !== "true", row.flag.rollout);
            row.insertCell().append(button);
            const numbers = [0, 1].map(() => { const cell = row.insertCell(); cell.className = "number"; return cell; });
            return Object.assign(row, { button, numbers });
        }

        function addDerived(name) {
            const row = addRow(computed, name);
            const state = row.insertCell(), note = row.insertCell();
            [note.colSpan, note.className, note.textContent] = [2, "number computed", "computed"];
            return Object.assign(row, { state });
        }

        function light(row) {
            row.classList.add("fresh");
            clearTimeout(row.timer);
            row.timer = setTimeout(() => row.classList.remove("fresh"), 2000);
        }

        function show(flag, fresh) {
            const row = rows.get(flag.name) ?? addFlag(flag.name);
            row.flag = flag;
            row.button.setAttribute("aria-checked", flag.enabled);
            row.button.textContent = flag.enabled ? "on" : "off";
            [`${flag.rollout} %`, flag.version].forEach((text, i) => row.numbers[i].textContent = text);
            if (fresh) light(row);
        }

        function showDerived(flag, fresh) {
            const row = rows.get(flag.name) ?? addDerived(flag.name);
            [row.state.textContent, row.state.className] = flag.enabled ? ["on", "on"] : ["off", ""];
            if (fresh) light(row);
        }

        // One commit: all of its flags before the browser paints again.
        function showAll(data, fresh) {
            data.flags.forEach(flag => show(flag, fresh));
            stream.textContent = `Version ${data.version}, ${data.dropped} dropped`;
            if (!fresh) return;
            const said = flag => `${flag.name} is ${flag.enabled ? "on" : "off"} for ${flag.rollout} %`;
            news.textContent = data.flags.map(said).join(", ");
        }

        async function put(name, enabled, rollout) {
            try {
                const answer = await fetch(`/flags/${name}`, { method: "PUT", body: JSON.stringify({ enabled, rollout }) });
                if (!answer.ok) news.textContent = (await answer.json()).error.message;
            } catch { news.textContent = `${name} was not changed: the service does not answer`; }
        }

        const events = new EventSource("/events");
        events.addEventListener("open", () => connection.textContent = "Live");
        events.addEventListener("state", event => {
            const state = JSON.parse(event.data);
            showAll(state, false);
            state.derived.forEach(flag => showDerived(flag, false));
        });
        events.addEventListener("change", event => showAll(JSON.parse(event.data), true));
        events.addEventListener("derived", event => showDerived(JSON.parse(event.data), true));
        events.addEventListener("end", () => connection.textContent = "The service goes down …");
        events.addEventListener("error", () => connection.textContent = "Connection lost, trying again …");
        </script>
        """#
}
