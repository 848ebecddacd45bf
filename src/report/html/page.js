/* SPDX-License-Identifier: Apache-2.0 */
/* page.js - charts, and a table under each, from the figures in the page: whichever members they have. */
"use strict";
(function () {
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
const seconds = (v) => v === 0 ? "0 s" : v >= 120 ? digits(v / 60) + " min" : time_ns(v * 1e9);
const percent = (v) => digits(v) + " %";
const count = (v) => digits(v);
const per_sec = (v) => scaled(v, 1000, ["", "k", "M"]).trim() + "/s";
const plain = (v) => String(v);
const show = (v, unit) => has(v) ? typeof v === "number" ? (unit || count)(v) : String(v) : "–";

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
			const td = add(tr, "td", show(v, head[i][1]),
				(c && c.cls || "") + (is_text[i] ? " text" : ""));
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

/* ---- charts ---- */

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let is_printing = false;
const ink = () => dark.matches && !is_printing
	? { text: "#95a3b3", line: "#2c3743" } : { text: "#5d6b7c", line: "#e4e8ed" };
const colors = ["#3b82f6", "#f08c2e", "#22a06b", "#a259d9", "#e0526b",
	"#16a3b8", "#b8902c", "#7a869a"];
const good = "#22a06b", bad = "#e5484d", grey = "#98a4b3";

function axis(unit, title, more)
{
	const a = Object.assign({
		ticks: { callback: (v) => unit(v), maxTicksLimit: 7, maxRotation: 0 },
		title: { display: !!title, text: title }, grid: {},
	}, more || {});

	if (a.suggestedMax === 100) {
		a.max = 100;
		delete a.suggestedMax;
	}
	/* Bytes are round where a power of two is. */
	if ((unit === bytes || unit === rate) && a.type !== "logarithmic") {
		const step = (s) => 2 ** Math.ceil(Math.log2((s.max || 1) / 6));

		a.afterDataLimits = (s) => { s.max = Math.ceil((s.max || 1) / step(s)) * step(s); };
		a.afterBuildTicks = (s) => {
			const d = step(s);

			s.ticks = [];
			for (let v = 0; v <= s.max; v += d)
				s.ticks.push({ value: v });
		};
	}
	return a;
}
function log_axis(unit, title)
{
	const a = axis(unit, title, { type: "logarithmic" });

	a.ticks.callback = (v) => /^[125]/.test(String(v / 10 ** Math.floor(Math.log10(v) + 1e-9)).slice(0, 1)) ? unit(v) : null;
	return a;
}
/* Of the value a person points at: its unit. */
function tooltip(unit, x_unit)
{
	return {
		title: (items) => items.length ? x_unit ? x_unit(items[0].parsed.x, items[0]) : items[0].label : "",
		label: (item) => {
			const v = item.chart.options.indexAxis === "y" ? item.parsed.x : item.parsed.y;

			return item.dataset.label + ": " + (item.raw && item.raw.say || unit(v));
		},
	};
}
/* A chart that is made anew when the colours change. */
function draw(to, id, make, height)
{
	if (!has_charts)
		return;
	const plot = add(to, "div", null, "plot");

	if (height)
		plot.style.height = height + "px";
	const canvas = add(plot, "canvas");
	canvas.id = id + "-" + charts.length;
	charts.push({ canvas, make, chart: null });
}
function start(one)
{
	const c = one.make(), i = ink();

	if (one.chart)
		one.chart.destroy();
	c.options = Object.assign({
		responsive: true, maintainAspectRatio: false, animation: false,
		interaction: { mode: "nearest", axis: "x", intersect: false },
	}, c.options);
	c.options.plugins = Object.assign({ legend: {
		display: c.data.datasets.length > 1, position: "bottom",
		labels: { boxWidth: 12, boxHeight: 12, color: i.text },
	} }, c.options.plugins);
	for (const a of Object.values(c.options.scales || {})) {
		a.ticks = Object.assign({ color: i.text }, a.ticks);
		a.grid = Object.assign({ color: i.line, borderColor: i.line }, a.grid);
		a.title = Object.assign({ color: i.text }, a.title);
	}
	one.chart = new Chart(one.canvas, c);
}

/* Lines over x, with gaps where y is null. lines: [name, [{x, y}], more]. */
function lines(grid, title, id, sets, o)
{
	sets = sets.filter((s) => s[1].some((p) => has(p.y)));
	if (!sets.length)
		return null;
	const c = card(grid, title, o.cls);
	draw(c, id, () => ({
		type: "line",
		data: { datasets: sets.map((s, i) => Object.assign({
			label: s[0], data: s[1], borderWidth: 1.8, tension: 0,
			pointRadius: s[1].length < 40 ? 2 : 0, pointHitRadius: 6,
			borderColor: colors[i], backgroundColor: colors[i] + "33",
			stepped: o.stepped || false, fill: !!o.stacked,
		}, s[2] || {})) },
		options: {
			parsing: false,
			scales: {
				x: o.x || axis(seconds, "since the start", { type: "linear" }),
				y: o.log ? log_axis(o.unit) : axis(o.unit, "",
					{ beginAtZero: true, suggestedMax: o.max, stacked: !!o.stacked }),
			},
			plugins: { tooltip: { callbacks: tooltip(o.unit, o.x_unit || seconds) } },
		},
	}));
	const xs = [...new Set(sets.flatMap((s) => s[1].map((p) => p.x)))]
		.filter(has).sort((a, b) => a - b);
	const at = sets.map((s) => new Map(s[1].map((p) => [p.x, p.y])));
	below(c, [[o.x_name || "end", o.x_table || o.x_unit || seconds]].concat(sets.map((s) => [s[0], o.unit])),
		xs.filter((x) => at.some((m) => has(m.get(x)))).map((x) => [x].concat(at.map((m) => m.get(x)))));
	return c;
}
/* Bars of one row of labels. sets: [name, [value], colour]. */
function bars(grid, title, id, labels, sets, o)
{
	sets = sets.filter((s) => s[1].some((v) => has(v) && (v !== 0 || o.zero)));
	if (!sets.length)
		return null;
	const c = card(grid, title, o.cls), flat = o.flat;
	const value = axis(o.unit, "", { beginAtZero: true, suggestedMax: o.max, stacked: !!o.stacked });
	const names = { stacked: !!o.stacked, ticks: { autoSkip: true, maxRotation: 0 }, grid: { display: false } };
	draw(c, id, () => ({
		type: "bar",
		data: { labels, datasets: sets.map((s, i) => ({
			label: s[0], data: s[1], backgroundColor: s[2] || colors[i],
			barPercentage: o.dense ? 1 : .8, categoryPercentage: o.dense ? 1 : .8,
			maxBarThickness: o.dense ? undefined : 46,
		})) },
		options: {
			indexAxis: flat ? "y" : "x",
			interaction: { mode: "nearest", axis: flat ? "y" : "x", intersect: false },
			scales: flat ? { x: value, y: names } : { x: names, y: value },
			plugins: { tooltip: { mode: "index", callbacks: tooltip(o.unit) } },
		},
	}), flat ? Math.max(120, 70 + 34 * labels.length) : 0);
	below(c, [["", plain]].concat(sets.map((s) => [s[0], o.unit])),
		labels.map((l, i) => [l].concat(sets.map((s) => s[1][i]))));
	return c;
}

/* ---- over time ---- */

/* A column, or what is made of a row, as points at the ends of intervals; a hole
 * in time is a hole in the line. */
function over(s, value)
{
	const out = [], end = list(s.end_seconds), begin = list(s.begin_seconds);

	for (let i = 0; i < end.length; i++) {
		if (i && begin[i] - end[i - 1] > 1.5 * (end[i] - begin[i]))
			out.push({ x: end[i - 1] + 1e-6, y: null });
		const v = value(i);
		out.push({ x: end[i], y: has(v) ? v : null });
	}
	return out;
}
const column = (s, name) => over(s, (i) => list(s[name])[i]);
const per_second = (s, name) => over(s, (i) => {
	const v = list(s[name])[i];

	return has(v) && s.seconds[i] > 0 ? v / s.seconds[i] : null;
});

function latencies_over(grid, s, name, title)
{
	lines(grid, title + " latency over time", "latency-" + name, [
		["p50", column(s, name + "_p50_ns")],
		["p99", column(s, name + "_p99_ns")],
		["max", column(s, name + "_max_ns"), { borderWidth: 1, borderDash: [3, 3] }],
	].map((l) => [l[0], l[1].map((p) => ({ x: p.x, y: p.y > 0 ? p.y : null })), l[2]]),
	{ unit: time_ns, log: true });
}

/* From pale to strong, by the share of the fullest. */
function heat(share)
{
	const a = share > 0 ? .2 + .8 * Math.sqrt(share) : 0;

	return `rgba(59,130,246,${a.toFixed(3)})`;
}
/* Bars from bin to bin, one upon another, coloured by their counts. */
function heatmap(grid, s, l)
{
	const from = list(l.from_ns), n = from.length, flat = list(l.counts);
	const rows = n ? flat.length / n : 0, ends = list(s.end_seconds);
	const labels = [];
	let most = 0;

	if (rows < 4 || n < 2)
		return;
	for (const v of flat)
		most = Math.max(most, v);
	for (let r = 0; r < rows; r++)
		labels.push(seconds(ends[Math.min((r + 1) * l.intervals_each, ends.length) - 1]));
	const top = (b) => b + 1 < n ? from[b + 1] : from[b] * 1.19;
	const c = card(grid, `Latency of ${l.operation === "stall" ? "stalls" : l.operation + "s"}: how many took how long`, "");
	draw(c, "heatmap", () => ({
		type: "bar",
		data: { labels, datasets: from.map((lo, b) => ({
			label: `${time_ns(lo)} to ${time_ns(top(b))}`,
			data: labels.map((_, r) => flat[r * n + b] ? [Math.max(lo, 1), top(b)] : null),
			backgroundColor: labels.map((_, r) => heat(flat[r * n + b] / most)),
			barPercentage: 1, categoryPercentage: 1, grouped: false,
		})) },
		options: {
			interaction: { mode: "nearest", axis: "xy", intersect: true },
			scales: { x: { ticks: { maxTicksLimit: 7, maxRotation: 0 }, grid: { display: false } },
				y: Object.assign(log_axis(time_ns), { min: Math.max(from[0], 1), max: top(n - 1) }) },
			plugins: { legend: { display: false }, tooltip: { callbacks: {
				label: (i) => i.dataset.label + ": " + count(flat[i.dataIndex * n + i.datasetIndex]) } } },
		},
	}));
	below(c, [["until", plain]].concat(from.map((lo) => [time_ns(lo), count])),
		labels.map((x, r) => [x].concat(from.map((_, b) => flat[r * n + b]))));
}

function over_time(grid, s, target)
{
	const au = [["AU", column(s, "au_percent")]];

	if (has(target))
		au.push(["required", s.end_seconds.map((x) => ({ x, y: target })), { borderDash: [4, 4], borderColor: good, pointRadius: 0 }]);
	if (list(s.au_percent).some(has))
		lines(grid, "Accelerator utilisation over time", "au", au, { unit: percent, max: 100 });
	const moved = (k) => list(s[k]).some((v) => v > 0);
	lines(grid, "Throughput over time", "throughput", [
		["read", moved("read_bytes") ? per_second(s, "read_bytes") : []],
		["written", moved("write_bytes") ? per_second(s, "write_bytes") : []],
		["of it checkpoints", moved("checkpoint_bytes") && moved("samples") ? per_second(s, "checkpoint_bytes") : []],
		["prepared", over(s, (i) => has(list(s.io_bytes)[i]) && !has(list(s.read_bytes)[i]) ? s.io_bytes[i] / s.seconds[i] : null)],
	], { unit: rate });
	lines(grid, "Operations over time", "operations", [
		["reads", moved("read_ios") ? per_second(s, "read_ios") : []],
		["writes", moved("write_ios") ? per_second(s, "write_ios") : []],
	], { unit: per_sec });
	latencies_over(grid, s, "read", "Read");
	latencies_over(grid, s, "write", "Write");
	latencies_over(grid, s, "sample", "Sample");
	latencies_over(grid, s, "stall", "Stall");
	for (const l of list(s.latencies))
		if (l.operation !== "stall")
			heatmap(grid, s, l);
	if (list(s.hit_percent).some(has))
		lines(grid, "Hits of the cache tier over time", "hits", [["hits", column(s, "hit_percent")]], { unit: percent, max: 100 });
	lines(grid, "CPUs of the host over time", "cpu", [["busy", column(s, "cpu_percent")]], { unit: percent, max: 100 });
	lines(grid, "Memory of the host over time", "memory", [
		["page cache", column(s, "page_cache_bytes")], ["mlgen", column(s, "resident_bytes")]], { unit: bytes });
}

/* ---- of a job ---- */

function bins_of(h)
{
	return Object.entries(h && h.bins || {}).map((e) => [+e[0], e[1]]).sort((a, b) => a[0] - b[0]);
}
/* As HdrHistogram draws it: how many of how many are slower. */
function percentile_curve(grid, hists)
{
	const sets = [];

	for (const [name, h] of hists) {
		const bins = bins_of(h), points = [];
		const all = bins.reduce((n, b) => n + b[1], 0);
		let below_it = 0;

		if (all < 10 || !(h.max > 0))
			continue;
		for (const [ns, n] of bins) {
			points.push({ x: all / (all - below_it), y: Math.max(ns, 1) });
			below_it += n;
		}
		points.push({ x: all, y: Math.max(h.max, 1) });
		sets.push([name, points, { pointRadius: 0, stepped: "before" }]);
	}
	const p = (x) => "p" + +(100 * (1 - 1 / x)).toPrecision(7);
	const x = axis(p, "percentile", { type: "logarithmic", min: 1 });
	x.ticks.callback = (v) => /^1(0*)$/.test(String(Math.round(v))) || v === 2 ? p(v) : null;
	x.ticks.maxTicksLimit = 40;
	lines(grid, "Latency by percentile", "percentiles", sets,
		{ unit: time_ns, log: true, x, x_unit: p, x_name: "percentile" });
}
function distribution(grid, title, id, h)
{
	const bins = bins_of(h), all = bins.reduce((n, b) => n + b[1], 0);

	if (all < 20 || h.max <= h.min)
		return;
	const low = bins[0][0], high = bins[bins.length - 1][0], n = 40;
	const width = (high - low) / n || 1, counts = new Array(n).fill(0);
	for (const [ns, c] of bins)
		counts[Math.min(n - 1, Math.floor((ns - low) / width))] += c;
	bars(grid, title, id, counts.map((_, i) => time_ns(low + (i + .5) * width)),
		[["steps", counts]], { unit: count, dense: true, zero: true });
}
function shares(grid, title, id, groups)
{
	const kinds = [...new Set(groups.flatMap((g) => Object.keys(g[1] || {})))];

	bars(grid, title, id, groups.map((g) => g[0]),
		kinds.map((k) => [k, groups.map((g) => g[1] ? g[1][k] : null)]),
		{ unit: percent, flat: true, stacked: true, max: 100 });
}
function checkpoints(grid, items, title)
{
	if (!list(items).length)
		return;
	const done = items.filter((k) => k.complete !== false);
	bars(grid, title + ": time of each", "checkpoints", done.map((k) => String(k.number)), [
		["slowest rank", done.map((k) => k.slowest_rank_seconds), bad],
		["others of it", done.map((k) => Math.max(0, k.seconds - k.slowest_rank_seconds))],
		["commit", done.map((k) => k.commit_seconds), colors[1]],
		["delete old ones", done.map((k) => k.delete_seconds), grey],
	], { unit: seconds, stacked: true });
	bars(grid, title + ": throughput of each", "checkpoint-rates", done.map((k) => String(k.number)), [
		["all ranks", done.map((k) => k.bytes_per_sec)],
		["slowest rank", done.map((k) => k.slowest_rank_bytes_per_sec), bad],
	], { unit: rate });
	/* A lane for each rank that was the slowest once. */
	const ranks = [...new Set(done.map((k) => k.slowest_rank))].filter(has).sort((a, b) => a - b);
	if (ranks.length > 1)
		bars(grid, title + ": how often a rank was the slowest", "slowest", ranks.map((r) => "rank " + r),
			[["checkpoints", ranks.map((r) => done.filter((k) => k.slowest_rank === r).length), bad]], { unit: count, flat: true });
}
function caches(grid, cache)
{
	const e = list(cache && cache.epochs), labels = e.map((x) => "epoch " + x.epoch);
	const of = (k) => e.map((x) => has(x[k]) ? x[k] : get(x, "counts." + k));

	if (!e.length)
		return;
	bars(grid, "Hit ratio of the cache by epoch", "hit-ratio", labels, [["hit ratio", of("hit_ratio").map((v) => has(v) ? v * 100 : null)]], { unit: percent, max: 100, zero: true });
	bars(grid, "Where the samples came from", "composition", labels, [
		["cache", of("cache_bytes")], ["storage", of("storage_bytes")], ["peers", of("peer_bytes")]], { unit: bytes, stacked: true });
}
function ceiling(grid, m)
{
	const c = m.ceiling, is_au = has(m.au_percent);

	if (!c || !(has(c.null_seconds) || has(c.cached_seconds)))
		return;
	const key = is_au ? "au_percent" : "samples_per_sec";
	bars(grid, "What this host reaches at best", "ceiling", ["with this storage", "from memory", "without storage"],
		[[is_au ? "AU" : "samples/s", [m[key], c["cached_" + key], c["null_" + key]]]], { unit: is_au ? percent : per_sec, flat: true, max: is_au ? 100 : undefined });
}
const tone = { errors: "bad", storage: "warn", memory: "warn", network: "warn", host: "warn", cache: "warn", compute: "good", unclear: "" };

function verdict(to, v, au)
{
	if (!v || !v.headline)
		return;
	const c = add(to, "div", null, "card verdict " + (tone[v.name] || ""));

	add(c, "span", (v.name === "compute" ? "storage keeps up" : v.name === "unclear" ? "unclear" : "limit: " + v.name), "badge");
	add(c, "p", v.headline, "headline");
	if (v.because)
		add(c, "p", v.because);
	if (v.try_next)
		add(c, "p", "Next: " + v.try_next, "note");
}
function rules(to, items)
{
	if (!list(items).length)
		return;
	const c = card(to, "Rules of MLPerf Storage", "wide");
	table(c, [["rule"], ["state"], [""]], items.map((r) => [r.rule,
		{ v: r.state, cls: r.state === "ok" ? "good" : r.state === "broken" ? "bad" : "" }, r.text]));
}
function job_tiles(to, j, m)
{
	const t = add(to, "div", null, "tiles");

	tile(t, "accelerator utilisation", m.au_percent, percent);
	tile(t, "throughput of samples", m.sample_bytes_per_sec || null, rate);
	tile(t, "samples", m.samples_per_sec || null, per_sec);
	for (const [d, name] of [["read", "read"], ["write", "written"]])
		if (j.io && j[d] && j[d].total_ios) {
			tile(t, name, j[d].bw_bytes, rate);
			tile(t, "operations " + name, j[d].iops, per_sec);
			tile(t, d + " p99", get(j[d], "clat_ns.percentile")["99.000000"], time_ns);
		}
	tile(t, "accelerators", m.accelerators);
	if (has(get(m, "stall_ns.percentile")) && m.stall_ns.N)
		tile(t, "stall p99", m.stall_ns.percentile["99.000000"], time_ns);
	for (const [k, name] of [["saves", "checkpoints saved"], ["restores", "checkpoints restored"]])
		if (m[k] && m[k].completed) {
			tile(t, name, m[k].completed);
			tile(t, "throughput of them", m[k].bytes_per_sec, rate);
			tile(t, "slowest rank", m[k].slowest_rank_bytes_per_sec, rate);
		}
	tile(t, "from memory, not storage", get(m, "storage.memory_percent"), percent);
	tile(t, "hit ratio of the cache", has(get(j, "cache.hit_ratio")) ? j.cache.hit_ratio * 100 : null, percent);
	tile(t, "time", m.wall_seconds, seconds);
	tile(t, "errors", m.errors || null);
}
function job_charts(grid, j, m, s)
{
	if (s && list(s.end_seconds).length > 1)
		over_time(grid, s, m.target_au_percent);
	const epochs = list(m.epochs), labels = epochs.map((e) => "epoch " + e.epoch);
	if (epochs.some((e) => has(e.au_percent)))
		bars(grid, "Accelerator utilisation by epoch", "au-epochs", labels, [["AU", epochs.map((e) => e.au_percent)]], { unit: percent, max: 100 });
	bars(grid, "Throughput by epoch", "epochs", labels, [["samples", epochs.map((e) => e.sample_bytes_per_sec)]], { unit: rate });
	const hists = [["sample", m.sample_ns], ["step", m.step_ns], ["stall", m.stall_ns]];
	for (const k of ["read", "write"])
		hists.push([k, get(m, `ops.${k}.lat_ns`) || get(j, k + ".clat_ns")]);
	hists.push(["fsync", get(m, "ops.fsync.lat_ns")], ["open", get(m, "ops.open.lat_ns")]);
	percentile_curve(grid, hists);
	distribution(grid, "Time of a step", "steps", m.step_ns);
	shares(grid, "Where time went", "time", [["accelerators", m.time_percent],
		["loaders", m.loader_percent], ["workers", m.worker_percent],
		["ranks saving", get(m, "saves.completed") ? m.saves.rank_percent : null],
		["ranks restoring", get(m, "restores.completed") ? m.restores.rank_percent : null]].filter((g) => g[1] && Object.values(g[1]).some(has)));
	const ranks = list(m.au_percent_per_accelerator);
	if (ranks.length > 1)
		bars(grid, "AU of each accelerator", "ranks", ranks.map((_, i) => "rank " + i), [["AU", ranks]], { unit: percent, max: 100 });
	const depth = j.iodepth_level;
	if (depth && Object.values(depth).filter((v) => v > 0).length)
		bars(grid, "Operations in flight", "depth", Object.keys(depth), [["of the operations", Object.values(depth)]], { unit: percent, max: 100 });
	caches(grid, j.cache);
	checkpoints(grid, m.checkpoints, "Checkpoints saved");
	checkpoints(grid, m.restore, "Checkpoints restored");
	ceiling(grid, m);
}
function pairs(to, title, o, cls)
{
	const rows = Object.entries(o || {}).filter((e) => has(e[1]) && typeof e[1] !== "object").map((e) => [e[0], String(e[1])]);

	if (!rows.length)
		return;
	const c = card(to, title, cls);
	table(c, [["", plain], ["", plain]], rows);
}
function job_facts(grid, j, m)
{
	rules(grid, m.mlperf_check);
	const options = j["job options"] || {};
	if (Object.keys(options).length) {
		const c = card(grid, "The job");
		add(c, "pre", `[${j.jobname}]\n` + Object.entries(options).map((e) => has(e[1]) ? `${e[0]}=${e[1]}` : e[0]).join("\n"));
	}
	pairs(grid, "Storage", m.storage);
	pairs(grid, "Data set", j.dataset);
	pairs(grid, "Preparation", j.prepare);
	pairs(grid, "Host during the run", Object.assign({}, m.host, get(m, "host.noise")));
	pairs(grid, "Network", m.network && m.network.interface ? m.network : null);
	const all = j.options_resolved || {}, how = j.options_origin || {};
	if (Object.keys(all).length) {
		const c = card(grid, "Every option in effect", "wide"), d = add(c, "details");
		add(d, "summary", Object.keys(all).length + " options, and where they came from");
		table(d, [["option"], ["value"], ["from"]], Object.keys(all).map((k) => [k, show(all[k]), show(how[k])]));
	}
}
function series_of(d, name)
{
	return list(get(d, "series.jobs")).find((s) => s.job === name);
}
function run_page(to, d)
{
	const jobs = list(d.jobs);

	jobs.forEach((j, i) => {
		const m = j.ml || j.io || {}, plan = j.plan;

		if (jobs.length > 1)
			add(to, "h2", j.jobname);
		if (j.error_text) {
			const c = add(to, "div", null, "card verdict bad");
			add(c, "span", "failed", "badge");
			add(c, "p", j.error_text, "headline");
		}
		verdict(to, m.verdict, m.au_percent);
		job_tiles(to, j, m);
		const grid = add(to, "div", null, "grid");
		/* Records of one job share what was seen of it over time. */
		const is_first = jobs.findIndex((k) => k.jobname === j.jobname) === i;
		job_charts(grid, j, m, is_first ? series_of(d, j.jobname) : null);
		job_facts(grid, j, m);
		if (plan) {
			pairs(grid, "Plan", plan);
			if (list(plan.checks).length)
				table(card(grid, "Checks", "wide"), Object.keys(plan.checks[0]).map((k) => [k]), plan.checks.map((c) => Object.values(c).map((v) => show(v))));
		}
	});
	const grid = add(to, "div", null, "grid");
	const disks = list(d.disk_util);
	if (disks.length)
		table(card(grid, "Devices", "wide"), [["device"], ["busy", percent], ["reads", count], ["writes", count]],
			disks.map((k) => [k.name, k.util, k.read_ios, k.write_ios]));
	pairs(grid, "Machine", d.machine, "wide");
	if (!d.series && jobs.some((j) => j.ml || j.io))
		add(to, "p", "Charts over time are left out: the document has no series; a run with --html or --series=1 has.", "note");
}

/* ---- find-max ---- */

function find_max(to, f)
{
	const probes = list(f.probes), passed = (p) => has(p.holds) ? p.holds : has(p.passed) ? p.passed : p.margin_percent >= 0;
	const value = (p) => has(p.value) ? p.value : p[f.option];
	const y_key = probes.some((p) => has(p.au_percent)) ? "au_percent" : "margin_percent";
	const v = add(to, "div", null, "card verdict " + (has(f.answer) ? "good" : "warn"));

	add(v, "span", f.smallest ? "smallest" : "largest", "badge");
	add(v, "p", `${f.option || "value"} for which ${f.requirement || "it"} holds: ${show(f.answer)}`, "headline");
	add(v, "p", [f.limit, has(f.limit_bytes_per_sec) ? "limit: " + rate(f.limit_bytes_per_sec) : null].filter(has).join("; "));
	const grid = add(to, "div", null, "grid");
	const point = (p, i) => ({ x: value(p), y: p[y_key], say: `probe ${i + 1}: ${show(p[y_key], percent)}` });
	lines(grid, "The search: probes that hold, and that do not", "search", [
		["holds", probes.map((p, i) => passed(p) ? point(p, i) : null).filter((p) => p && has(p.y)), { showLine: false, pointRadius: 6, backgroundColor: good, borderColor: good }],
		["does not", probes.map((p, i) => passed(p) ? null : point(p, i)).filter((p) => p && has(p.y)), { showLine: false, pointRadius: 6, pointStyle: "rectRot", backgroundColor: bad, borderColor: bad }],
	], { unit: percent, x: axis(count, f.option || "", { type: "linear" }), x_unit: (x) => `${f.option || "value"} ${x}`, x_name: f.option || "value", x_table: count, cls: "wide" });
	if (probes.length)
		table(card(grid, "Probes in their order", "wide"), Object.keys(probes[0]).map((k) => [k]), probes.map((p) =>
			Object.values(p).map((x) => typeof x === "number" ? x : show(x))));
}

/* ---- several runs ---- */

const options_of = (doc) => Object.assign({}, get(list(doc.document.jobs)[0] || {}, "options_resolved"));
/* What the runs differ by, but for what follows from where they lie. */
function varied(docs)
{
	const all = docs.map(options_of);
	const keys = [...new Set(all.flatMap(Object.keys))];

	return keys.filter((k) => new Set(all.map((o) => String(o[k]))).size > 1);
}
const metrics = [
	["AU", percent, (j, m) => m.au_percent],
	["throughput", rate, (j, m) => m.sample_bytes_per_sec || (j.io ? (j.read.bw_bytes + j.write.bw_bytes) : get(m, "saves.bytes_per_sec") || get(m, "restores.bytes_per_sec"))],
	["operations", per_sec, (j) => j.io ? j.read.iops + j.write.iops : null],
	["read p99", time_ns, (j, m) => (get(m, "ops.read.lat_ns.N") ? get(m, "ops.read.lat_ns.percentile") : get(j, "read.total_ios") ? get(j, "read.clat_ns.percentile") : {} )["99.000000"]],
	["stall p99", time_ns, (j, m) => get(m, "stall_ns.N") ? m.stall_ns.percentile["99.000000"] : null],
];
function number_of(text)
{
	const m = /^([0-9.]+)([kmgtp]?)(i?b?|%|ms|us|ns|s)?$/i.exec(String(text));
	const k = m ? "kmgtp".indexOf(m[2].toLowerCase()) + 1 : 0;

	return m ? +m[1] * 1024 ** (m[2] ? k : 0) : NaN;
}
function sweep(to, docs)
{
	const runs = docs.filter((x) => list(x.document.jobs).length);
	if (runs.length < 2)
		return;
	const keys = varied(runs), grid = add(to, "div", null, "grid");
	const first = (x) => x.document.jobs[0], m_of = (j) => j.ml || j.io || {};
	const value = (x, of) => of(first(x), m_of(first(x)));
	const text = (x, k) => show(options_of(x)[k]);
	/* Axes: options with the most values that are numbers come first. */
	const axes = keys.filter((k) => !/directory|filename|^seed$|description/.test(k))
		.sort((a, b) => new Set(runs.map((x) => text(x, b))).size - new Set(runs.map((x) => text(x, a))).size);
	const known = metrics.filter((q) => runs.some((x) => value(x, q[2]) > 0));
	const order = (k) => [...new Set(runs.map((x) => text(x, k)))].sort((a, b) => number_of(a) - number_of(b) || (a < b ? -1 : 1));

	table(card(grid, "Runs", "wide"), [["file", plain]].concat(axes.slice(0, 4).map((k) => [k, plain]), known.map((q) => [q[0], q[1]])),
		runs.map((x) => [x.file || first(x).jobname].concat(axes.slice(0, 4).map((k) => text(x, k)), known.map((q) => value(x, q[2])))));
	for (const q of known) {
		if (!axes.length) {
			bars(grid, q[0] + " of each run", "runs", runs.map((x, i) => x.file || String(i + 1)), [[q[0], runs.map((x) => value(x, q[2]))]], { unit: q[1], flat: true });
			continue;
		}
		const xs = order(axes[0]), others = axes.length > 1 ? order(axes[1]) : [""];
		const mean = (a, b) => {
			const v = runs.filter((x) => text(x, axes[0]) === a && (!b || text(x, axes[1]) === b)).map((x) => value(x, q[2])).filter(has);

			return v.length ? v.reduce((s, n) => s + n, 0) / v.length : null;
		};
		bars(grid, `${q[0]} by ${axes[0]}` + (others.length > 1 ? ` and ${axes[1]}` : ""), "sweep", xs,
			others.map((b) => [b === "" ? q[0] : `${axes[1]}=${b}`, xs.map((a) => mean(a, b))]), { unit: q[1] });
		if (others.length < 2)
			continue;
		const c = card(grid, `${q[0]}: ${axes[0]} across, ${axes[1]} down`);
		const all = xs.flatMap((a) => others.map((b) => mean(a, b))).filter(has), low = Math.min(...all), high = Math.max(...all);
		table(c, [["", plain]].concat(xs.map((a) => [a, q[1]])), others.map((b) => [b].concat(xs.map((a) => {
			const v = mean(a, b), s = high > low ? (v - low) / (high - low) : .5;

			return { v, cls: "cell", color: has(v) ? `hsl(${q[1] === time_ns ? 130 - 120 * s : 10 + 120 * s},60%,72%)` : "" };
		}))));
	}
	together(grid, runs.slice(0, 6));
}
/* Over time, in one picture. */
function together(grid, runs)
{
	const of = (value) => runs.map((x) => {
		const s = list(get(x.document, "series.jobs"))[0];

		return [x.file || "", s ? value(s) : []];
	});
	lines(grid, "Throughput over time", "throughputs", of((s) => per_second(s, "read_bytes")), { unit: rate });
	lines(grid, "AU over time", "aus", of((s) => list(s.au_percent).some(has) ? column(s, "au_percent") : []), { unit: percent, max: 100 });
}
function comparison(to, rows, docs)
{
	const figure = rows.filter((r) => r.figure), option = rows.filter((r) => r.option);
	const names = docs.map((x) => x.file), grid = add(to, "div", null, "grid");
	const worse = figure.filter((r) => r.decides && r.marks.includes("worse"));
	const better = figure.filter((r) => r.decides && r.marks.includes("better"));
	const v = document.createElement("div");

	v.className = "card verdict " + (worse.length ? "bad" : better.length ? "good" : "");
	to.insertBefore(v, grid);
	add(v, "span", worse.length ? "worse" : better.length ? "better" : "the same", "badge");
	const line = (r) => r.figure + " " + names.map((_, i) => i && has(r.marks[i]) && r.marks[i] !== "same" ? digits((r.difference_percent || r.difference_points)[i]) + (r.difference_percent ? " %" : " points") : "").filter(Boolean).join(", ");
	add(v, "p", worse.length ? worse.map(line).join("; ") : better.length ? better.map(line).join("; ") : "no figure that decides differs beyond its noise", "headline");
	const shown = figure.filter((r) => r.values.every(has) && (r.decides || r.marks.some((k) => k === "worse" || k === "better"))).slice(0, 24);
	if (shown.length && names.length > 1) {
		const of = (r, k) => (r[k + "_percent"] || r[k + "_points"] || []);
		const c = card(grid, "Difference to " + names[0] + ", with the band of noise", "wide");
		draw(c, "difference", () => ({
			type: "bar",
			data: { labels: shown.map((r) => r.figure + (r.difference_points ? " (points)" : " (%)")), datasets: names.slice(1).map((n, i) => ({
				label: n, data: shown.map((r) => of(r, "difference")[i + 1]),
				backgroundColor: shown.map((r) => r.marks[i + 1] === "worse" ? bad : r.marks[i + 1] === "better" ? good : colors[0]), maxBarThickness: 16,
			})).concat(names.length === 2 ? [{ label: "noise", data: shown.map((r) => has(of(r, "noise")[1]) ? [-of(r, "noise")[1], of(r, "noise")[1]] : null), backgroundColor: "rgba(152,164,179,.45)", grouped: false, maxBarThickness: 30, order: 5 }] : []) },
			options: { indexAxis: "y", scales: { x: axis(digits), y: { ticks: { autoSkip: false }, grid: { display: false } } } },
		}), 80 + 34 * shown.length);
	}
	const head = [["figure", plain]].concat(names.map((n) => [n, digits]), names.length > 1 ? [["noise", digits], ["", plain]] : []);
	const c = card(grid, "Figures side by side", "wide");
	table(c, head, figure.map((r) => [r.figure].concat(r.values, names.length > 1 ? [(r.noise_percent || r.noise_points || [])[1],
		{ v: r.marks.slice(1).filter(has).join(" "), cls: r.marks.includes("worse") ? "bad" : r.marks.includes("better") ? "good" : "" }] : [])));
	if (option.length)
		table(card(grid, "Options that differ", "wide"), [["option"]].concat(names.map((n) => [n])), option.map((r) => [r.option].concat(r.values.map((x) => show(x)))));
	together(grid, docs.slice(0, 6));
}

/* ---- what has no page of its own: members as tables, lists of numbers as bars ---- */

function unit_of(key)
{
	return /_per_sec$/.test(key) && /bytes/.test(key) ? rate : /bytes/.test(key) ? bytes : /_ns$|^(min|max|mean|stddev)$/.test(key) ? time_ns
		: /percent/.test(key) ? percent : /seconds/.test(key) ? seconds : count;
}
function generic(to, o, path)
{
	const grid = add(to, "div", null, "grid");
	const flat = Object.entries(o).filter((e) => has(e[1]) && typeof e[1] !== "object" && !/version/.test(e[0]));

	if (flat.length)
		table(card(grid, path.join(" ") || "Figures", "wide"), [["", plain], ["", plain]], flat.map((e) => [e[0], show(e[1], unit_of(e[0]))]));
	const hists = Object.entries(o).filter((e) => e[1] && e[1].bins);
	percentile_curve(grid, hists);
	for (const [k, v] of Object.entries(o)) {
		if (!v || typeof v !== "object" || v.bins)
			continue;
		if (Array.isArray(v)) {
			if (v.length && typeof v[0] === "object")
				list_card(grid, path.concat(k).join(" "), v);
		} else if (Object.keys(v).length) {
			generic(to, v, path.concat(k));
		}
	}
}
function list_card(grid, title, items)
{
	const keys = Object.keys(items[0]).filter((k) => items.some((x) => has(x[k]) && typeof x[k] !== "object"));
	const name = keys.find((k) => typeof items[0][k] === "string") || keys[0];
	const value = keys.find((k) => k !== name && !/^start|^at_most/.test(k) && /bytes$|count|operations|percent|seconds|value/.test(k) && items.some((x) => x[k] > 0));

	if (value && items.length > 1 && items.length <= 200)
		bars(grid, `${title}: ${value}`, "list", items.map((x) => show(x[name])), [[value, items.map((x) => x[value])]], { unit: unit_of(value), flat: items.length <= 12 });
	table(card(grid, title, "wide"), keys.map((k) => [k, unit_of(k)]), items.slice(0, 500).map((x) => keys.map((k) => x[k])));
}

/* ---- the page ---- */

function heading(title, sub)
{
	document.title = title + " – mlgen";
	add(main, "h1", title);
	add(main, "p", sub.filter(has).join(" · "), "sub");
}
const names_of = (d) => [...new Set(list(d.jobs).map((j) => j.jobname))].join(", ");
const facts_of = (d) => [d.time, get(d, "machine.hostname"), get(d, "machine.cpu_model"), "mlgen " + (d["mlgen version"] || figures.version)];
function one_document(d)
{
	if (d.find_max)
		find_max(main, d.find_max);
	if (d.merged) {
		const grid = add(main, "div", null, "grid"), runs = list(d.merged.runs);
		if (runs.length)
			list_card(grid, "Hosts and runs that are merged", runs);
	}
	run_page(main, d);
}
function page()
{
	const docs = figures.documents, answer = list(figures.answer);

	if (figures.asked === "compare") {
		heading("Comparison of " + docs.map((x) => x.file).join(", "), facts_of(docs[0].document));
		comparison(main, answer, docs);
	} else if (docs.length > 1) {
		heading(`${docs.length} runs: ` + [...new Set(docs.map((x) => names_of(x.document) || x.file))].slice(0, 4).join(", "), facts_of(docs[0].document));
		sweep(main, docs);
		if (answer.length)
			list_card(add(main, "div", null, "grid"), "Table", answer);
		for (const x of docs.filter((y) => y.document.score))
			generic(main, x.document, [x.file]);
	} else {
		const d = answer.length === 1 && !docs.length ? answer[0] : docs.length ? docs[0].document : {};

		if (d.jobs) {
			heading(names_of(d) + (d.merged ? ", merged" : ""), facts_of(d));
			one_document(d);
		} else {
			heading(d.score ? "Score" : figures.asked === "describe" ? "Description of a trace" : "mlgen --" + figures.asked, ["mlgen " + figures.version]);
			generic(main, d, []);
		}
		if (answer.length > 0 && docs.length)
			list_card(add(main, "div", null, "grid"), "Table", answer);
	}
	if (list(figures.left_out).length)
		add(main, "p", "To keep the page small it lacks: " + figures.left_out.join(", ") + ". The JSON documents have them.", "note");
	if (!has_charts)
		add(main, "p", "This mlgen was built without Chart.js: figures stand in tables alone. With libjs-chart.js where configure runs, or ./configure --with-chartjs=FILE, there are charts.", "note");
	const f = add(main, "footer", `Made by mlgen ${figures.version}. All figures are in this file as JSON, in the element “figures”.`);
	if (has_charts)
		f.textContent += ` Charts: Chart.js ${Chart.version}, MIT licence.`;
}
/* For tests: how much of each canvas is coloured, beside axes and text. */
function measure()
{
	document.body.dataset.charts = JSON.stringify(charts.map((c) => {
		const x = c.canvas, p = x.width && x.height ? x.getContext("2d").getImageData(0, 0, x.width, x.height).data : [];
		let n = 0;

		for (let i = 0; i < p.length; i += 4)
			n += p[i + 3] > 24 && Math.max(p[i], p[i + 1], p[i + 2]) - Math.min(p[i], p[i + 1], p[i + 2]) > 40;
		return { id: x.id, coloured: n };
	}));
}
page();
charts.forEach(start);
const redraw = () => charts.forEach(start);
dark.addEventListener("change", redraw);
window.addEventListener("beforeprint", () => { is_printing = true; redraw(); });
window.addEventListener("afterprint", () => { is_printing = false; redraw(); });
if (location.hash === "#measure")
	measure();
})();
