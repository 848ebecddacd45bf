#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 189-fresh-memory.sh - reads into memory that is new each time, as those of Python are, and how a trace shows them.
# On disk: reads from tmpfs make pages of their own.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# ---- pages come into use with each read
fresh="--name=x --directory=$T/fresh --format=raw --num_files=32
	--sample_size=256k --batch_size=4 --read_threads=1"
# shellcheck disable=SC2086
"$MLGEN" $fresh --phase=prepare >out 2>&1

# faults OPTION...: minor ones of a run that reads 8 MiB
faults()
{
	rm -f run.json
	# shellcheck disable=SC2086
	if "$MLGEN" $fresh --json=run.json "$@" >out 2>err; then
		json run.json jobs.0.minf
	else
		echo "status $?"
	fi
}

# Pages of all samples; huge ones, which a host may make, are none.
pages=$((32 * 256 / 4))
for how in --ioengine=psync --ioengine=libaio --ioengine=io_uring \
	--hold_samples=1 --prefetch=2; do
	some=$(faults $how)
	case $some in
	status*)
		skip "a read makes its pages: $how" "$(cat err)"
		continue
		;;
	esac
	all=$(faults $how --fresh_memory=256k)
	ok "a read makes its pages: $how" [ "$all" -ge $((some + pages * 6 / 10)) ]
	none=$(faults $how --fresh_memory=257k)
	ok "a smaller one does not" [ "$none" -lt $((some + pages / 2)) ]
done
if [ "$(faults --ioengine=io_uring --fixedbufs=1 --fresh_memory=64k)" -gt $((pages / 2)) ]; then
	like "buffers are not registered then, and that is told" "$(cat err out)" \
		'fixedbufs: not registered, because each read uses new memory \(fresh_memory\)'
else
	skip "buffers are not registered then" "$(cat err)"
fi
# shellcheck disable=SC2086
exits "huge pages are never new" 2 "$MLGEN" $fresh --fresh_memory=1m --mem=hugepage
like "which is told" "$(cat err)" 'fresh_memory: huge pages are reserved in advance.*use mem=malloc, or fresh_memory=0'
# shellcheck disable=SC2086
"$MLGEN" $fresh --fresh_memory=1m --ioengine=null --steps=2 >out 2>err
like "an engine that moves nothing makes no pages" "$(cat err)" \
	'note: (fresh_memory: )?ioengine=null moves no bytes, so that no memory'
rm -rf fresh

# ---- as Python has it: glibc's threshold moves, and NumPy's arrays ask for huge pages
# shellcheck disable=SC2086
many=$(faults --fresh_memory=100k) few=$(faults --fresh_memory=128k)
ok "what was mapped once comes from the heap then, as malloc's threshold moves" \
	[ "$few" -lt $((many - pages / 2)) ]
rm -rf fresh

# A NumPy loader has 513 to 515 minor faults for each array of 8 MiB: three huge pages
# and what lies before and behind them. Where huge pages are off it has 2,050.
fresh="--name=x --directory=$T/arrays --format=npz --num_files=4 --epochs=12
	--sample_size=8m --batch_size=2 --read_threads=1 --hold_samples=1"
# shellcheck disable=SC2086
"$MLGEN" $fresh --phase=prepare >out 2>&1
if grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
	skip "arrays" "the kernel makes no huge pages"
else
	for how in --access=plain --access=framework; do
		none=$(faults $how --fresh_memory=1g)
		some=$(faults $how --fresh_memory=128k)
		ok "an array is new each time, in huge pages: $how, $none, $some" \
			[ "$some" -gt $((none + 16 * 400)) ] && [ "$some" -lt $((none + 48 * 700)) ]
	done
fi
# shellcheck disable=SC2086
"$MLGEN" $fresh --hold_samples=0 --fresh_memory=128k >out 2>err
like "arrays that are not held are none, which is told" "$(cat err)" \
	'arrays of NumPy, which are new each time, exist only with hold_samples=1'
rm -rf arrays


# ---- as a trace has it
maketrace=$BUILT/build/t/tools/maketrace
[ -x "$maketrace" ] || { skip "traces" "build/t/tools/maketrace is not built"; done_testing; exit 0; }

# found LARGE SMALL: fresh_memory= of a trace, where a read of 200000 bytes, one of
# 100000 and one of 4096 take so many ns of CPU, the last one 9000
found()
{
	awk -v large="$1" -v small="$2" 'function call(op, off, bytes, cpu, waits) {
		at += waits
		print op, at, cpu == "?" ? 5000 : cpu, 10, 11, f, off, bytes, bytes, cpu == "?" ? "?" : cpu + waits
		at += cpu == "?" ? 5000 : cpu
	}
	BEGIN { at = 1000000
		for (e = 0; e < 3; e++) for (i = 0; i < 48; i++) {
			f = "/data/set/s_" i ".bin"
			at += i % 4 ? 0 : 10000000
			call("open", 0, 0, 20000, 100000)
			call("read", 0, 4096, large == "?" ? "?" : 9000, 1000)
			call("read", 4096, 200000, large, 150000)
			call("read", 204096, 100000, small, 2000)
			call("close", 0, 0, large == "?" ? "?" : 1000, 100000)
		} }' | "$maketrace" new.mlt
	"$MLTRACE" distil new.mlt >out 2>err || echo "status $?"
	sed -n 's/^fresh_memory=//p' out
}

is "reads that take longer than copying are into new memory" \
	"$(found 400000 10000)" 200000
like "which is told" "$(tr -d '\n#' <out)" \
	'likely: reads of at least this size use 2.0 ns of CPU per *byte'
is "so are smaller ones" "$(found 400000 150000)" 100000
is "what only copies is not" "$(found 40000 10000)" ""
is "nor where smaller reads alone are slow" "$(found 20000 150000)" ""
is "nor where CPU is not known" "$(found "?" "?")" ""
done_testing
