/* SPDX-License-Identifier: Apache-2.0 */
/* page.js - choose the content of the page by its documents; the last of the scripts. */
/* ---- documents without a page of their own: members as tables, lists as bars ---- */

function generic(to, o, path)
{
	const grid = add(to, "div", null, "grid");
	const flat = Object.entries(o).filter((e) => has(e[1]) && typeof e[1] !== "object" && !/version/.test(e[0]));

	const words = words_of(flat.map((e) => e[0]));
	if (flat.length)
		table(card(grid, path.join(" ") || "Figures", "wide"), [["", plain], ["", plain]], flat.map((e, i) => [words[i], show(e[1], unit_of(e[0]))]));
	const hists = Object.entries(o).filter((e) => e[1] && e[1].bins);
	percentile_curve(grid, hists);
	for (const [k, v] of Object.entries(o)) {
		if (!v || typeof v !== "object" || v.bins)
			continue;
		if (Array.isArray(v)) {
			if (v.length && typeof v[0] === "object")
				list_card(grid, path.concat(short_words(k)).join(" "), v);
		} else if (Object.keys(v).length) {
			generic(to, v, path.concat(short_words(k)));
		}
	}
}
function object_table(grid, title, items)
{
	const keys = Object.keys(items[0]).filter((k) => items.some((x) => has(x[k]) && typeof x[k] !== "object"));

	table(card(grid, title, "wide"), words_of(keys).map((w, i) => [w, unit_of(keys[i])]), items.slice(0, 500).map((x) => keys.map((k) => x[k])));
}
function list_card(grid, title, items)
{
	if (!items.length)
		return;
	const keys = Object.keys(items[0]).filter((k) => items.some((x) => has(x[k]) && typeof x[k] !== "object"));
	const name = keys.find((k) => typeof items[0][k] === "string") || keys[0];
	const value = keys.find((k) => k !== name && !/^start|^at_most/.test(k) && /bytes$|count|operations|percent|seconds|value/.test(k) && items.some((x) => x[k] > 0));

	if (value && items.length > 1 && items.length <= 200)
		bars(grid, `${title}: ${short_words(value)}`, "list", items.map((x) => show(x[name])), [[short_words(value), items.map((x) => x[value])]], { unit: unit_of(value), flat: items.length <= 12 });
	object_table(grid, title, items);
}
/* Hosts and repetitions: a row for each job of each run. */
function hosts(to, merged)
{
	const grid = add(to, "div", null, "grid");
	const rows = list(merged.runs).flatMap((r) => list(r.jobs).map((j) => Object.assign({ of: r }, j)));
	const name = (x) => has(x.of.rank) ? `rank ${x.of.rank} (${x.of.hostname})` : `${x.of.hostname}, ${x.of.file}`;

	if (rows.length > 1 && rows.length <= 64) {
		bars(grid, "AU of each host or run", "hosts-au", rows.map(name), [["AU", rows.map((x) => x.au_percent)]], { unit: percent, flat: true, max: 100 });
		bars(grid, "Throughput of each host or run", "hosts-rate", rows.map(name), [["throughput", rows.map((x) => x.bytes_per_sec)]], { unit: rate, flat: true });
	}
	table(card(grid, `Hosts and runs: ${show(merged.hosts)} host${merged.hosts === 1 ? "" : "s"}, ${show(merged.turns)} turn${merged.turns === 1 ? "" : "s"}`, "wide"),
		[["host"], ["file"], ["rank"], ["turn"], ["job"], ["AU", percent], ["throughput", rate], ["stall p99", time_ns], ["CPU busy", percent], ["clock offset", time_ns], ["note"]],
		rows.map((x) => [x.of.hostname, x.of.file, x.of.rank, x.of.turn, x.jobname, x.au_percent, x.bytes_per_sec, x.stall_p99_ns, x.cpu_percent, x.of.clock_offset_ns,
			x.is_slowest ? { v: "slowest", cls: "bad" } : ""]));
}

/* ---- the page ---- */

/* The title of the command line, or of the document `d`, replaces `name`, the subject of the
 * page. Notes follow. */
function heading(name, sub, d)
{
	const title = figures.title || get(d || {}, "title");
	const notes = [figures.notes, get(d || {}, "notes")].map(list).find((n) => n.length) || [];

	document.title = (title || name) + " – mlgen";
	add(main, "h1", title || name);
	add(main, "p", (title ? [name] : []).concat(sub.filter(has)).join(" · "), "sub");
	if (notes.length) {
		const all = add(main, "div", null, "notes");

		for (const n of notes)
			add(all, "p", n);
	}
}
const names_of = (d) => [...new Set(list(d.jobs).map((j) => j.jobname))].join(", ");
const facts_of = (d) => [d.time || get(d, "trace.time"), get(d, "machine.hostname"), get(d, "machine.cpu_model"), "mlgen " + (d["mlgen version"] || figures.version)];
function one_document(d)
{
	if (d.find_max)
		find_max(main, d.find_max);
	run_page(main, d, d.merged ? (to) => hosts(to, d.merged) : null);
}
/* Kinds of documents, and how each is shown. */
const kinds = [
	{ name: "run", is: (d) => list(d.jobs).length || d.find_max, title: (d) => names_of(d) || "Search of " + d.find_max.job, put: one_document },
	{ name: "score", is: (d) => d.score, title: () => "Score", put: (d) => score(main, d) },
	{ name: "description of a trace", is: (d) => d.trace && !d.jobs, title: () => "Description of a trace", put: (d) => trace_page(main, d.trace) },
	{ name: "miss curve", is: (d) => d.miss_curves, title: (d) => "Miss curve of " + d.miss_curves.map((m) => m.jobname).join(", "), put: (d) => d.miss_curves.forEach((m) => miss_curve(main, m)) },
	{ name: "document", is: () => true, title: () => "mlgen --" + figures.asked, put: (d) => generic(main, d, []) },
];
const kind_of = (d) => kinds.find((k) => k.is(d));
function single(d)
{
	const kind = kind_of(d);

	heading(kind.title(d) + (d.merged ? ", merged" : ""), facts_of(d), d);
	kind.put(d);
}
/* Runs side by side; then each other document. */
function several(docs)
{
	const runs = docs.filter((x) => kind_of(x.document) === kinds[0]), others = docs.filter((x) => !runs.includes(x));
	const n = (all, what) => `${all.length} ${what}${all.length === 1 ? "" : "s"}`;

	heading([runs.length ? n(runs, "run") : "", others.length ? n(others, "other document") : ""].filter(Boolean).join(" and ") + ": "
		+ [...new Set(docs.map((x) => names_of(x.document) || x.file))].slice(0, 4).join(", "), facts_of((runs[0] || docs[0]).document));
	if (runs.length > 1)
		sweep(main, runs);
	else if (runs.length)
		one_document(runs[0].document);
	for (const x of others) {
		add(main, "h2", `${x.file}: ${kind_of(x.document).title(x.document)}`);
		kind_of(x.document).put(x.document);
	}
}
/* Parts that a large page lacks. */
const left_out_names = { bins: "latency distributions", latencies: "latencies over time", series: "all charts over time" };
function page()
{
	const docs = figures.documents, answer = list(figures.answer);

	if (figures.asked === "compare") {
		heading("Comparison of " + docs.map((x) => x.file).join(", "), facts_of(docs[0].document));
		comparison(main, answer, docs);
	} else if (docs.length > 1) {
		several(docs);
	} else {
		single(docs.length ? docs[0].document : answer[0] || {});
	}
	if (figures.asked !== "compare" && answer.length && docs.length)
		list_card(add(main, "div", null, "grid"), "Table", answer);
	if (list(figures.left_out).length)
		add(main, "p", "Left out to limit the size of the page: " + figures.left_out.map((k) => left_out_names[k] || k).join(", ") + ". The JSON documents contain them.", "note");
	if (!has_charts)
		add(main, "p", "This mlgen was built without Chart.js, so the page has tables only. For charts, install libjs-chart.js before ./configure, or use ./configure --with-chartjs=FILE.", "note");
	const f = add(main, "footer", `Made by mlgen ${figures.version}. All figures are in this file as JSON, in the element “figures”.`);
	if (has_charts)
		f.textContent += ` Charts: Chart.js ${Chart.version}, MIT licence.`;
}
/* For tests: how much of each canvas is coloured, apart from axes and text. */
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
/* Set the width of paper before the charts are drawn, because printing does not draw them again. */
const print_as = (is_on) => () => { is_printing = is_on; document.body.classList.toggle("paper", is_on); redraw(); };
window.addEventListener("beforeprint", print_as(true));
window.addEventListener("afterprint", print_as(false));
if (location.hash === "#measure")
	measure();
