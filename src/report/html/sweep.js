/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.js - several runs side by side, by the options that they differ in. */
/* ---- several runs ---- */

const options_of = (doc) => Object.assign({}, get(list(doc.document.jobs)[0] || {}, "options_resolved"));
/* The options in which the runs differ. */
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
	["read latency p99", time_ns, (j, m) => (get(m, "ops.read.lat_ns.N") ? get(m, "ops.read.lat_ns.percentile") : get(j, "read.total_ios") ? get(j, "read.clat_ns.percentile") : {} )["99.000000"]],
	["stall p99", time_ns, (j, m) => get(m, "stall_ns.N") ? m.stall_ns.percentile["99.000000"] : null],
];
function number_of(text)
{
	const m = /^([0-9.]+)([kmgtp]?)(i?b?|%|ms|us|ns|s)?$/i.exec(String(text));
	const k = m ? "kmgtp".indexOf(m[2].toLowerCase()) + 1 : 0;

	return m ? +m[1] * 1024 ** (m[2] ? k : 0) : NaN;
}
/* The value as written in the option. */
const text_at = (xs, x) => xs.find((a) => number_of(a) === x) || digits(x);
/* A logarithmic axis if values differ by a large factor; ticks at the values of the runs. */
function number_axis(xs, title)
{
	const at = xs.map(number_of), is_log = at[0] > 0 && at[at.length - 1] / at[0] >= 16;
	const a = axis((x) => text_at(xs, x), title, { type: is_log ? "logarithmic" : "linear" });

	a.afterBuildTicks = (s) => { s.ticks = at.map((value) => ({ value })); };
	a.ticks.maxTicksLimit = 40;
	return a;
}
function sweep(to, docs)
{
	const runs = docs.filter((x) => list(x.document.jobs).length);
	const keys = varied(runs), grid = add(to, "div", null, "grid");
	const first = (x) => x.document.jobs[0], m_of = (j) => j.ml || j.io || {};
	const value = (x, of) => of(first(x), m_of(first(x)));
	const text = (x, k) => show(options_of(x)[k]);
	/* Axes: options with the most different values come first. */
	const axes = keys.filter((k) => !/directory|filename|^seed$|description/.test(k))
		.sort((a, b) => new Set(runs.map((x) => text(x, b))).size - new Set(runs.map((x) => text(x, a))).size);
	const known = metrics.filter((q) => runs.some((x) => value(x, q[2]) > 0));
	const order = (k) => [...new Set(runs.map((x) => text(x, k)))].sort((a, b) => number_of(a) - number_of(b) || (a < b ? -1 : 1));

	const titles = runs.some((x) => x.document.title) ? [["title", (x) => x.document.title || ""]] : [];
	table(card(grid, "Runs", "wide"), [["file", plain]].concat(titles.map((t) => [t[0], plain]), axes.slice(0, 4).map((k) => [k, plain]), known.map((q) => [q[0], q[1]])),
		runs.map((x) => [x.file || first(x).jobname].concat(titles.map((t) => t[1](x)), axes.slice(0, 4).map((k) => text(x, k)), known.map((q) => value(x, q[2])))));
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
		const title = `${q[0][0].toUpperCase() + q[0].slice(1)} by ${axes[0]}` + (others.length > 1 ? ` and ${axes[1]}` : "");
		const name = (b) => b === "" ? q[0] : `${axes[1]}=${b}`;
		if (xs.length > 2 && !xs.some((x) => isNaN(number_of(x))))
			lines(grid, title, "sweep", others.slice(0, 16).map((b) => [name(b), xs.map((a) => ({ x: number_of(a), y: mean(a, b) }))]),
				{ unit: q[1], max: q[1] === percent ? 100 : undefined, x: number_axis(xs, axes[0]), x_unit: (x) => `${axes[0]} ${text_at(xs, x)}`, x_name: axes[0], x_table: (x) => text_at(xs, x) });
		else
			bars(grid, title, "sweep", xs, others.slice(0, 16).map((b) => [name(b), xs.map((a) => mean(a, b))]), { unit: q[1] });
		if (others.length < 2 || xs.length * others.length > 400)
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
/* Throughput and AU of all runs over time, in one chart each. */
function together(grid, runs)
{
	const of = (value) => runs.map((x) => {
		const s = list(get(x.document, "series.jobs"))[0];

		return [x.file || "", s ? value(s) : []];
	});
	lines(grid, "Throughput over time", "throughputs", of((s) => per_second(s, "read_bytes")), { unit: rate });
	lines(grid, "AU over time", "aus", of((s) => list(s.au_percent).some(has) ? column(s, "au_percent") : []), { unit: percent, max: 100 });
}
