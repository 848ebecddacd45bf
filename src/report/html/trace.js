/* SPDX-License-Identifier: Apache-2.0 */
/* trace.js - the description of a trace. */

function trace_tiles(to, t)
{
	const tiles = add(to, "div", null, "tiles");

	tile(tiles, "read", t.read_bytes || null, bytes);
	tile(tiles, "read throughput", t.read_bytes_per_sec || null, rate);
	tile(tiles, "reads per second", t.reads_per_sec || null, per_sec);
	tile(tiles, "written", t.written_bytes || null, bytes);
	tile(tiles, "write throughput", t.write_bytes_per_sec || null, rate);
	tile(tiles, "mean in flight", t.in_flight_mean);
	tile(tiles, "time", t.seconds, seconds);
	tile(tiles, "processes", t.processes_count);
	tile(tiles, "threads", t.threads_count);
	tile(tiles, "samples", t.samples || null);
}
/* Convert rows, one for each interval, to columns as in the series of a run. */
function trace_over_time(grid, t)
{
	const rows = list(t.series), each = t.interval_seconds || 1;
	const s = { begin_seconds: rows.map((r, i) => i ? rows[i - 1].seconds : Math.max(0, r.seconds - each)), end_seconds: rows.map((r) => r.seconds) };
	s.seconds = s.end_seconds.map((e, i) => e - s.begin_seconds[i]);
	for (const k of Object.keys(rows[0] || {}))
		s[k] = s[k] || rows.map((r) => r[k]);
	const some = (k) => list(s[k]).some((v) => v > 0);
	const per = (name, k) => [name, some(k) ? per_second(s, k) : []];

	if (rows.length < 2)
		return;
	over_lines(grid, s, "Throughput over time", "trace-bytes", [per("read", "read_bytes"), per("written", "written_bytes"),
		per("from devices", "block_read_bytes"), per("to devices", "block_written_bytes")], { unit: rate });
	over_lines(grid, s, "Operations over time", "trace-operations", [per("opens", "opens"), per("reads", "reads"), per("writes", "writes"),
		per("metadata", "metadata"), per("page faults", "faults")], { unit: per_sec });
	over_lines(grid, s, "Hits of the page cache over time", "trace-hits", [["hits", column(s, "hit_percent")]], { unit: percent, max: 100 });
}
function trace_operations(grid, t)
{
	const ops = Object.entries(t.operations || {}).filter((e) => e[1] && e[1].count > 0);
	const p = (o, k) => get(o, "lat_ns.N") ? get(o, "lat_ns.percentile")[k] : null;

	if (!ops.length)
		return;
	table(card(grid, "Operations", "wide"), [["operation"], ["count", count], ["errors", count], ["bytes", bytes], ["time", seconds], ["mean", time_ns], ["p50", time_ns], ["p99", time_ns], ["max", time_ns]],
		ops.map(([k, o]) => [short_words(k), o.count, o.errors || null, o.bytes || null, o.seconds, get(o, "lat_ns.mean"), p(o, "50.000000"), p(o, "99.000000"), get(o, "lat_ns.max")]));
	percentile_curve(grid, ops.filter((e) => !/^(step|epoch|stage|sample|compute|checkpoint)$/.test(e[0])).map(([k, o]) => [short_words(k), o.lat_ns])
		.sort((a, b) => get(b[1], "N") - get(a[1], "N")).slice(0, 6));
	distribution(grid, "Time of a step", "trace-steps", get(t, "steps.step_ns"));
}
function trace_sizes(grid, t)
{
	const all = list(t.request_sizes), at = [...new Set(all.map((s) => s.at_most_bytes))].sort((a, b) => a - b);
	const ops = [...new Set(all.map((s) => s.operation))];

	bars(grid, "Request sizes", "trace-sizes", at.map((b) => "≤ " + bytes(b)), ops.map((op) => [short_words(op), at.map((b) => {
		const s = all.find((x) => x.operation === op && x.at_most_bytes === b);

		return s ? s.count : null;
	})]), { unit: count });
}
function trace_page(to, t)
{
	trace_tiles(to, t);
	const grid = add(to, "div", null, "grid");
	trace_over_time(grid, t);
	trace_operations(grid, t);
	trace_sizes(grid, t);
	const epochs = list(t.epochs);
	if (epochs.length > 1)
		bars(grid, "Throughput by epoch", "trace-epochs", epochs.map((e) => "epoch " + e.number), [["read", epochs.map((e) => e.bytes_per_sec)]], { unit: rate });
	const threads = list(t.threads).filter((x) => x.operations > 0).slice(0, 40);
	if (threads.length > 1)
		bars(grid, "Bytes of each thread", "trace-threads", threads.map((x) => x.name || String(x.tid)), [
			["read", threads.map((x) => x.read_bytes)], ["written", threads.map((x) => x.written_bytes)]], { unit: bytes, flat: true, stacked: true });
	for (const [key, title] of [["epochs", "Epochs"], ["stages", "Stages"], ["phases", "Phases"], ["checkpoints", "Checkpoints"], ["processes", "Processes"],
		["threads", "Threads"], ["files", "Most used files"], ["directories", "Directories"]])
		if (list(t[key]).length)
			object_table(grid, title, t[key]);
	for (const [key, title] of [["access", "Access order within files"], ["order", "Order of samples"], ["unique", "Unique data"], ["metadata", "Metadata"], ["cache", "Page cache"],
		["block", "Devices"], ["mmap", "Mapped files"], ["async", "Asynchronous I/O"], ["cpu", "CPU"], ["facts", "About the recording"], ["mounts", "Mounted filesystems"], ["lost", "Lost records"]])
		pairs(grid, title, t[key]);
	pairs(grid, "The trace", t, "wide");
}
