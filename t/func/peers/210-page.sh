#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 210-page.sh - pages of --html: what they embed, what they refuse, and what a browser draws of them.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"

command -v python3 >/dev/null || skip_all "python3 is not here"
real=$MLGEN
virtual_time
job="--name=t --directory=data --format=raw --num_files=32 --sample_size=64k
	--batch_size=4 --compute_time=5ms --epochs=3 --log_interval=50ms --quiet"
train()
{
	# shellcheck disable=SC2086 # words
	"$MLGEN" $job "$@"
}
# figures TITLE PAGE EXPRESSION WANT: a point about the figures, f, that a page embeds.
# One Python evaluates all of them later, for it takes longer to start than mlgen.
figures()
{
	printf '%s\n' "$@" >>figures.asked
}

exits "a run writes a page beside its document" 0 \
	train --accelerators=2 --html=run.html --json=run.json
figures "whose figures are those of the document" run.html \
	'f["answer"][0] == json.load(open("run.json"))' True
figures "over time, too" run.html \
	'len(f["answer"][0]["series"]["jobs"][0]["read_bytes"]) >= 2' True
figures "all bytes of the run are in one interval or another" run.html \
	'sum(v or 0 for v in f["answer"][0]["series"]["jobs"][0]["read_bytes"]) == f["answer"][0]["jobs"][0]["ml"]["io_bytes"]' True
ok "it is smaller than 2 MiB" test "$(wc -c <run.html)" -le 2097152
not_ok "and asks for nothing from anywhere" \
	grep -qE '(src|href)="?(https?:)?//' run.html

train --accelerators=1 --html=other.html --json=other.json >/dev/null
exits "a page is made of documents, too" 0 \
	"$MLGEN" --page run.json other.json --html=sweep.html
figures "of all of them" sweep.html 'len(f["documents"])' 2
exits "a comparison has a page" 0 \
	"$MLGEN" --compare run.json run.json --html=compare.html
figures "with its rows" compare.html 'len(f["answer"]) > 0' True
"$MLGEN" --name=p --directory=. --rw=randrw --bs=4k --size=1m --quiet \
	--log_interval=20ms --html=plain.html >/dev/null

"$MLGEN" --name=c --directory=c --model_layers=4 --model_hidden=64 \
	--model_ffn=128 --model_heads=4 --model_kv_heads=4 \
	--model_vocabulary=1000 --ranks=4 --phase=checkpoint --checkpoints=3 \
	--quiet --html=checkpoint.html >/dev/null
train --epochs=2 --find-max=accelerators --require='au>=1' --runtime=200ms \
	--html=find.html --json=find.json --quiet=0 >find.txt
exits "the document of a search has its page, too" 0 \
	"$MLGEN" --page find.json --html=found.html
figures "a search has the lines of the terminal" find.html \
	'" ".join(open("find.txt").read().split()).endswith(" ".join(" ".join((l["label"] or "", l["text"])) for l in f["answer"][0]["find_max"]["lines"]))' True
figures "from the answer on" find.html \
	'[l["label"] for l in f["answer"][0]["find_max"]["lines"]][:2]' "['ANSWER', 'limit']"
figures "a search has its probes" find.html \
	'len(f["answer"][0]["find_max"]["probes"]) >= 1' True
figures "and the run that its answer is of" find.html \
	'[j["options_resolved"]["accelerators"] for j in f["answer"][0]["jobs"]] == [str(f["answer"][0]["find_max"]["answer"])]' True
train --dry-run --html=planned.html >/dev/null
figures "what is only planned is dated, too" planned.html \
	'f["answer"][0]["timestamp"] > 1600000000' True
"$MLGEN" --name=l --directory=l --checkpoint_size=256k --ranks=3 \
	--phase=checkpoint --checkpoints=3 --quiet --json=lanes.json \
	--html=lanes.html >/dev/null
figures "of checkpoints there is a lane for each rank" lanes.html \
	'sorted({t["rank"] for t in f["answer"][0]["jobs"][0]["ml"]["saves"]["rank_times"]})' "[0, 1, 2]"
train --accelerators=2 --cache=lru --cache_size=1m --cache_directory=memory \
	--check=mlperf-v2 --html=tier.html >/dev/null
train --accelerators=1 --trace=run.mlt >/dev/null
train --accelerators=2 --trace=two.mlt >/dev/null
exits "the description of a trace has a page" 0 \
	"$MLTRACE" describe run.mlt --html=describe.html
"$MLTRACE" score run.mlt two.mlt --html=score.html >/dev/null
ok "so has a score, whatever it comes to" grep -q '"verdict"' score.html
# shellcheck disable=SC2086 # words
exits "so has a miss curve" 0 "$MLGEN" $job --miss-curve --html=curve.html

"$MLTRACE" describe run.mlt --output-format=json >described.json
"$MLTRACE" score run.mlt two.mlt --output-format=json >scored.json
# shellcheck disable=SC2086 # words
"$MLGEN" $job --miss-curve --output-format=json >curve.json
exits "documents of all kinds may be in one" 0 "$MLGEN" --page run.json \
	described.json lanes.json scored.json curve.json --html=mixed.html
figures "each of them as it is" mixed.html \
	'[x["document"] == json.load(open(x["file"])) for x in f["documents"]]' \
	"[True, True, True, True, True]"
exits "questions about runs refuse them" 2 "$MLGEN" --compare run.json described.json
like "by what they are" "$(cat "$T/err")" \
	"described.json: is the description of a trace, not a report of a run; --page"

# A run of an hour: as many intervals as there may be, of digits as many; and four
# jobs of it. One with a hole in its time, and a clock that was set back. And a job that
# failed, in the words of another program.
python3 -I -S - <<'END'
import json, random
text = open("run.json").read()

def dump(d, name):
    open(name, "w").write(json.dumps(d))

d = json.loads(text)
s = d["series"]["jobs"][0]
n = 720
for k, v in s.items():
    if isinstance(v, list) and v and isinstance(v[0], (int, float, type(None))):
        most = 100 if "percent" in k else 1e9
        s[k] = [random.random() * most for _ in range(n)]
s["begin_seconds"] = [5.000123456 * i for i in range(n)]
s["end_seconds"] = [5.000123456 * (i + 1) for i in range(n)]
s["seconds"] = [5.000123456] * n
s["au_percent"] = [100 * random.random() for _ in range(n)]
for l in s["latencies"]:
    l["intervals_each"] = 5
    l["from_ns"] = [float(int(1000 * 1.19 ** i)) for i in range(60)]
    l["counts"] = [float(random.randrange(100000)) for _ in range(60 * 144)]
dump(d, "hour.json")
d["series"]["jobs"] = [dict(s, job="t%d" % i) for i in range(4)]
d["jobs"] = [dict(d["jobs"][0], jobname="t%d" % i) for i in range(4)]
dump(d, "four.json")
d = json.loads(text)
s = d["series"]["jobs"][0]
for k in ("begin_seconds", "end_seconds"):
    s[k] = [t + (5 if i > 2 else 0) - (3 if i > 4 else 0) for i, t in enumerate(s[k])]
s["read_bytes"][1] = None
dump(d, "holes.json")
d = json.loads(text)
d["jobs"][0]["error_text"] = "</script><script>document.title='owned'</script>\"'\u2028<!--"
dump(d, "failed.json")
END
for name in hour four holes; do
	"$MLGEN" --page $name.json --html=$name.html >/dev/null
	ok "the page of $name.json is smaller than 2 MiB" \
		test "$(wc -c <$name.html)" -le 2097152
done
"$MLGEN" --name=h --directory=h --format=raw --num_files=32 \
	--sample_size=64k --batch_size=4 --accelerators=2 --read_threads=1 \
	--compute_time=5s --epochs=1000000 --time_based \
	--runtime=3600s --quiet --html=virtual.html >/dev/null
ok "so is that of a run of an hour in virtual time" \
	test "$(wc -c <virtual.html)" -le 2097152
figures "whose intervals thinned themselves" virtual.html \
	'360 <= len(f["answer"][0]["series"]["jobs"][0]["read_bytes"]) <= 720' True
figures "an hour of one job lacks nothing" hour.html 'f["left_out"]' "[]"
figures "of four it says what it lacks" four.html '"bins" in f["left_out"]' True

(
	export LATER_S=60
	train --accelerators=1 --json=again.json >/dev/null
)
exits "so have merged runs" 0 \
	"$MLGEN" --merge other.json again.json --html=merged.html
exits "and a table" 0 \
	"$MLGEN" --table=file,au_percent run.json other.json --html=table.html
exits "of an import there is none" 2 "$MLTRACE" export --format=csv run.mlt --html=x.html
like "in words" "$(cat "$T/err")" "html: is an option of mltrace describe"

"$MLGEN" --page failed.json --html=failed.html >/dev/null
is "the text of an error begins no element" \
	"$(grep -cE '<script>document|<!--' failed.html)" 0

evil='x<script>document.title="owned"<!--&'
place="d$(printf '\377')</script><script>document.title='owned'</script>"
mkdir -p "$place"
exits "a job and its directory may be called anything" 0 \
	"$MLGEN" --name="$evil" --directory="$place" \
	--num_files=8 --sample_size=1k --compute_time=2ms --steps=8 \
	--title="$evil \"7.2\"" --note="<b>'NFS' & RDMA</b>" --note="Größe ↔ 4" \
	--html=evil.html --json=evil.json --quiet
figures "and that is text in the page" evil.html \
	'f["answer"][0]["jobs"][0]["jobname"]' "$evil"
figures "so are title and notes" evil.html \
	'"|".join([f["answer"][0]["title"]] + f["answer"][0]["notes"])' \
	"$evil \"7.2\"|<b>'NFS' & RDMA</b>|Größe ↔ 4"
exits "a page of its document" 0 "$MLGEN" evil.json --html=again.html --quiet
exits "and of both, with a title of its own" 0 "$MLGEN" --page run.json evil.json \
	--title='Two arrays' --note=one --html=titled.html
figures "has them" again.html 'f["documents"][0]["document"]["title"]' "$evil \"7.2\""
is "which begins no element" "$(grep -cE '<script>document|<!--&' evil.html)" 0

exits "a page that cannot be written is refused before the run" 2 \
	train --accelerators=1 --html=none/x.html
like "in words" "$(cat "$T/err")" "html=none/x.html: .*[Nn]o such"
if [ -c /dev/full ]; then
	# shellcheck disable=SC2086 # words
	exits "a full disk is told behind the run" 1 \
		"$real" $job --accelerators=1 --html=/dev/full --json=kept.json
	like "in words" "$(cat "$T/err")" "html=/dev/full|/dev/full: .*[Nn]o space"
	ok "and its result is there" grep -q '"au_percent"' kept.json
fi
exits "--page needs a place for it" 2 "$MLGEN" --page run.json
like "and says so" "$(cat "$T/err")" "add --html=FILE"
sed 's/"schema_version": 2/"schema_version": 99/' run.json >strange.json
exits "a document of another schema is refused" 2 \
	"$MLGEN" --page run.json strange.json --html=x.html
like "by its name" "$(cat "$T/err")" "strange.json: has schema_version 99"
not_ok "and no page is left" test -e x.html

# ---- the figures of all pages

python3 -I -S - <<'END' >figures.got
import json, re
lines = open("figures.asked").read().split("\n")
for page, expression in zip(lines[1::4], lines[2::4]):
    text = open(page, encoding="utf-8").read()
    part = re.search(r'id="figures">(.*?)</script>', text, re.S).group(1)
    print(eval(expression, {"json": json, "f": json.loads(part)}))
END
while read -r title <&3 && read -r page <&3 && read -r _ <&3 && read -r want <&3; do
	read -r got <&4 || got="nothing was evaluated"
	is "$page: $title" "$got" "$want"
done 3<figures.asked 4<figures.got

# ---- a browser

if ! command -v chromium >/dev/null; then
	skip "a browser draws them" "chromium is not here"
elif ! grep -q 'chartjs.org' run.html; then
	skip "a browser draws them" "built without Chart.js"
else
	# Without the policy that forbids all of them.
	sed '/Content-Security-Policy/d
		s,</body>,<img src="http://host.invalid/of-others"><script>\
		setTimeout(() => { new Image().src = "http://host.invalid/later" }\, 2000)\
		</script>&,' run.html >asking.html
	pages="run plain checkpoint lanes tier find found sweep table compare
		describe merged score curve mixed hour virtual holes evil again
		titled failed"
	# shellcheck disable=SC2046,SC2086 # a word for each page
	ok "a browser opens all pages" python3 "$TOP/t/func/browse.py" browser \
		asking.html $(printf '%s.html\n' $pages)
	is "a request that a page makes would be seen" "$(cat asking.requests)" \
		"$(printf 'http://host.invalid/%s\n' later of-others)"
	like "so would an error" "$(cat asking.console)" '"level": "error"'
	for page in $pages; do
		is "a browser draws every chart of $page.html" \
			"$(cat "$page.charts")" "True []"
		is "without an error" "$(cat "$page.console")" ""
		is "or a request" "$(cat "$page.requests")" ""
		not_ok "or a script of others" grep -q '<title>owned' "$page.dom"
	done
	like "what failed is shown as text" "$(cat failed.dom)" \
		'&lt;/script&gt;&lt;script&gt;document'
	# Runs side by side have options in their headings.
	for page in run plain find table describe merged score curve; do
		is "no heading of $page.html is a key" "$(grep -o '<th[^>]*>[^<]*' \
			$page.dom | sed 's/.*>//' | grep -E '[a-z]_[a-z]')" ""
	done
	python3 -I -S - <<-'END' >answers
	import html, json, re
	def text(page):
	    dom = re.sub("<script.*?</script>|<style.*?</style>", "", open(page, errors="replace").read(), flags=re.S)
	    return " ".join(html.unescape(re.sub("<[^>]*>", " ", dom)).split())
	printed = " ".join(open("find.txt").read().split())
	answer = printed[printed.index("ANSWER"):]
	for page in "find.dom", "found.dom":
	    print(answer in text(page)[:len(answer) + 600])
	for page in "evil.dom", "again.dom", "titled.dom":
	    dom = open(page).read()
	    print(html.unescape(re.search("<title>(.*?)</title>", dom).group(1)),
	          *(html.unescape(x) for x in re.findall("<h1>(.*?)</h1>|<div class=.notes.>(.*?)</div>", dom)[0] if x), sep="|")
	    print(*(html.unescape(x) for x in re.findall("<p>(.*?)</p>", re.search("<div class=.notes.>(.*?)</div>", dom).group(1))), sep="|")
	END
	is "the answer of a search is at the top, word for word" \
		"$(sed -n 1,2p answers | paste -sd' ' -)" "True True"
	for at in 3 5; do
		is "a title is title and heading of the page" "$(sed -n ${at}p answers)" \
			"$evil \"7.2\" – mlgen|$evil \"7.2\""
		is "with the notes below" "$(sed -n $((at + 1))p answers)" \
			"<b>'NFS' & RDMA</b>|Größe ↔ 4"
	done
	is "that of the command line comes first" "$(sed -n 7,8p answers)" \
		"$(printf 'Two arrays – mlgen|Two arrays\none')"
	# Of each list that a chart is of, every figure stands in a table.
	python3 -I -S - <<-'END' >shown
	import json, re
	dom = open("run.dom", errors="replace").read()
	shown = [float(v) for v in re.findall("data-v=\"([0-9.e+-]+)\"", dom)]
	d = json.load(open("run.json"))
	m, s = d["jobs"][0]["ml"], d["series"]["jobs"][0]
	want = {
	    "epochs": [e["au_percent"] for e in m["epochs"]],
	    "rates": [e["sample_bytes_per_sec"] for e in m["epochs"]],
	    "ranks": m["au_percent_per_accelerator"],
	    "time": [v for r in m["ranks"] for v in r["time_percent"].values() if v],
	    "loaders": [v for r in m["ranks"] for v in r["loader_percent"].values() if v],
	    "sizes": [x["count"] for x in d["jobs"][0]["request_sizes"]],
	    "p99": [v for v in s["sample_p99_ns"] if v],
	}
	print([k for k, values in want.items() if not values or not all(
	    any(abs(v - x) <= 1e-9 * abs(v) for x in shown) for v in values)])
	print(any(abs(v - m["au_percent"]) < 1e-9 for v in shown))
	END
	is "figures in the page are those of the document" "$(sed -n 1p shown)" "[]"
	is "a tile has the figure of the document" "$(sed -n 2p shown)" True
fi
done_testing
