#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 113-results.sh - reports are read again: as a table, side by side, merged.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
virtual_time
# Sleepers wake late, so that rates and shares have digits behind their point.
export SLEEPS_LATE_NS=37123

# run NAME OPTION...: a short training without storage, its report in NAME.json.
run()
{
	name=$1
	shift
	"$MLGEN" --name=u --ioengine=null --num_files=240 --sample_size=1m \
		--batch_size=2 --epochs=3 --compute_time=1ms --json="$name.json" \
		--quiet "$@" >/dev/null 2>&1
}

for n in 1 2; do
	for t in 1 4; do
		run "u-$n-$t" --accelerators=$n --read_threads=$t
	done
done
"$MLGEN" --name=p --ioengine=null --rw=randrw --size=1m --numjobs=2 \
	--json=p.json --quiet >/dev/null
is "five runs wrote their reports" "$(echo ./*.json | wc -w)" 5

# ---- --table
keys=accelerators,read_threads,au_percent,sample_bytes_per_sec,stall_ns.max
exits "--table" 0 "$MLGEN" --table=$keys u-*.json
like "has a header with the units" "$(head -n 1 out)" \
	'^accelerators  read_threads  au_percent +[GM]iB/s +stall max, ms$'
is "and a row for each result" "$(awk 'NR > 1 { print $1, $2 }' out | tr '\n' ';')" \
	"1 1;1 4;2 1;2 4;"
is "with what the report has, rounded" "$(awk 'NR == 2 { print $3 }' out)" \
	"$(printf %.1f "$(ml u-1-1.json au_percent)")"
is "its columns are aligned" \
	"$(awk '{ print length }' out | sort -u | wc -l)" 1

exits "--output-format=csv" 0 "$MLGEN" --table=$keys,bs,compute_time,file \
	--output-format=csv --output=t.csv u-*.json
is "goes to the file that --output names" "$(cat out)" ""
is "with the keys as they were given" "$(head -n 1 t.csv)" \
	"$keys,bs,compute_time,file"
for row in 2 3 4 5; do
	file=$(awk -F, -v row=$row 'NR == row { print $8 }' t.csv)
	is "row $row has the figures of $file to the last digit" \
		"$(awk -F, -v row=$row 'NR == row { print $1, $3, $4, $5 }' t.csv)" \
		"$(ml "$file" accelerators au_percent sample_bytes_per_sec \
			stall_ns.max)"
done
is "sizes are bytes, times are seconds" \
	"$(awk -F, 'NR == 2 { print $6, $7 }' t.csv)" "1048576 0.001"

exits "a row for each job record" 0 "$MLGEN" --output-format=json \
	--table=jobname,read.total_ios,au,machine.hostname u-1-1.json p.json
is "which is one of each worker" "$(wc -l <out)" 3
is_json "a line is an object" "$(sed -n 1p out >line.json; echo line.json)"
like "what a job has not is null" "$(sed -n 2p out)" \
	'^\{"jobname": "p", "read.total_ios": [0-9]+, "au": null, "machine.hostname": ".*"\}$'
exits "in text" 0 "$MLGEN" --table=jobname,au,target_au p.json
like "it is a dash" "$(sed -n 2p out)" '^ +p +- +-$'
exits "in CSV" 0 "$MLGEN" --table=jobname,au,target_au --output-format=csv p.json
is "it is nothing" "$(sed -n 2p out)" "p,,"
exits "a percentile with few values beyond it" 0 "$MLGEN" \
	--table=first_step_ns.p99 u-1-1.json
like "is a dash, too" "$(sed -n 2p out)" '^ *-$'
exits "and for programs" 0 "$MLGEN" --table=file,first_step_ns.p99 \
	--output-format=csv u-1-1.json
is "which find nothing there" "$(sed -n 2p out)" "u-1-1.json,"
exits "or null" 0 "$MLGEN" --table=first_step_ns.p99,first_step_ns.max \
	--output-format=json u-1-1.json
is "where the greatest is one that was counted" "$(cat out)" \
	"{\"first_step_ns.p99\": null, \"first_step_ns.max\": $(ml u-1-1.json \
		first_step_ns.max)}"

# refused TEXT ARGUMENT...: with status 2, and TEXT.
refused()
{
	text=$1
	shift
	exits "refused: $*" 2 "$MLGEN" "$@"
	like "because: $text" "$(cat err)" "^mlgen: .*$text"
	is "and nothing is printed" "$(cat out)" ""
}

keys=au,samples_per_sec,read_threads,stall_ns.p99
"$MLGEN" --table=$keys --output-format=csv u-*.json | tail -n +2 >lower
"$MLGEN" --table="$(echo $keys | tr '[:lower:]' '[:upper:]')" \
	--output-format=csv u-*.json | tail -n +2 >upper
is "capitals make no difference in keys" "$(cat upper)" "$(cat lower)"
refused "did you mean 'stall_ns.p99'\?" --table=stal_ns.p99 u-1-1.json
refused "au: is given twice" --table=au,au u-1-1.json
refused "a key is missing" --table=au, u-1-1.json
refused "--table prints text, csv or json" --table=au --output-format=fio-json u-1-1.json
refused "name one element, from 0: disk_util.0.read_ios" --table=disk_util u-1-1.json
refused "find_max.probes.0.value" --table=find_max.probes u-1-1.json
head -c 5000 u-1-1.json >cut.json
: >empty.json
sed 's/"schema_version": 2/"schema_version": 7/' u-1-1.json >other.json
echo '{"fio version": "fio-3.33", "jobs": []}' >fio.json
for question in --table=au --compare --merge; do
	refused "cut.json:[0-9]+:[0-9]+: not JSON: .*ends too early" \
		$question u-1-1.json cut.json
	refused "empty.json: is empty" $question u-1-1.json empty.json
	refused "other.json: has schema_version 7 " $question u-1-1.json other.json
	refused "/dev/null: is empty" $question u-1-1.json /dev/null
	refused "fio.json: is not a report of mlgen but of fio" $question u-1-1.json fio.json
	refused "\.: is a directory" $question u-1-1.json .
	refused "none.json: No such file" $question u-1-1.json none.json
done
is "all that are wrong are named" "$("$MLGEN" --table=au cut.json u-1-1.json \
	empty.json 2>&1 >/dev/null | wc -l)" 2

# One file at a time is in memory.
i=0
while [ $i -lt 400 ]; do
	echo u-1-1.json
	i=$((i + 1))
done >names
limit=$([ -n "${SANITIZE:-}" ] || echo "ulimit -v 120000;")
# shellcheck disable=SC2046 # one word each
exits "hundreds of results need no more memory than one" 0 sh -c \
	"$limit exec \"\$@\"" sh "$MLGEN" --table=au $(cat names)
is "and have a row each" "$(wc -l <out)" 401

# ---- --compare
exits "--compare of a result with itself" 0 "$MLGEN" --compare \
	u-1-1.json ./u-1-1.json
unlike "is no difference" "$(cat out)" 'better|worse|[+-][0-9.]*[1-9][0-9.]*%'
exits "of two runs" 0 "$MLGEN" --compare u-1-1.json u-2-4.json --tolerance=100
like "has the options that differ" "$(cat out)" '^accelerators +1 +2$'
like "all of them" "$(cat out)" '^read_threads +1 +4$'
unlike "and no other" "$(cat out)" '^batch_size'
like "the figures behind them" "$(cat out)" '^AU +[0-9.]+% +[0-9.]+% +[+-][0-9.]+ '
is "options come first" "$(awk '/^AU/ { au = NR } /^read_threads/ { o = NR }
	END { print (o < au) }' out)" 1

# with KEY VALUE: a copy of u-1-1.json in which a figure of ml is another.
with()
{
	sed "s/^        \"$1\": .*/        \"$1\": $2,/" u-1-1.json
}
with au_percent 12.5 >slow.json
exits "a lower AU" 3 "$MLGEN" --compare u-1-1.json slow.json
like "is worse" "$(cat out)" '^AU .* 12.5% +-[0-9.]+ +worse$'
exits "to the first" 0 "$MLGEN" --compare slow.json u-1-1.json
like "and better the other way round" "$(cat out)" '^AU .* +better$'
exits "of any of them" 3 "$MLGEN" --compare u-1-1.json slow.json u-1-1.json
like "each is marked" "$(cat out)" '^ +worse -[0-9.]+ +\+0.0$'
with au_percent "$(ml u-1-1.json au_percent | awk '{ print $1 - 0.9 }')" >near.json
exits "less than a point of AU" 0 "$MLGEN" --compare u-1-1.json near.json
like "is within the noise of any run" "$(cat out)" '^AU .* within noise'
exits "a tolerance that it is within" 0 "$MLGEN" --compare u-1-1.json slow.json \
	--tolerance=99
like "is named" "$(cat out)" '^AU .* within tolerance \(99\)$'
exits "as JSON" 3 "$MLGEN" --compare u-1-1.json slow.json --output-format=json
like "a line is a figure" "$(head -n 1 out)" \
	'^\{"jobname": "u", "figure": "au_percent", "values": \[[0-9.]+, 12.5\], .*"marks": \[null, "worse"\], "decides": true\}$'

# ---- options of engines are options, too
run e --bandwidth=500m
exits "a result of another engine option" 3 "$MLGEN" --compare u-2-4.json e.json
like "has it among what differs" "$(cat out)" '^bandwidth +0 +500m$'
unlike "as an option, and no conclusion is drawn from reads in flight where the demand is another" \
	"$(cat out)" '^=> '
exits "as JSON" 3 "$MLGEN" --compare u-2-4.json e.json --output-format=json
is "a line is an option" "$(grep '"bandwidth"' out)" \
	'{"jobname": "u", "option": "bandwidth", "values": ["0", "500m"]}'
exits "it is a key of a table" 0 "$MLGEN" --output-format=csv \
	--table=bandwidth,latency,complete e.json p.json
is "in bytes; what is true or false says so" "$(tr '\n' ' ' <out)" \
	"bandwidth,latency,complete 524288000,0,true 0,0,true 0,0,true "
refused "did you mean 'bandwidth'\?" --table=bandwith e.json
refused "bandwidth \(0, 500m\)" --merge u-1-1.json e.json
exits "a result with one" 0 "$MLGEN" --merge e.json --json=e2.json --quiet
is "has it when it was read and written again" "$(json e2.json \
	jobs.0.options_resolved.bandwidth "jobs.0.job options.bandwidth" \
	jobs.0.options_origin.bandwidth)" "500m 500m command line"
printf '[global]\nioengine=null\nlatency=1us\nrw=read\nsize=1m\n[x]\n[y]\n' >g.job
"$MLGEN" g.job --json=g.json --quiet >/dev/null
is "one of [global] stands there" "$(json g.json "global options.latency" \
	"jobs.0.job options.latency" jobs.1.options_resolved.latency)" "1us absent 1us"

exits "a plain job of one worker" 0 "$MLGEN" --name=s --ioengine=null --rw=read \
	--size=1m --rate=50m --runtime=1 --time_based --status-interval=100ms \
	--json=s.json --quiet
ok "says how its throughput varies, too" \
	[ "$(json s.json jobs.0.read.bw_samples)" -ge 3 ]

refused "'p' is a plain job|number of job records" --compare u-1-1.json p.json
"$MLGEN" --name=u --ioengine=null --rw=read --size=1m --json=io.json \
	--quiet >/dev/null
refused "'u' is a plain job, 'u' of u-1-1.json is a training" \
	--compare u-1-1.json io.json
"$MLGEN" --name=u --ioengine=null --num_files=240 --dry-run \
	--output-format=json >dry.json
refused "dry.json: is from a dry run" --compare u-1-1.json dry.json
run v --format=npy
sed 's/"jobname": "u"/"jobname": "v"/' v.json >w.json
exits "another format of a job of this name" 0 "$MLGEN" --compare u-1-1.json \
	v.json --tolerance=100
like "is an option that differs" "$(cat out)" '^format +npz +npy$'
refused "has format=npy, 'u' of u-1-1.json has npz" --compare u-1-1.json w.json
"$MLGEN" --name=p --ioengine=null --rw=randrw --size=1m --numjobs=2 \
	--json=q.json --quiet >/dev/null
exits "plain jobs, worker by worker" 0 "$MLGEN" --compare p.json q.json \
	--tolerance=100
is "have IOPS each" "$(grep -c '^read IOPS' out)" 2

# ---- --merge
# client NAME FROM HOST MS: a report of another host, or time.
client()
{
	sed "s/\"hostname\": .*/\"hostname\": \"$3\",/
		s/\"timestamp_ms\": .*/\"timestamp_ms\": $4,/" "$2.json" \
		>"$1.json"
}
run a --accelerators=2
SLEEPS_LATE_NS=54321
run b --accelerators=2
SLEEPS_LATE_NS=37123
client c1 a host1 1000000
client c2 b host2 1000002
client c3 a host1 9000000
client c4 b host2 9000001

# differences A B: lines of two documents that are not the same figure.
differences()
{
	paste -d '\n' "$1" "$2" | awk '
	NR % 2 { line = $0; next }
	line == $0 { next }
	{
		a = line
		b = $0
		sub(/.*": /, "", a)
		sub(/.*": /, "", b)
		a += 0
		b += 0
		d = a > b ? a - b : b - a
		# A spread is what is left of two sums, rates are cut.
		limit = line ~ /stddev/ ? 1e-6 * a + 1e-3 : 1e-9 * a
		if (line !~ /": -?[0-9.]+,?$/ ||
		    (d > limit && !(line ~ /"bw/ && d <= 1)))
			print line " != " $0
	}'
}

exits "one report" 0 "$MLGEN" --merge a.json --json=again.json --output=again.txt
"$MLGEN" --table="$keys" --output-format=csv a.json >one.csv
"$MLGEN" --table="$keys" --output-format=csv again.json >two.csv
is "is that of the run itself" "$(cat two.csv)" "$(cat one.csv)"
is "in every line, but for the last digits" "$(differences a.json again.json)" ""

exits "--merge of two clients" 0 "$MLGEN" --merge c1.json c2.json --json=m.json
like "says how many hosts and accelerators" "$(head -n 2 out)" \
	'2 hosts, 4 accelerators$'
like "and how rates were added" "$(cat out)" '^merged +2 runs on 2 hosts, side by side'
is "samples add up" "$(ml m.json samples accelerators counted_steps)" "1440 4 $((
	$(ml c1.json counted_steps) + $(ml c2.json counted_steps)))"
# of NAME KEY...: sum of two reports.
total()
{
	echo "$(ml c1.json "$1") $(ml c2.json "$1") $(ml m.json "$1")" |
		awk '{ d = $1 + $2 - $3; print (d < 1e-6 * $3 && -d < 1e-6 * $3) }'
}
is "rates add up" "$(total samples_per_sec)$(total sample_bytes_per_sec)" 11
is "AU is the mean" "$(echo "$(ml c1.json au_percent) $(ml c2.json au_percent) \
	$(ml m.json au_percent)" | awk '{ d = ($1 + $2) / 2 - $3
		print (d < 1e-9 && -d < 1e-9) }')" 1
is "the document says of which runs it is" "$(json m.json merged.hosts \
	merged.turns merged.runs.0.file merged.runs.1.hostname)" \
	"2 1 c1.json host2"

# bins FILE: "ns count" of ml.step_ns.
bins()
{
	awk '/^        "step_ns": \{/ { inside = 1 }
		inside && /"bins": \{/ { counting = 1; next }
		counting && /\}/ { exit }
		counting { gsub(/[":,]/, ""); print $1, $2 }' "$1"
}
# One histogram of all values, by a program that shares nothing with mlgen.
whole()
{
	for file; do
		bins "$file"
	done | sort -n | awk -v p="$percent" -v least="$least" -v most="$most" '
		{ ns[NR] = $1; n[NR] = $2; all += $2 }
		END {
			rank = p / 100 * all
			want = int(rank)
			if (want < rank - 1e-9) want++
			for (i = 1; i <= NR; i++)
				if ((seen += n[i]) >= want) break
			v = ns[i] < least ? least : ns[i] > most ? most : ns[i]
			print v
		}'
}
least=$(ml m.json step_ns.min)
most=$(ml m.json step_ns.max)
is "the least is that of both" "$least" "$(printf '%s\n' \
	"$(ml c1.json step_ns.min)" "$(ml c2.json step_ns.min)" | sort -n | head -n 1)"
for percent in 1 50 90; do
	"$MLGEN" --table=step_ns.p$percent --output-format=csv m.json >p.csv
	is "p$percent of steps is that of one histogram of all" \
		"$(sed -n 2p p.csv)" "$(whole c1.json c2.json)"
done
for percent in 99 99.9; do
	is "p$percent of steps is that of one histogram of all" \
		"$(ml m.json "step_ns.percentile.$(printf %.6f $percent)")" \
		"$(whole c1.json c2.json)"
done

exits "repetitions" 0 "$MLGEN" --merge c1.json c3.json --json=m.json
like "are told from clients by their time" "$(cat out)" \
	'^merged +2 runs on 1 host, one after the other'
is "they have the same accelerators, and more epochs" \
	"$(ml m.json accelerators epochs_total epochs.5.epoch samples)" "2 6 6 1440"
is "and the mean of their rates" "$(echo "$(ml c1.json samples_per_sec) \
	$(ml m.json samples_per_sec)" | awk '{ d = $1 / $2 - 1
		print (d < 1e-9 && -d < 1e-9) }')" 1
exits "clients, twice" 0 "$MLGEN" --merge c3.json c1.json c4.json c2.json --quiet
like "say how many there were" "$(cat out)" ' 2 hosts, 4 runs, 4 accelerators$'
is "in one line" "$(wc -l <out)" 1
exits "what is required" 3 "$MLGEN" --merge c1.json c2.json --quiet \
	--require='accelerators>=5'
like "is required of the whole" "$(cat err)" 'accelerators is 4'
exits "as JSON" 0 "$MLGEN" --merge c1.json c2.json --output-format=json
is_json "is a document" out

sed 's/"complete": true/"complete": false/
	s/"error_text": null/"error_text": "f: read: Input\/output error"/' \
	c2.json >failed.json
exits "a client that failed" 0 "$MLGEN" --merge c1.json failed.json --quiet
like "is named, and why" "$(cat err)" \
	"failed.json: job 'u' did not run to its end: f: read: Input/output error;"
exits "when it is compared, too" 0 "$MLGEN" --compare c1.json failed.json \
	--tolerance=100
like "in words" "$(cat err)" "failed.json: job 'u' did not run to its end"
like "and in the table" "$(cat out)" '^complete +true +false$'
sed '/^        "epochs": \[/,/^        \],/d' c1.json >once.json
exits "where one does not say how it varies" 0 "$MLGEN" --compare once.json once.json
like "that is said, with the limit that was taken" "$(tr -s ' \n' ' ' <out)" \
	' AU [^a-z]* within noise \(unknown: 5.0\) '
is "and no line is wider than 80" "$(awk 'length > 80' out)" ""

cp c1.json twice.json
refused "is the same run as .*: all figures are equal" --merge c1.json c2.json twice.json
client c5 b host1 1000000
exits "two runs of one host from the same millisecond are two" 0 "$MLGEN" \
	--merge c1.json c5.json --quiet
refused "c3.json: 1 run at the same time from here on, but 2 from c1.json on" \
	--merge c3.json c1.json c2.json
run f --accelerators=1
client c6 f host1 9000000
refused "c6.json: job 'u' .* with 1 instead of 2 accelerators: it is not a repetition" \
	--merge c1.json c6.json
refused "batch_size \(2, 3\)" --merge c1.json "$(run z --batch_size=3
	echo z.json)"
refused "has job 'v' where" --merge v.json w.json
"$MLGEN" --merge c1.json c2.json --json=m.json --quiet >/dev/null
refused "m.json: is already merged" --merge m.json c3.json
refused "m.json: is already merged" --merge c3.json m.json
refused "dry.json: is from a dry run" --merge dry.json
sed 's/"N": 720/"N": 721/' c1.json >n.json
refused "n.json: jobs\[0\].*: its bins do not add up to N" --merge n.json
sed 's/^        "counted_steps": .*/        "counted_steps": "many",/' c1.json \
	>type.json
refused "type.json: jobs\[0\].ml.counted_steps: must be a whole number" --merge type.json
sed 's/^        "mean_file_bytes": .*/        "mean_file_bytes": {},/' c1.json \
	>type.json
refused "jobs\[0\].dataset.mean_file_bytes: must be a number" --merge type.json
refused "require=nothing>1: nothing: not a figure of a run" --merge c1.json --require='nothing>1'

# ---- all kinds of jobs
cat >kinds.job <<'JOB'
[save]
phase=checkpoint
directory=ckpt
ranks=2
checkpoint_size=300k
checkpoints=3
[restore]
stonewall
phase=restore
directory=ckpt
ranks=2
checkpoint_size=300k
[plain]
stonewall
phase=io
rw=randrw
size=1m
fsync=16
rate=100m
directory=.
JOB
exits "a save, a restore and a plain job" 0 "$MLGEN" kinds.job --json=k.json \
	--output=k.txt
exits "are told again" 0 "$MLGEN" --merge k.json --json=k2.json --output=k2.txt
is "in the same figures" "$(differences k.json k2.json)" ""
# What a document has not: fractions of elapsed seconds.
words()
{
	awk '/^[^ ]/ { is_cpu = /^cpu / } !is_cpu' "$1"
}
is "and words" "$(words k2.txt)" "$(words k.txt)"
client k3 k host2 "$(json k.json timestamp_ms)"
exits "two hosts" 0 "$MLGEN" --merge k.json k3.json --json=m.json
is "save the same checkpoints together" \
	"$(json m.json jobs.0.ml.saves.count jobs.0.ml.saves.ranks \
		jobs.0.ml.saves.bytes)" \
	"3 4 $((2 * $(json k.json jobs.0.ml.saves.bytes)))"
is "and their writes are counted" "$(json m.json jobs.2.write.total_ios)" \
	$((2 * $(json k.json jobs.2.write.total_ios)))
sed '/"jobname": "restore"/,/^    }/s/^      "ml": {/      "none": {/' k.json \
	>n1.json
client n2 n1 host2 "$(json n1.json timestamp_ms)"
exits "a job that neither of them came to" 0 "$MLGEN" --merge n1.json n2.json
like "is merged to none" "$(grep -A 2 '^restore' out | tr -s ' \n' ' ')" \
	'^restore: did not run 2 hosts merged 2 runs on 2 hosts, side by side $'
"$MLGEN" --name=d --phase=prepare --num_files=4 --sample_size=1k \
	--directory=data --json=d.json --quiet >/dev/null 2>&1
client d2 d host2 "$(json d.json timestamp_ms)"
exits "two preparations" 0 "$MLGEN" --merge d.json d2.json
like "say what is added" "$(tr -s ' \n' ' ' <out)" \
	'^d: 8 files, .* side by side: files and bytes are their sums'
exits "compared" 0 "$MLGEN" --compare k.json k.json
is "each has its own figures" "$(grep -cE \
	'^(save, s|restore, s|read IOPS|write IOPS) ' out)" 4

done_testing
