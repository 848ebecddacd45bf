/* SPDX-License-Identifier: Apache-2.0 */
/* over_time.js - charts of a job over time, from the intervals of its series. */
/* ---- over time ---- */

/* Points at the ends of intervals: value(i) for interval i. A gap in time is a gap
 * in the line. */
function over(s, value)
{
	const out = [], end = list(s.end_seconds), begin = list(s.begin_seconds);

	const n = end.length;
	/* The rest after the last whole interval is very short and would show as a spike. */
	const is_rest = n > 4 && end[n - 1] - begin[n - 1] < .1 * (end[n - 2] - begin[n - 2]);

	for (let i = 0; i < n - is_rest; i++) {
		const v = value(i), y = has(v) ? v : null;
		const is_after_gap = i > 0 && begin[i] - end[i - 1] > .5 * (end[i] - begin[i]);

		if (is_after_gap)
			out.push({ x: end[i - 1] + 1e-9, y: null, is_begin: true });
		/* A line starts at the start of its first interval. */
		if (i === 0 || is_after_gap || (y !== null && out[out.length - 1].y === null))
			out.push({ x: begin[i], y, from: begin[i], is_begin: true });
		out.push({ x: end[i], y, from: begin[i] });
	}
	return out;
}
/* Few intervals are drawn as steps, each as long as its interval. */
const steps_of = (s) => list(s.end_seconds).length < 100 ? "after" : false;
const time_axis = (s) => axis(seconds, "time since the start", { type: "linear", min: s.begin_seconds[0], max: Math.max(...s.end_seconds) });
function over_lines(grid, s, title, id, sets, o)
{
	return lines(grid, title, id, sets, Object.assign({ stepped: steps_of(s), x: time_axis(s) }, o));
}
const column = (s, name) => over(s, (i) => list(s[name])[i]);
const per_second = (s, name) => over(s, (i) => {
	const v = list(s[name])[i];

	return has(v) && s.seconds[i] > 0 ? v / s.seconds[i] : null;
});

function latencies_over(grid, s, name, title)
{
	over_lines(grid, s, title + " latency over time", "latency-" + name, [
		["p50", column(s, name + "_p50_ns")],
		["p99", column(s, name + "_p99_ns")],
		["max", column(s, name + "_max_ns"), { borderWidth: 1, borderDash: [3, 3] }],
	].map((l) => [l[0], l[1].map((p) => Object.assign({}, p, { y: p.y > 0 ? p.y : null })), l[2]]),
	{ unit: time_ns, log: true });
}

/* From pale to strong, by the share of the largest count. */
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
	const c = card(grid, `Latency of ${l.operation === "stall" ? "stalls" : l.operation + "s"} over time: how many in each range`, "");
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
			scales: { x: { ticks: { maxTicksLimit: 5, maxRotation: 0 }, grid: { display: false } },
				y: Object.assign(log_axis(time_ns), { min: Math.max(from[0], 1), max: top(n - 1) }) },
			plugins: { legend: { display: false }, tooltip: { callbacks: {
				label: (i) => i.dataset.label + ": " + count(flat[i.dataIndex * n + i.datasetIndex]) } } },
		},
	}));
	below(c, [["end of interval", plain]].concat(from.map((lo) => [time_ns(lo), count])),
		labels.map((x, r) => [x].concat(from.map((_, b) => flat[r * n + b]))));
}

function over_time(grid, s, target)
{
	const au = [["AU", column(s, "au_percent")]];

	if (has(target))
		au.push(["required", s.end_seconds.map((x) => ({ x, y: target })), { borderDash: [4, 4], borderColor: good, pointRadius: 0 }]);
	if (list(s.au_percent).some(has))
		over_lines(grid, s, "Accelerator utilisation over time", "au", au, { unit: percent, max: 100 });
	const moved = (k) => list(s[k]).some((v) => v > 0);
	over_lines(grid, s, "Throughput over time", "throughput", [
		["read", moved("read_bytes") ? per_second(s, "read_bytes") : []],
		["written", moved("write_bytes") ? per_second(s, "write_bytes") : []],
		["written for checkpoints", moved("checkpoint_bytes") && moved("samples") ? per_second(s, "checkpoint_bytes") : []],
		["prepared", over(s, (i) => has(list(s.io_bytes)[i]) && !has(list(s.read_bytes)[i]) ? s.io_bytes[i] / s.seconds[i] : null)],
	], { unit: rate });
	over_lines(grid, s, "Operations over time", "operations", [
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
		over_lines(grid, s, "Hits of the cache tier over time", "hits", [["cache hits", column(s, "hit_percent")]], { unit: percent, max: 100 });
	over_lines(grid, s, "CPUs of the host over time", "cpu", [["busy", column(s, "cpu_percent")]], { unit: percent, max: 100 });
	over_lines(grid, s, "Memory of the host over time", "memory", [
		["page cache", column(s, "page_cache_bytes")], ["mlgen", column(s, "resident_bytes")]], { unit: bytes });
	over_lines(grid, s, "Context switches of mlgen over time", "switches", [["context switches", column(s, "switches_per_sec")]], { unit: per_sec });
	const moves = ["received_bytes_per_sec", "sent_bytes_per_sec"].some((k) => list(s[k]).some((v) => v > 0));
	if (moves)
		over_lines(grid, s, "Network of the host over time", "network", [
			["received", column(s, "received_bytes_per_sec")], ["sent", column(s, "sent_bytes_per_sec")]], { unit: rate });
}
