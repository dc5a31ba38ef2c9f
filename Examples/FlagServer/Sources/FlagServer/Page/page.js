// SPDX-License-Identifier: Apache-2.0
"use strict";

const [body, computed, stream, connection, news, several, drafting, apply, discard, access, token] =
    ["flags", "derived", "stream", "connection", "news", "several", "drafts", "apply", "discard", "access", "token"]
        .map(id => document.getElementById(id));
const rows = new Map();
// The changes that are not applied yet, by the flag's name.
const drafts = new Map();
// The name of the series in which the server counts versions. It is part of the tags of what was
// read.
let series = "";

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
    button.onclick = () => edit(row, { enabled: button.getAttribute("aria-checked") !== "true" });
    row.insertCell().append(button);
    const rollout = document.createElement("input");
    Object.assign(rollout, { type: "number", min: 0, max: 100, step: 1, required: true });
    rollout.setAttribute("aria-label", `rollout of ${name} in percent`);
    rollout.onchange = () => rollout.reportValidity() && edit(row, { rollout: rollout.valueAsNumber });
    const [share, version] = [row.insertCell(), row.insertCell()];
    share.className = "number";
    share.append(rollout, " %");
    version.className = "number version";
    return Object.assign(row, { button, rollout, version });
}

function addDerived(name) {
    const row = addRow(computed, name);
    const state = row.insertCell(), note = row.insertCell();
    [note.className, note.textContent] = ["number computed", "computed"];
    row.insertCell().className = "version";
    return Object.assign(row, { state });
}

function light(row) {
    row.classList.add("fresh");
    clearTimeout(row.timer);
    row.timer = setTimeout(() => row.classList.remove("fresh"), 2000);
}

// The flag, or what is to become of it.
function paint(row) {
    const draft = drafts.get(row.flag.name), { enabled, rollout } = draft ?? row.flag;
    row.classList.toggle("draft", draft !== undefined);
    row.button.setAttribute("aria-checked", enabled);
    row.button.textContent = enabled ? "on" : "off";
    if (document.activeElement !== row.rollout || draft === undefined) row.rollout.value = rollout;
}

function show(flag, fresh) {
    const row = rows.get(flag.name) ?? addFlag(flag.name);
    row.flag = flag;
    row.version.textContent = flag.version;
    paint(row);
    if (fresh) light(row);
}

function showDerived(flag, fresh) {
    const row = rows.get(flag.name) ?? addDerived(flag.name);
    [row.state.textContent, row.state.className] = flag.enabled ? ["on", "on"] : ["off", ""];
    if (fresh && row.enabled !== flag.enabled) light(row);
    row.enabled = flag.enabled;
}

// One commit: all of its flags before the browser paints again.
function showAll(event, fresh) {
    const data = JSON.parse(event.data);
    connection.textContent = "Live";
    series = event.lastEventId.slice(0, event.lastEventId.lastIndexOf(":"));
    data.flags.forEach(flag => show(flag, fresh));
    data.derived.forEach(flag => showDerived(flag, fresh));
    stream.textContent = `Version ${data.version}, ${data.dropped} dropped`;
    if (!fresh) return;
    const said = flag => `${flag.name} is ${flag.enabled ? "on" : "off"} for ${flag.rollout} %`;
    news.textContent = data.flags.map(said).join(", ");
}

function edit(row, change) {
    const { name, enabled, rollout, version } = row.flag;
    const flag = { enabled, rollout, ...drafts.get(name), ...change };
    if (!several.checked) return send("PUT", `/flags/${name}`, flag, { "If-Match": `"${series}:${version}"` });
    drafts.set(name, flag);
    paint(row);
    showDrafts();
}

function showDrafts() {
    drafting.hidden = drafts.size === 0;
    apply.textContent = `Apply ${drafts.size} ${drafts.size === 1 ? "change" : "changes"}`;
}

function endDrafts() {
    const rest = [...drafts.keys()];
    drafts.clear();
    rest.forEach(name => paint(rows.get(name)));
    showDrafts();
}

// Returns whether the server has made the change.
async function send(method, path, flags, headers = {}) {
    const held = sessionStorage.getItem("token");
    if (held) headers.Authorization = `Bearer ${held}`;
    let made = false;
    try {
        const answer = await fetch(path, { method, headers, body: JSON.stringify(flags) });
        made = answer.ok;
        access.hidden = answer.status !== 401;
        if (!made) news.textContent = (await answer.json()).error.message;
    } catch { news.textContent = "Nothing was changed: the service does not answer"; }
    // If the change was not made, the rows without a draft show their last known state again.
    for (const row of body.rows) if (!made && !drafts.has(row.flag.name)) paint(row);
    return made;
}

apply.onclick = async () => { if (await send("PATCH", "/flags", Object.fromEntries(drafts))) endDrafts(); };
discard.onclick = endDrafts;
several.onchange = () => { if (!several.checked) endDrafts(); };
access.onsubmit = event => {
    event.preventDefault();
    sessionStorage.setItem("token", token.value);
    [token.value, access.hidden, news.textContent] = ["", true, "The token is kept until this page is closed"];
};

const events = new EventSource("/events");
events.addEventListener("open", () => connection.textContent = "Live");
events.addEventListener("waiting", event => {
    const { source, error } = JSON.parse(event.data);
    connection.textContent = `There were no flags from ${source} yet${error ? `: ${error}` : ""}`;
});
events.addEventListener("state", event => showAll(event, false));
events.addEventListener("change", event => showAll(event, true));
events.addEventListener("end", () => connection.textContent = "The service goes down …");
events.addEventListener("error", () => connection.textContent = "Connection lost, trying again …");
