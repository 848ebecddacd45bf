/* SPDX-License-Identifier: Apache-2.0 */
/* kit.js - units and elements of a page; the first of its scripts, which are joined into one. */
"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const main = document.querySelector("main");
const charts = [];
const has_charts = typeof Chart !== "undefined";

/* ---- words and units ---- */

const has = (x) => x !== null && x !== undefined && x === x;
const list = (x) => Array.isArray(x) ? x : [];
const get = (o, path) => path.split(".").reduce(
	(at, key) => has(at) ? at[key] : undefined, o);

function scaled(v, step, units)
{
	let i = 0;

	while (Math.abs(v) >= step && i < units.length - 1) {
		v /= step;
		i++;
	}
	return digits(v) + " " + units[i];
}
function digits(v)
{
	const a = Math.abs(v);

	if (a >= 1000)
		return Math.round(v).toLocaleString("en-US");
	return String(+v.toPrecision(a >= 100 ? 4 : 3));
}
const bytes = (v) => scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const rate = (v) => bytes(v) + "/s";
const time_ns = (v) => v === 0 ? "0 s" : scaled(v, 1000, ["ns", "µs", "ms", "s"]);
const seconds = (v) => v === 0 ? "0 s" : v >= 7200 ? digits(v / 3600) + " h"
	: v >= 120 ? digits(v / 60) + " min" : time_ns(v * 1e9);
const percent = (v) => digits(v) + " %";
const count = (v) => digits(v);
const per_sec = (v) => scaled(v, 1000, ["", "k", "M"]).trim() + "/s";
const plain = (v) => String(v);
const show = (v, unit) => !has(v) ? "–" : typeof v === "number" ? (unit || count)(v) : v === true ? "yes" : v === false ? "no" : String(v);

/* ---- elements; all text is text, never HTML ---- */

function add(to, tag, text, cls)
{
	const e = document.createElement(tag);

	if (has(text))
		e.textContent = text;
	if (cls)
		e.className = cls;
	to.appendChild(e);
	return e;
}
/* head: [name, unit]; rows: lists of values, or {v, cls}. */
function table(to, head, rows)
{
	const t = add(add(to, "div", null, "scroll"), "table");
	const first = add(add(t, "thead"), "tr"), body = add(t, "tbody");

	/* Words are read from the left, figures compared from the right. */
	const is_text = head.map((_, i) => i > 0 && rows.some((r) => {
		const v = r[i] && typeof r[i] === "object" ? r[i].v : r[i];

		return typeof v === "string" && v !== "–" && isNaN(number_of(v));
	}));
	head.forEach((h, i) => add(first, "th", h[0], is_text[i] ? "text" : ""));
	for (const row of rows) {
		const tr = add(body, "tr");

		row.forEach((c, i) => {
			const v = c && typeof c === "object" ? c.v : c;
			const td = add(tr, "td", c && c.say || show(v, head[i][1]),
				(c && c.cls || "") + (is_text[i] ? " text" : "") + (typeof v === "string" && v.length > 40 ? " long" : ""));
			if (typeof v === "number")
				td.dataset.v = v;
			if (c && c.color)
				td.style.background = c.color;
		});
	}
	return t;
}
function below(card, head, rows)
{
	const d = add(card, "details");

	add(d, "summary", "Figures");
	d.open = !has_charts;
	table(d, head, rows);
}
function tile(to, name, value, unit)
{
	if (!has(value))
		return;
	const t = add(to, "div", null, "card tile");
	const b = add(t, "b", show(value, unit));

	if (typeof value === "number")
		b.dataset.v = value;
	add(t, "span", name);
}
function card(grid, title, cls)
{
	const c = add(grid, "section", null, "card " + (cls || ""));

	add(c, "h3", title);
	return c;
}

/* ---- the unit of a member, by its name ---- */

function unit_of(key)
{
	return /bytes.*_per_sec$/.test(key) ? rate : /bytes/.test(key) ? bytes
		: /bits_per_sec$/.test(key) ? (v) => scaled(v, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
		: /_ns(\.|$)|^(min|max|mean|stddev)$/.test(key) ? time_ns
		: /percent/.test(key) ? percent : /seconds/.test(key) ? seconds : count;
}
const entries_of = (o) => Object.entries(o || {}).filter((e) => has(e[1]) && typeof e[1] !== "object");
/* Members that are not objects, one per row. own: names that differ from the usual ones. */
function pairs(to, title, o, cls, own)
{
	const rows = entries_of(o);

	if (!rows.length)
		return;
	const words = words_of(rows.map((e) => e[0]), own);
	const t = table(card(to, title, cls), [["", plain], ["", plain]],
		rows.map((e, i) => [words[i], show(e[1], unit_of(e[0]))]));
	t.classList.add("pairs");
}
