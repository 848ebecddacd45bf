/* SPDX-License-Identifier: Apache-2.0 */
/* charts.js - charts of a page, drawn by Chart.js, with a table of their figures below each. */
/* ---- charts ---- */

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let is_printing = false;
const ink = () => dark.matches && !is_printing
	? { text: "#95a3b3", line: "#2c3743" } : { text: "#5d6b7c", line: "#e4e8ed" };
const colors = ["#3b82f6", "#f08c2e", "#22a06b", "#a259d9", "#e0526b",
	"#16a3b8", "#b8902c", "#7a869a"];
/* Colours for the shares of time: the same in each chart. */
const parts_of_time = {
	compute: "#3b82f6", stall: "#f08c2e", barrier: "#22a06b", host_barrier: "#0f766e",
	checkpoint: "#a259d9", evaluation: "#16a3b8", oversleep: "#b8902c",
	data: "#6d8fd6", open: "#f08c2e", stat: "#d9a13b", read: "#3b82f6", write: "#22a06b",
	fsync: "#a259d9", close: "#16a3b8", reap: "#b8902c", cpu: "#e0526b",
	idle: "#c3ccd6", other: "#7a869a",
};
const good = "#22a06b", bad = "#e5484d", grey = "#98a4b3";

const color_of = (i) => colors[i % colors.length];

function axis(unit, title, more, steps)
{
	const a = Object.assign({
		ticks: { callback: (v) => unit(v), maxTicksLimit: 7, maxRotation: 0 },
		title: { display: !!title, text: title }, grid: {},
	}, more || {});

	if (a.suggestedMax === 100) {
		a.max = 100;
		delete a.suggestedMax;
	}
	/* Bytes have ticks at powers of two. */
	if ((unit === bytes || unit === rate) && a.type !== "logarithmic") {
		const step = (s) => 2 ** Math.ceil(Math.log2((s.max || 1) / (steps || 6)));

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
/* The value under the pointer with its unit; for an interval its start and end. */
function tooltip(unit, x_unit)
{
	return {
		title: (items) => {
			if (!items.length || !x_unit)
				return items.length ? items[0].label : "";
			const from = items[0].raw && items[0].raw.from, x = x_unit(items[0].parsed.x, items[0]);

			return has(from) ? x_unit(from) + " to " + x : x;
		},
		label: (item) => {
			const v = item.chart.options.indexAxis === "y" ? item.parsed.x : item.parsed.y;

			return item.dataset.label + ": " + (item.raw && item.raw.say || unit(v));
		},
	};
}
/* Add a chart, which start() draws again when the colours change. */
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

/* Lines over x, with gaps where y is null. lines: [name, [{x, y}], more]; for an
 * interval `from` is its start; is_begin marks a point that only draws this start. */
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
			pointRadius: s[1].length < 40 && !o.stepped ? 2 : 0, pointHitRadius: 6,
			borderColor: color_of(i), backgroundColor: color_of(i) + "33",
			stepped: o.stepped || false, fill: !!o.stacked,
		}, s[2] || {})) },
		options: {
			parsing: false,
			scales: {
				x: o.x || axis(seconds, "time since the start", { type: "linear" }),
				y: o.log ? log_axis(o.unit) : axis(o.unit, "",
					{ beginAtZero: true, suggestedMax: o.max, stacked: !!o.stacked }),
			},
			plugins: { tooltip: { callbacks: tooltip(o.unit, o.x_unit || seconds) } },
		},
	}));
	const xs = [...new Set(sets.flatMap((s) => s[1].filter((p) => !p.is_begin).map((p) => p.x)))]
		.filter(has).sort((a, b) => a - b);
	const at = sets.map((s) => new Map(s[1].filter((p) => !p.is_begin).map((p) => [p.x, p.y])));
	below(c, [[o.x_name || "end of interval", o.x_table || o.x_unit || seconds]].concat(sets.map((s) => [s[0], o.unit])),
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
	const value = axis(o.unit, "", { beginAtZero: true, suggestedMax: o.max, stacked: !!o.stacked }, flat ? 4 : 6);
	/* A value far beyond the others would hide them. */
	if (o.clip)
		value.afterDataLimits = (s) => { s.max = Math.min(s.max, o.clip); };
	const is_long = flat && labels.some((l) => l.length > 20);
	const names = { stacked: !!o.stacked, ticks: { autoSkip: !flat || labels.length > 24, maxRotation: 0, font: { size: is_long ? 10 : 12 } }, grid: { display: false } };
	draw(c, id, () => ({
		type: "bar",
		data: { labels, datasets: sets.map((s, i) => ({
			label: s[0], data: s[1], backgroundColor: s[2] || color_of(i),
			barPercentage: o.dense ? 1 : .8, categoryPercentage: o.dense ? 1 : .8,
			maxBarThickness: o.dense ? undefined : 46,
		})) },
		options: {
			indexAxis: flat ? "y" : "x",
			interaction: { mode: "nearest", axis: flat ? "y" : "x", intersect: false },
			scales: flat ? { x: value, y: names } : { x: names, y: value },
			plugins: { tooltip: { mode: "index", callbacks: tooltip(o.unit) } },
		},
	}), flat ? Math.max(120, (sets.length > 6 ? 100 : 70) + 34 * labels.length) : 0);
	below(c, [["", plain]].concat(sets.map((s) => [s[0], o.unit])),
		labels.map((l, i) => [l].concat(sets.map((s) => s[1][i]))));
	return c;
}
/* Lanes over time. names: of the lanes; sets: [name, [[start, end] or null for each lane],
 * [colour for each lane]]. */
function lanes(grid, title, id, names, sets, o)
{
	const c = card(grid, title, "wide");
	const x = axis(seconds, o.x_title, { type: "linear", beginAtZero: true });

	draw(c, id, () => ({
		type: "bar",
		data: { labels: names, datasets: sets.map((s) => ({
			label: s[0], data: s[1], backgroundColor: s[2], grouped: false,
			barPercentage: .85, categoryPercentage: .95, maxBarThickness: 26,
			minBarLength: 2,
		})) },
		options: {
			indexAxis: "y",
			interaction: { mode: "nearest", axis: "xy", intersect: true },
			scales: { x, y: { ticks: { autoSkip: true, maxRotation: 0 }, grid: { display: false } } },
			plugins: { legend: { display: false }, tooltip: { callbacks: {
				label: (i) => `${i.dataset.label}: ${seconds(i.raw[0])} to ${seconds(i.raw[1])}, ${seconds(i.raw[1] - i.raw[0])}` } } },
		},
	}), 80 + 24 * Math.max(2, names.length));
	if (o.note)
		add(c, "p", o.note, "note");
	return c;
}
