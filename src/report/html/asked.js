/* SPDX-License-Identifier: Apache-2.0 */
/* asked.js - what was asked: a search, a comparison, a score, miss curves. */
/* ---- find-max ---- */

/* The AU that is required, if the requirement is an AU. */
function asked_percent(f)
{
	const m = /^(?:au|au_percent)>=([0-9.]+)%?$/.exec(String(f.requirement || "").replace(/ /g, ""));

	return m ? +m[1] : null;
}
/* Show the answer as it was printed on the terminal; the document has its lines. */
function answer_lines(v, f)
{
	const [first, ...others] = list(f.lines);

	add(v, "span", first.label, "badge");
	add(v, "p", first.text, "headline");
	for (const l of others) {
		const p = add(v, "p", null, "line");

		if (has(l.label)) {
			add(p, "b", l.label);
			p.append(" ");
		}
		add(p, "span", l.text, l.label === "play it" ? "command" : "");
	}
}
/* Older documents have no lines: make the answer from their members. */
function answer_members(v, f)
{
	add(v, "span", f.smallest ? "smallest" : "largest", "badge");
	add(v, "p", `${f.option || "value"} for which ${f.requirement || "it"} holds: ${show(f.answer)}`, "headline");
	add(v, "p", [f.limit ? "limit: " + f.limit : null, f.limited_by,
		has(f.limit_bytes_per_sec) ? rate(f.limit_bytes_per_sec) : null,
		f.confirmed === true ? "confirmed by a second run" : null,
		f.interrupted ? "interrupted" : null].filter(has).join("; "));
}
/* The search: its answer, then charts of the probes in their order. */
function find_max(to, f)
{
	const probes = list(f.probes), name = f.option || "value";
	const y_key = probes.some((p) => has(p.au_percent)) ? "au_percent" : "margin_percent";
	const v = add(to, "div", null, "card verdict answer " + (has(f.answer) ? "good" : "warn"));

	if (has(f.question))
		add(v, "p", f.question, "note");
	(list(f.lines).length ? answer_lines : answer_members)(v, f);
	const grid = add(to, "div", null, "grid");
	const points = (x, y, holds) => probes.map((p, i) => ({ x: x(p, i), y: y(p), say: `probe ${i + 1}: ${name} ${show(p.value)}, ${show(p[y_key], percent)}, ${p.holds ? "requirement met" : "requirement missed"}`, holds: !!p.holds }))
		.filter((p) => p.holds === holds && has(p.x) && has(p.y));
	const pair = (x, y) => [
		["requirement met", points(x, y, true), { showLine: false, pointRadius: 6, backgroundColor: good, borderColor: good }],
		["requirement missed", points(x, y, false), { showLine: false, pointRadius: 6, pointStyle: "rectRot", backgroundColor: bad, borderColor: bad }],
	];
	const dash = { borderDash: [4, 4], borderColor: grey, backgroundColor: grey, pointRadius: 0, pointHitRadius: 0 };
	const one = (p, i) => i + 1, of_value = (p) => p.value;
	const answer = has(f.answer) ? [["answer", [{ x: 1, y: f.answer }, { x: Math.max(2, probes.length), y: f.answer }], dash]] : [];
	lines(grid, `The search: ${name} probe by probe`, "search", pair(one, of_value).concat(answer),
		{ unit: count, x: axis(count, "probe", { type: "linear", min: .5, max: probes.length + .5 }), x_unit: (x) => "probe " + count(x), x_name: "probe", x_table: count });
	const least = y_key === "au_percent" ? asked_percent(f) : 0;
	const values = probes.map(of_value).filter(has), ends = [Math.min(...values), Math.max(...values)];
	lines(grid, y_key === "au_percent" ? `AU by ${name}` : `Margin to the requirement by ${name}`, "search-au",
		pair(of_value, (p) => p[y_key]).concat(has(least) ? [["required", ends.map((x) => ({ x, y: least })), dash]] : []),
		{ unit: percent, x: axis(count, name, { type: "linear" }), x_unit: (x) => `${name} ${count(x)}`, x_name: name, x_table: count });
	if (!probes.length)
		return;
	const keys = Object.keys(probes[0]).filter((k) => probes.some((p) => has(p[k]) && p[k] !== false && (typeof p[k] !== "object")));
	table(card(grid, "All probes", "wide"), words_of(keys, { value: name, error: "reason" }).map((w, i) => [w, keys[i] === "value" ? count : unit_of(keys[i])]), probes.map((p) =>
		keys.map((k) => typeof p[k] === "boolean" ? { v: p[k] ? "yes" : "no", cls: k === "holds" ? p[k] ? "good" : "bad" : "" } : p[k])));
}

/* ---- a comparison ---- */

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
	const line = (r) => figure_words(r.figure) + " " + names.map((_, i) => i && has(r.marks[i]) && r.marks[i] !== "same" ? digits((r.difference_percent || r.difference_points)[i]) + (r.difference_percent ? " %" : " points") : "").filter(Boolean).join(", ");
	add(v, "p", worse.length ? worse.map(line).join("; ") : better.length ? better.map(line).join("; ") : "no decisive figure differs by more than its noise", "headline");
	const shown = figure.filter((r) => r.values.every(has) && (r.decides || r.marks.some((k) => k === "worse" || k === "better"))).slice(0, 24);
	if (shown.length && names.length > 1) {
		const of = (r, k) => (r[k + "_percent"] || r[k + "_points"] || []);
		const c = card(grid, "Difference from " + names[0] + ", with the range of noise", "wide");
		draw(c, "difference", () => ({
			type: "bar",
			data: { labels: shown.map((r) => figure_words(r.figure) + (r.difference_points ? " (points)" : " (%)")), datasets: names.slice(1).map((n, i) => ({
				label: n, data: shown.map((r) => of(r, "difference")[i + 1]),
				backgroundColor: shown.map((r) => r.marks[i + 1] === "worse" ? bad : r.marks[i + 1] === "better" ? good : colors[0]), maxBarThickness: 14, stack: n + i,
			})).concat(names.slice(1).map((n, i) => ({
				label: names.length > 2 ? "noise of " + n : "noise", stack: n + i, order: 5, maxBarThickness: 24,
				data: shown.map((r) => has(of(r, "noise")[i + 1]) ? [-of(r, "noise")[i + 1], of(r, "noise")[i + 1]] : null), backgroundColor: "rgba(152,164,179,.45)",
			}))) },
			options: { indexAxis: "y", scales: { x: axis(digits), y: { ticks: { autoSkip: false }, grid: { display: false } } }, plugins: { tooltip: { callbacks: {
				label: (i) => i.dataset.label + ": " + (Array.isArray(i.raw) ? "±" + digits(i.raw[1]) : digits(i.raw)) } } } },
		}), 80 + (20 + 16 * (names.length - 1)) * shown.length);
	}
	const head = [["figure", plain]].concat(names.map((n) => [n, digits]), names.slice(1).flatMap((n) => [[names.length > 2 ? "noise of " + n : "noise", digits], ["result", plain]]));
	const noise_of = (r) => r.noise_percent || r.noise_points || [];
	const c = card(grid, "Figures side by side", "wide");
	table(c, head, figure.map((r) => [figure_words(r.figure)].concat(r.values.map((x) => typeof x === "number" ? { v: x, say: unit_of(r.figure)(x) } : x), names.slice(1).flatMap((_, i) => [noise_of(r)[i + 1],
		{ v: r.marks[i + 1], cls: r.marks[i + 1] === "worse" ? "bad" : r.marks[i + 1] === "better" ? "good" : "" }]))));
	if (option.length)
		table(card(grid, "Options that differ", "wide"), [["option"]].concat(names.map((n) => [n])), option.map((r) => [r.option].concat(r.values.map((x) => show(x)))));
	together(grid, docs.slice(0, 6));
}

/* ---- a score, and miss curves ---- */

function score(to, d)
{
	const s = d.score, v = add(to, "div", null, "card verdict " + (s.verdict === "pass" ? "good" : s.verdict === "fail" ? "bad" : "warn"));

	add(v, "span", s.verdict, "badge");
	add(v, "p", `${s.candidate} against ${get(list(s.traces)[0] || {}, "file") || "the real run"}`, "headline");
	if (s.unlike)
		add(v, "p", s.unlike);
	const grid = add(to, "div", null, "grid");
	for (const p of list(s.phases)) {
		const all = list(p.figures), known = all.filter((f) => has(f.distance) && f.limit > 0);

		bars(grid, `Phase ${p.phase}: distance of each figure, in percent of its limit`, "score", known.map((f) => `${f.metric.toUpperCase()} ${f.figure}`), [
			["within its limit", known.map((f) => f.verdict === "pass" ? 100 * f.distance / f.limit : null), good],
			["over its limit", known.map((f) => f.verdict === "pass" ? null : 100 * f.distance / f.limit), bad],
		], { unit: percent, flat: true, zero: true, cls: "wide", stacked: true, clip: 300 });
		table(card(grid, `Phase ${p.phase}: ${p.verdict}`, "wide"), [["metric"], ["figure"], ["distance", digits], ["limit", digits], ["verdict"], ["why unknown"]],
			all.map((f) => [metric_names[f.metric] || f.metric, f.figure, f.distance, f.limit, { v: f.verdict, cls: f.verdict === "pass" ? "good" : f.verdict === "fail" ? "bad" : "" }, has(f.unknown) ? f.unknown : ""]));
	}
	pairs(grid, "Result of each metric: largest distance / limit", s);
	list_card(grid, "Traces", list(s.traces));
}
function miss_curve(to, m)
{
	const grid = add(to, "div", null, "grid"), points = list(m.points);
	const policies = [...new Set(points.map((p) => p.policy))];
	const of = (y) => policies.map((name) => [name, points.filter((p) => p.policy === name).map((p) => ({ x: p.size_percent, y: y(p) }))]);
	const o = { unit: percent, max: 100, x: axis(percent, "cache size, percent of the dataset", { type: "linear", min: 0, max: 100 }), x_unit: percent, x_name: "size" };

	lines(grid, "Hit ratio by cache size and policy", "miss-curve", of((p) => has(p.hit_ratio) ? 100 * p.hit_ratio : null), o);
	lines(grid, "AU by cache size and policy", "miss-curve-au", of((p) => p.au_percent), Object.assign({}, o, { x: axis(percent, "cache size, percent of the dataset", { type: "linear", min: 0, max: 100 }) }));
	pairs(grid, "Job and dataset", m);
}
