#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 210-page.sh - pages of --html: what they embed, what they refuse, and what a browser draws of them.
# In memory: a page is a few files.

. "$(dirname "$0")/tap.sh"

command -v python3 >/dev/null || skip_all "python3 is not here"
job="--name=t --directory=$T/data --format=raw --num_files=32 --sample_size=64k
	--batch_size=4 --compute_time=5ms --epochs=3 --log_interval=50ms --quiet"
train()
{
	# shellcheck disable=SC2086 # words
	"$MLGEN" $job "$@"
}
# figures PAGE EXPRESSION: of the embedded figures, f.
figures()
{
	python3 - "$@" <<-'END'
	import json, re, sys
	text = open(sys.argv[1], encoding="utf-8").read()
	part = re.search(r'id="figures">(.*?)</script>', text, re.S).group(1)
	f = json.loads(part)
	print(eval(sys.argv[2]))
	END
}

exits "a run writes a page beside its document" 0 \
	train --accelerators=2 --html=run.html --json=run.json
is "whose figures are those of the document" "$(python3 -c '
import json, re
page = open("run.html").read()
f = json.loads(re.search("id=\"figures\">(.*?)</script>", page, re.S).group(1))
print(f["answer"][0] == json.load(open("run.json")))')" True
ok "over time, too" test "$(figures run.html \
	'len(f["answer"][0]["series"]["jobs"][0]["read_bytes"])')" -ge 2
is "all bytes of the run are in one interval or another" "$(figures run.html \
	'sum(v or 0 for v in f["answer"][0]["series"]["jobs"][0]["read_bytes"]) == f["answer"][0]["jobs"][0]["ml"]["io_bytes"]')" True
ok "it is smaller than 2 MiB" test "$(wc -c <run.html)" -le 2097152
not_ok "and asks for nothing from anywhere" \
	grep -qE '(src|href)="?(https?:)?//' run.html

train --accelerators=1 --html=other.html --json=other.json >/dev/null
exits "a page is made of documents, too" 0 \
	"$MLGEN" --page run.json other.json --html=sweep.html
is "of all of them" "$(figures sweep.html 'len(f["documents"])')" 2
exits "a comparison has a page" 0 \
	"$MLGEN" --compare run.json run.json --html=compare.html
is "with its rows" "$(figures compare.html 'len(f["answer"]) > 0')" True
"$MLGEN" --name=p --directory=. --rw=randrw --bs=4k --size=1m --quiet \
	--log_interval=20ms --html=plain.html >/dev/null

"$MLGEN" --name=c --directory=c --model_layers=4 --model_hidden=64 \
	--model_ffn=128 --model_heads=4 --model_kv_heads=4 \
	--model_vocabulary=1000 --ranks=4 --phase=checkpoint --checkpoints=3 \
	--quiet --html=checkpoint.html >/dev/null
train --epochs=2 --find-max=accelerators --require='au>=1' --runtime=200ms \
	--html=find.html >/dev/null
ok "a search has its probes" test "$(figures find.html \
	'len(f["answer"][0]["find_max"]["probes"])')" -ge 1
train --accelerators=1 --trace=run.mlt >/dev/null
exits "the description of a trace has a page" 0 \
	"$MLGEN" --describe run.mlt --html=describe.html
train --accelerators=1 --json=again.json >/dev/null
exits "so have merged runs" 0 \
	"$MLGEN" --merge other.json again.json --html=merged.html
exits "and a table" 0 \
	"$MLGEN" --table=file,au_percent run.json other.json --html=table.html
exits "of an import there is none" 2 "$MLGEN" --export=csv run.mlt --html=x.html
like "in words" "$(cat "$T/err")" "no page of --export"

evil='x<script>document.title="owned"<!--&'
place="$T/d$(printf '\377')</script><script>document.title='owned'</script>"
mkdir -p "$place"
exits "a job and its directory may be called anything" 0 \
	"$MLGEN" --name="$evil" --directory="$place" \
	--num_files=8 --sample_size=1k --compute_time=2ms --steps=8 \
	--html=evil.html --quiet
is "and that is text in the page" "$(figures evil.html \
	'f["answer"][0]["jobs"][0]["jobname"]')" "$evil"
is "which begins no element" "$(grep -cE '<script>document|<!--&' evil.html)" 0

exits "a page that cannot be written is refused before the run" 2 \
	train --accelerators=1 --html=none/x.html
like "in words" "$(cat "$T/err")" "html=none/x.html: .*[Nn]o such"
if [ -c /dev/full ]; then
	exits "a full disk is told behind the run" 1 \
		train --accelerators=1 --html=/dev/full --json=kept.json
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

# ---- a browser

if ! command -v chromium >/dev/null; then
	skip "a browser draws them" "chromium is not here"
elif ! grep -q 'chartjs.org' run.html; then
	skip "a browser draws them" "built without Chart.js"
else
	for page in run plain checkpoint find sweep table compare describe \
		merged evil; do
		chromium --headless --no-sandbox --disable-gpu --disable-quic \
			--no-first-run --disable-background-networking \
			--disable-component-update --disable-sync \
			--user-data-dir="$T/browser" --virtual-time-budget=3000 \
			--enable-logging=stderr --dump-dom \
			"file://$PWD/$page.html#measure" >dom 2>console
		is "a browser draws every chart of $page.html" "$(python3 -c '
import html, json, re
m = re.search("data-charts=\"(.*?)\"", open("dom", errors="replace").read())
c = json.loads(html.unescape(m.group(1))) if m else []
print(len(c) > 0, [x["id"] for x in c if not x["coloured"]])')" "True []"
		[ "$page" != run ] || cp dom run.dom
		not_ok "without an error" grep -q 'CONSOLE' console
		not_ok "or a script of others" grep -q '<title>owned' dom
	done
	is "a tile has the figure of the document" "$(python3 -c '
import json, re
au = json.load(open("run.json"))["jobs"][0]["ml"]["au_percent"]
print(any(abs(float(v) - au) < 1e-9 for v in
	re.findall("data-v=\"([0-9.e+-]+)\"", open("run.dom").read())))')" True
fi
done_testing
