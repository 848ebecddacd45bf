#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 30-report.sh - what several hosts do is one data set, one report and one exit status.
# On disk: direct=1 is tried, or what a page cache and a disk do.
# Sleeps: launchers take a second to start.
. "$(dirname "$0")/rig.sh"

hosts_up 2
cat >j.job <<'END'
[j]
format=raw
num_files=120
sample_size=16k
batch_size=2
compute_time=2ms
epochs=2
accelerators=2
directory=data
END

# added LOG COLUMN: over all rows.
added()
{
	awk -F, -v want="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) c = i }
		NR > 1 { n += $c } END { print n }' "$1"
}

# series_sum FILE KEY: over all intervals of its first job.
series_sum()
{
	python3 -c 'import json, sys
print(sum(int(n or 0) for n in json.load(open(sys.argv[1]))["series"]["jobs"][0][sys.argv[2]]))' "$@"
}

one_report()
{
	rm -rf data ./*.json
	launch "$1" 2 j.job --json=all.json
	is "$1: two hosts end well" $? 0
	like "$1: they make the dataset together" "$(cat said)" \
		'writing 120 raw files, .* \(by 2 processes, '
	is "$1: all of it" "$(find data -name '*.raw*' -size 16k | wc -l)" 120
	like "$1: one report says of whom it is" "$(cat said)" '2 hosts, 4 accelerators'
	is "$1: once" "$(grep -c '^j: .* AU' said)" 1
	like "$1: each host has a line in it" "$(cat said)" '^h2 +[0-9.]+% '
	"$MLGEN" j.job --accelerators=4 --json=one.json --quiet >one.out 2>&1
	for key in accelerators samples sample_bytes epochs_total steps counted_steps; do
		is "$1: $key is that of one process with four accelerators" \
			"$(figure all.json $key)" "$(figure one.json $key)"
	done
	is "$1: and so is what was read" \
		"$(figure all.json read.io_bytes)" "$(figure one.json read.io_bytes)"
	is "$1: the document lists the processes" \
		"$(grep -c '"clock_unsure_ns"' all.json)" 2
	is "$1: --report reads it again" "$("$MLGEN" --report all.json)" "$(sed -n '/^j: .* AU/,$p' said)"
	launch "$1" 2 j.job --require='samples_per_sec>=1e9' --quiet
	is "$1: what is required and missed is status 3 for all" $? 3
	launch "$1" 2 j.job --trace=t.mlt --log=l.csv --log_interval=100ms \
		--metrics-file=m.prom --json=l.json --series --compute_time=20ms --quiet
	is "$1: each process has a trace" "$(echo t.*.mlt)" "t.0.mlt t.1.mlt"
	ok "$1: there is one log, of intervals" [ "$(wc -l <l.csv)" -gt 3 ]
	is "$1: which has the samples of all" "$(added l.csv samples)" "$(figure l.json samples)"
	is "$1: and all that was read" "$(added l.csv read_bytes)" "$(figure l.json read.io_bytes)"
	is "$1: the series, too" "$(series_sum l.json samples)" "$(figure l.json samples)"
	for h in 1 2; do
		is "$1: metrics say what h$h did" "$(sed -n \
			"s/^mlgen_samples_total{host=\"h$h\",section=\"j\",rank=\"$((h - 1))\"} //p" m.prom)" 120
		is "$1: and its memory once" \
			"$(grep -c "^mlgen_resident_bytes{host=\"h$h\"} [1-9]" m.prom)" 1
	done
	launch "$1" 2 j.job --dry-run
	is "$1: a dry run" $? 0
	is "$1: is told once" "$(grep -c '^j: ' said)" 1
	launch "$1" 4 j.job --quiet
	is "$1: two processes on each host" $? 0
	like "$1: are told apart from hosts" "$(cat said)" '2 hosts, 4 processes, 8 accelerators'
}
each_mpi one_report

one_search()
{
	launch "$1" 2 j.job --find-max=accelerators --require='au>=1' \
		--epochs=1 --ioengine=null --num_files=64 --compute_time=1ms
	is "$1: a search is rank 0's, and all run what it tries" $? 0
	is "$1: and has one answer" "$(grep -c '^j: ' said)" 1
}
each_mpi one_search

apart()
{
	mkdir -p own
	cat >own.sh <<END
#!/bin/sh
# Each host has another file system there.
mount -t tmpfs none "$T/own"
exec "$MLGEN" "\$@"
END
	chmod +x own.sh
	cat >host.sh <<END
#!/bin/sh
exec unshare -m "$T/own.sh" "\$@"
END
	chmod +x host.sh
	unshare -m true 2>/dev/null || { skip "$1: directories" "no mounts here"; return; }
	mlgen=$MLGEN MLGEN=$T/host.sh
	launch "$1" 2 j.job --directory="$T/own/data"
	is "$1: a directory that each host has for itself is refused" $? 2
	like "$1: with the host and the way out" "$(cat said)" \
		'own/data: is not the same directory as on h1; .* shared=0'
	launch "$1" 2 j.job --directory="$T/own/data" --shared=0 --quiet
	is "$1: with shared=0 each has a dataset of its own" $? 0
	is "$1: which each makes whole" "$(grep -c 'writing 120 raw files' said)" 2
	launch "$1" 2 j.job --directory="$T/own/data" --shared=0 --checkpoint_every=1epoch --checkpoint_size=1m
	is "$1: but checkpoints are those of all" $? 2
	like "$1: with the way out" "$(cat said)" 'own/data/checkpoints: is not .* all hosts share as checkpoint_directory='
	MLGEN=$mlgen
}
each_mpi apart

done_testing
