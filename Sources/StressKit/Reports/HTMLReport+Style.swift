// SPDX-License-Identifier: Apache-2.0

extension HTMLReport {
    /// The style sheet. It is a part of the page, so the page loads no other file.
    package static let style = """
        :root {
          color-scheme: light dark;
          --ground: light-dark(#ffffff, #15181c); --raised: light-dark(#f4f6f8, #1e2329); --edge: light-dark(#d5dbe1, #363d46);
          --ink: light-dark(#1a2027, #e4e8ec); --soft: light-dark(#566270, #9aa6b2);
          --good: light-dark(#14713a, #63d08d); --bad: light-dark(#b3201b, #ff8a80); --doubt: light-dark(#8a5a00, #f0b84d);
          --first: light-dark(#0b62b8, #6cb6ff); --second: light-dark(#b04a00, #ffa657);
        }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 76rem; padding: 1.25rem; background: var(--ground); color: var(--ink);
          font: 15px/1.45 system-ui, sans-serif; overflow-wrap: break-word; }
        h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
        h3 { font-size: .95rem; margin: 0 0 .35rem; } p { margin: .35rem 0; max-width: 60rem; }
        .soft { color: var(--soft); } .pass { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
        .pass, .bad, .doubt { font-weight: 600; }
        .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: .25rem 1.5rem;
          margin: 1rem 0 0; padding: .75rem 1rem; background: var(--raised); border-radius: .5rem; }
        .facts div { min-width: 0; } dt { color: var(--soft); font-size: .8rem; } dd { margin: 0 0 .25rem; }
        .wide { overflow-x: auto; border: 1px solid var(--edge); border-radius: .5rem; }
        table { border-collapse: collapse; width: 100%; font-size: .85rem; }
        th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge); }
        thead th { background: var(--raised); font-weight: 600; white-space: nowrap; }
        tbody tr:last-child > * { border-bottom: 0; }
        tbody th { font-weight: 500; } td.number, th.number { text-align: right; white-space: nowrap;
          font-variant-numeric: tabular-nums; }
        .cell { min-width: 8rem; } .cell small { display: block; color: var(--soft); }
        .scale { display: block; position: relative; height: 1.1rem; }
        .scale i { position: absolute; bottom: 0; transform: translateX(-100%); padding-right: 3px; font-style: normal;
          font-weight: 400; font-size: .7rem; color: var(--soft); border-right: 1px solid var(--soft); }
        .bar { display: block; height: 4px; margin-top: 3px; border-radius: 2px; background: var(--first); }
        .card { border: 1px solid var(--edge); border-left: 4px solid var(--bad); border-radius: .5rem;
          padding: .75rem 1rem; margin: .75rem 0; }
        .card .wide { margin-top: .5rem; } .here > * { font-weight: 600; }
        pre { overflow-x: auto; background: var(--raised); padding: .75rem; border-radius: .5rem; font-size: .8rem; margin: .5rem 0 0; }
        code { background: var(--raised); padding: .1rem .3rem; border-radius: .25rem; font-size: .9em; }
        .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
        .charts.few { grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); }
        figure { margin: 0; padding: .6rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; min-width: 0; }
        figcaption { font-size: .8rem; color: var(--soft); }
        svg { display: block; width: 100%; height: auto; }
        svg text { fill: var(--soft); font-size: 11px; } svg .level { text-anchor: end; } svg .tick { text-anchor: middle; }
        svg .grid { stroke: var(--edge); stroke-width: 1; } svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
        svg .line0 { stroke: var(--first); } svg .line1 { stroke: var(--second); stroke-dasharray: 5 3; }
        svg .band0 { fill: transparent; } svg .band1 { fill: var(--raised); }
        .key::before { content: ""; display: inline-block; width: 1.4rem; border-top: 2px solid var(--first);
          vertical-align: middle; margin-right: .35rem; }
        .key.second::before { border-top: 2px dashed var(--second); } .key { margin-right: 1rem; }
        details { margin: .5rem 0; } summary { cursor: pointer; }
        """
}
