/* SPDX-License-Identifier: Apache-2.0 */
/* job.js - a job on a page: verdict, figures, charts, and facts about it. */
/* ---- charts of a job ---- */

function bins_of(h)
{
	return Object.entries(h && h.bins || {}).map((e) => [+e[0], e[1]]).sort((a, b) => a[0] - b[0]);
}
/* The scale of HdrHistogram: 1 / (share of slower values). */
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
		kinds.map((k) => [part_names[k] || short_words(k), groups.map((g) => g[1] ? g[1][k] : null), parts_of_time[k]]),
		{ unit: percent, flat: true, stacked: true, max: 100 });
}
function checkpoints(grid, items, title)
{
	if (!list(items).length)
		return;
	const done = items.filter((k) => k.complete !== false);
	bars(grid, title + ": time of each", "checkpoints", done.map((k) => String(k.number)), [
		["slowest rank", done.map((k) => k.slowest_rank_seconds), bad],
		["rest of the checkpoint", done.map((k) => Math.max(0, k.seconds - k.slowest_rank_seconds))],
		["commit", done.map((k) => k.commit_seconds), colors[1]],
		["delete old checkpoints", done.map((k) => k.delete_seconds), grey],
	], { unit: seconds, stacked: true });
	bars(grid, title + ": throughput of each", "checkpoint-rates", done.map((k) => String(k.number)), [
		["all ranks", done.map((k) => k.bytes_per_sec)],
		["slowest rank", done.map((k) => k.slowest_rank_bytes_per_sec), bad],
	], { unit: rate });
}
/* A lane for each rank, or for the slowest ranks; a bar for each checkpoint. */
function checkpoint_lanes(grid, times, title)
{
	const all = list(times), of = new Map();
	const LANES = 48, CHECKPOINTS = 120;

	for (const t of all)
		of.set(t.rank, (of.get(t.rank) || 0) + t.seconds);
	let ranks = [...of.keys()];
	const numbers = [...new Set(all.map((t) => t.number))].slice(0, CHECKPOINTS);
	if (!numbers.length || ranks.length * numbers.length < 2)
		return;
	const is_part = ranks.length > LANES;
	if (is_part)
		ranks = ranks.sort((a, b) => of.get(b) - of.get(a)).slice(0, LANES);
	ranks.sort((a, b) => a - b);
	const sets = numbers.map((n) => {
		const here = new Map(all.filter((t) => t.number === n).map((t) => [t.rank, t]));
		const longest = Math.max(...[...here.values()].map((t) => t.seconds));
		const at = ranks.map((r) => here.get(r));

		return ["checkpoint " + n, at.map((t) => t ? [t.begin_seconds, t.begin_seconds + t.seconds] : null),
			at.map((t) => t && t.seconds === longest && here.size > 1 ? bad : colors[0])];
	});
	const c = lanes(grid, title + ": each rank", "lanes", ranks.map((r) => "rank " + r), sets, {
		x_title: "time since the first checkpoint started",
		note: (of.size > 1 ? "Red: the slowest rank of each checkpoint." : "")
			+ (is_part ? ` Shown: the ${LANES} slowest of ${of.size} ranks.` : ""),
	});
	below(c, [["checkpoint", plain], ["rank", plain], ["start", seconds], ["duration", seconds]],
		all.slice(0, 1000).map((t) => [t.number, t.rank, t.begin_seconds, t.seconds]));
}
function checkpoint_charts(grid, m)
{
	checkpoint_lanes(grid, get(m, "saves.rank_times"), "Checkpoints saved");
	checkpoints(grid, m.checkpoints, "Checkpoints saved");
	checkpoint_lanes(grid, get(m, "restores.rank_times"), "Checkpoints restored");
	checkpoints(grid, m.restore, "Checkpoints restored");
}
/* Shares of the time of each rank, as stacked rows. */
function rank_shares(grid, ranks)
{
	const LANES = 48, shown = list(ranks).slice(0, LANES);
	const more = list(ranks).length > LANES ? `, the first ${LANES}` : "";
	const names = shown.map((r) => "rank " + r.rank);

	shares(grid, "Time of each accelerator" + more, "rank-time", shown.map((r, i) => [names[i], r.time_percent]));
	shares(grid, "Time of the read threads of each accelerator" + more, "rank-loaders", shown.map((r, i) => [names[i], r.loader_percent]));
}
function request_sizes(grid, sizes)
{
	const all = list(sizes).filter((s) => s.count > 0);
	const at = [...new Set(all.map((s) => s.largest_bytes))].sort((a, b) => a - b);
	const of = (op) => at.map((b) => {
		const s = all.find((x) => x.operation === op && x.largest_bytes === b);

		return s ? s.count : null;
	});

	bars(grid, "Request sizes", "sizes", at.map(bytes), [["reads", of("read")], ["writes", of("write")]], { unit: count });
}
function caches(grid, cache)
{
	const e = list(cache && cache.epochs), labels = e.map((x) => "epoch " + x.epoch);
	const of = (k) => e.map((x) => has(x[k]) ? x[k] : get(x, "counts." + k));

	if (!e.length)
		return;
	bars(grid, "Cache hit ratio by epoch", "hit-ratio", labels, [["hit ratio", of("hit_ratio").map((v) => has(v) ? v * 100 : null)]], { unit: percent, max: 100, zero: true });
	bars(grid, "Where the samples came from", "composition", labels, [
		["cache", of("cache_bytes")], ["storage", of("storage_bytes")], ["other processes", of("peer_bytes")]], { unit: bytes, stacked: true });
}
function ceiling(grid, m)
{
	const c = m.ceiling, is_au = has(m.au_percent);

	if (!c || !(has(c.null_seconds) || has(c.cached_seconds)))
		return;
	const key = is_au ? "au_percent" : "samples_per_sec";
	bars(grid, "Ceiling of this host", "ceiling", ["with this storage", "from memory", "without storage"],
		[[is_au ? "AU" : "samples/s", [m[key], c["cached_" + key], c["null_" + key]]]], { unit: is_au ? percent : per_sec, flat: true, max: is_au ? 100 : undefined });
}
const badges = { compute: "storage keeps up", unclear: "unclear", errors: "errors", memory: "not a storage result" };
const tone = { errors: "bad", storage: "warn", memory: "warn", network: "warn", host: "warn", cache: "warn", compute: "good", unclear: "" };

function verdict(to, v, au)
{
	if (!v || !v.headline)
		return;
	const c = add(to, "div", null, "card verdict " + (tone[v.name] || ""));

	add(c, "span", badges[v.name] || "limit: " + v.name, "badge");
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
	table(c, [["rule"], ["state"], ["details"]], items.map((r) => [r.rule,
		{ v: r.state, cls: r.state === "ok" ? "good" : r.state === "broken" ? "bad" : "" }, r.text]));
}
function job_tiles(to, j, m)
{
	const t = add(to, "div", null, "tiles");

	tile(t, "accelerator utilisation", m.au_percent, percent);
	tile(t, "sample throughput", m.sample_bytes_per_sec || null, rate);
	tile(t, "samples per second", m.samples_per_sec || null, per_sec);
	for (const d of ["read", "write"])
		if (j.io && j[d] && j[d].total_ios) {
			tile(t, d + " throughput", j[d].bw_bytes, rate);
			tile(t, d + " operations", j[d].iops, per_sec);
			tile(t, d + " latency p99", get(j[d], "clat_ns.percentile")["99.000000"], time_ns);
		}
	tile(t, "accelerators", m.accelerators);
	if (has(get(m, "stall_ns.percentile")) && m.stall_ns.N)
		tile(t, "stall p99", m.stall_ns.percentile["99.000000"], time_ns);
	for (const [k, name, one] of [["saves", "checkpoints saved", "save"], ["restores", "checkpoints restored", "restore"]])
		if (m[k] && m[k].completed) {
			tile(t, name, m[k].completed);
			tile(t, one + " throughput", m[k].bytes_per_sec, rate);
			tile(t, one + " throughput of the slowest rank", m[k].slowest_rank_bytes_per_sec, rate);
		}
	tile(t, "from memory, not storage", get(m, "storage.memory_percent"), percent);
	tile(t, "cache hit ratio", has(get(j, "cache.hit_ratio")) ? j.cache.hit_ratio * 100 : null, percent);
	tile(t, "measured time", m.wall_seconds, seconds);
	tile(t, "errors", m.errors || null);
}
function job_charts(grid, j, m, s)
{
	const epochs = list(m.epochs), labels = epochs.map((e) => "epoch " + e.epoch);
	/* If the job only saves or restores checkpoints, their charts come first. */
	if (!epochs.length)
		checkpoint_charts(grid, m);
	if (s && list(s.end_seconds).length > 1)
		over_time(grid, s, m.target_au_percent);
	if (epochs.some((e) => has(e.au_percent)))
		bars(grid, "Accelerator utilisation by epoch", "au-epochs", labels, [["AU", epochs.map((e) => e.au_percent)]], { unit: percent, max: 100 });
	bars(grid, "Throughput by epoch", "epochs", labels, [["samples", epochs.map((e) => e.sample_bytes_per_sec)]], { unit: rate });
	const hists = [["sample", m.sample_ns], ["step", m.step_ns], ["stall", m.stall_ns]];
	for (const k of ["read", "write"])
		hists.push([k, get(m, `ops.${k}.lat_ns`) || get(j, k + ".clat_ns")]);
	hists.push(["fsync", get(m, "ops.fsync.lat_ns")], ["open", get(m, "ops.open.lat_ns")]);
	percentile_curve(grid, hists);
	distribution(grid, "Time of a step", "steps", m.step_ns);
	distribution(grid, "Time of a stall", "stalls", m.stall_ns);
	shares(grid, "Where time went", "time", [["accelerators", m.time_percent],
		["read threads", m.loader_percent], ["workers", m.worker_percent],
		["ranks saving", get(m, "saves.completed") ? m.saves.rank_percent : null],
		["ranks restoring", get(m, "restores.completed") ? m.restores.rank_percent : null]].filter((g) => g[1] && Object.values(g[1]).some(has)));
	const ranks = list(m.au_percent_per_accelerator);
	if (ranks.length > 1)
		bars(grid, "AU of each accelerator", "au-ranks", ranks.map((_, i) => "rank " + i), [["AU", ranks]], { unit: percent, max: 100 });
	rank_shares(grid, m.ranks);
	request_sizes(grid, j.request_sizes);
	const depth = j.iodepth_level;
	if (depth && Object.values(depth).filter((v) => v > 0).length)
		bars(grid, "Operations in flight", "depth", Object.keys(depth), [["share of operations", Object.values(depth)]], { unit: percent, max: 100 });
	caches(grid, j.cache);
	if (epochs.length)
		checkpoint_charts(grid, m);
	ceiling(grid, m);
}
function job_facts(grid, j, m, global)
{
	rules(grid, m.mlperf_check);
	const text = [["global", global], [j.jobname, j["job options"]]].filter((s) => Object.keys(s[1] || {}).length)
		.map((s) => `[${s[0]}]\n` + Object.entries(s[1]).map((e) => has(e[1]) ? `${e[0]}=${e[1]}` : e[0]).join("\n"));
	if (text.length)
		add(card(grid, "The job file"), "pre", text.join("\n\n"));
	pairs(grid, "Storage", m.storage);
	pairs(grid, "Dataset", j.dataset, "", { files: "files that are read" });
	pairs(grid, "Preparation of the dataset", j.prepare);
	pairs(grid, "Cache tier", j.cache);
	pairs(grid, "Host during the run", Object.assign({}, m.host, get(m, "host.noise")));
	pairs(grid, "Network", m.network && m.network.interface ? m.network : null);
	pairs(grid, "CPU time of threads", m.thread_cpu);
	pairs(grid, "Energy of the host", m.energy);
	pairs(grid, "NUMA placement", get(m, "numa.device_node") ? m.numa : null);
	const all = j.options_resolved || {}, how = j.options_origin || {};
	if (Object.keys(all).length) {
		const c = card(grid, "All options in effect", "wide"), d = add(c, "details");
		add(d, "summary", Object.keys(all).length + " options, and where each was set");
		table(d, [["option"], ["value"], ["set in"]], Object.keys(all).map((k) => [k, show(all[k]), show(how[k])]));
	}
}
function series_of(d, name)
{
	return list(get(d, "series.jobs")).find((s) => s.job === name);
}
/* put_hosts(to) adds what follows the first headline; null = nothing. */
function run_page(to, d, put_hosts)
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
		if (i === 0 && put_hosts)
			put_hosts(to);
		const grid = add(to, "div", null, "grid");
		/* Records with the same job name share one time series. */
		const is_first = jobs.findIndex((k) => k.jobname === j.jobname) === i;
		job_charts(grid, j, m, is_first ? series_of(d, j.jobname) : null);
		job_facts(grid, j, m, d["global options"]);
		if (plan) {
			pairs(grid, "Plan", plan);
			if (list(plan.checks).length)
				table(card(grid, "Checks", "wide"), words_of(Object.keys(plan.checks[0]), { name: "check", text: "details" }).map((w) => [w]), plan.checks.map((c) => Object.values(c).map((v) => show(v))));
		}
	});
	const grid = add(to, "div", null, "grid");
	const disks = list(d.disk_util);
	if (disks.length)
		table(card(grid, "Devices", "wide"), [["device"], ["busy", percent], ["reads", count], ["writes", count]],
			disks.map((k) => [k.name, k.util, k.read_ios, k.write_ios]));
	pairs(grid, "Machine and versions", Object.assign({ "mlgen version": d["mlgen version"] }, d.machine), "wide");
	if (!d.series && jobs.some((j) => j.ml || j.io))
		add(to, "p", "Charts over time are missing, because the document has no time series. Run with --html or --series=1 to record one.", "note");
}
