"""The frame of a page that needs no network: style for screen, dark screen and print, and charts."""

from __future__ import annotations

import html
import json

from duelwise.lab.cells.codec import Plain

STYLE = """
:root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ddd;--head:#f4f4f4;--soft:#555;--link:#0b57d0;
--holds:#176f2c;--fails:#b3261e;--unjudged:#777}
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#16181c;--line:#3a3f47;--head:#23272e;--soft:#aaa;
--link:#8ab4f8;--holds:#7bd88f;--fails:#ff8a80;--unjudged:#999}}
body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;
color:var(--ink);background:var(--paper)}
h1,h2,h3{line-height:1.2;overflow-wrap:anywhere}
h2{border-top:2px solid var(--line);padding-top:.6em;margin-top:2em}
table{border-collapse:collapse;margin:1em 0;font-size:13px;display:block;overflow-x:auto}
caption{text-align:left;font-weight:600;padding:.3em 0}
td,th{border:1px solid var(--line);padding:.25em .6em;text-align:left}
th{background:var(--head)} .caption{color:var(--soft);font-size:13px} .differs{font-weight:600}
.chart{min-height:350px;overflow-x:auto}
.holds{color:var(--holds);font-weight:600}.fails{color:var(--fails);font-weight:600}
.unjudged{color:var(--unjudged)}
nav a{margin-right:1em} a{color:var(--link)} details{margin:.5em 0}
summary{cursor:pointer;color:var(--link)}
@media print{:root{--ink:#000;--paper:#fff;--line:#999;--head:#eee;--soft:#333;--link:#000;
--holds:#176f2c;--fails:#b3261e;--unjudged:#555}
body{max-width:none;margin:0;font-size:10pt} nav{display:none} table{display:table;font-size:8pt}
.chart,tr,h2,h3{break-inside:avoid} h2,h3{break-after:avoid} td,th{overflow-wrap:anywhere}}
"""
SCRIPT = """
const PRINTED = 700;  // pixels of a page's width
const charts = [...document.querySelectorAll(".chart")];
function paint(place, ink, width) {
  if (!place.told) place.told = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  const layout = structuredClone(place.told.layout);
  Object.assign(layout, {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
                         font: {...layout.font, color: ink}, hoverlabel: {font: {color: "#000"}}});
  if (width) layout.width = width;
  Plotly.react(place, place.told.data, layout, {responsive: !width, displaylogo: false});
}
const ink = () => getComputedStyle(document.body).color;
const near = new IntersectionObserver(entries => entries.forEach(entry => {
  if (!entry.isIntersecting) return;
  near.unobserve(entry.target);
  paint(entry.target, ink());
}), {rootMargin: "400px"});
charts.forEach(place => near.observe(place));
addEventListener("beforeprint", () => charts.forEach(place => paint(place, "#000", PRINTED)));
addEventListener("afterprint", () => charts.forEach(place => paint(place, ink())));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
  () => charts.filter(place => place.told).forEach(place => paint(place, ink())));
"""
"""A chart is drawn when it comes near the screen, and all of them before printing: a hundred panels at
once would make a slow page, and what was never drawn would print as a gap."""


def document(title: str, body: str) -> str:
    """A whole page."""
    from plotly.offline import get_plotlyjs

    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style><script>{get_plotlyjs()}</script></head>'
        f"<body>{body}<script>{SCRIPT}</script></body></html>"
    )


def place_chart(name: str, drawn: Plain) -> str:
    """A chart's place in a page, and its data."""
    data = json.dumps(drawn, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<script type="application/json" id="{name}">{data}</script>'
        f'<div class="chart" data-chart="{name}"></div>'
    )
