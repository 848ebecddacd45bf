#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 90-checkpoint.sh - saving and restoring 1 GiB, direct and buffered, beside fio; DLIO's 499 MB beside torch.save.

. "$(dirname "$0")/lib/figures.sh"
. "$(dirname "$0")/lib/plain.sh"

rounds=${ROUNDS:-7}	# the first of which does not count
mib=${MIB:-512}		# of each rank
ranks=${RANKS:-2}

needs_fio

# bytes_per_sec ARM BYTES_PER_SEC DATA_PERCENT
add()
{
	echo "$2" "$3" >>"$T/arm.$1"
}

# fio's runtime is until the last flush is done.
fio_arm()
{
	arm=$1 key=$2
	shift 2
	[ "$key" = read ] || rm -rf "$T/fio"
	mkdir -p "$T/fio"
	measure "$T/.cost" fio --name=x --directory="$T/fio" --bs=1m \
		--size="${mib}m" --numjobs="$ranks" --group_reporting --thread \
		--output-format=json --output="$T/.fio" "$@"
	sed -n '/^{/,$ { s/" : /": /; p; }' "$T/.fio" >"$T/.fio.json"
	add "$arm" "$(calc "$(json "$T/.fio.json" "jobs.0.$key.io_bytes") * \
		1000 / $(json "$T/.fio.json" "jobs.0.$key.runtime")")" 0
}

state="--directory=$T/mlgen --checkpoint_layout=stream --access=plain --bs=1m
	--ranks=$ranks --checkpoint_size=${mib}m"

# shellcheck disable=SC2086 # options are words
save_arm()
{
	rm -rf "$T/mlgen"
	measure "$T/.cost" "$MLGEN" --name=x --phase=checkpoint $state \
		--json="$T/.json" --quiet "$@"
	add mlgen "$(json "$T/.json" jobs.0.ml.saves.bytes_per_sec)" \
		"$(json "$T/.json" jobs.0.ml.saves.rank_percent.data)"
}

# shellcheck disable=SC2086
restore_arm()
{
	measure "$T/.cost" "$MLGEN" --name=x --phase=restore $state \
		--json="$T/.json" --quiet "$@"
	add mlgen "$(json "$T/.json" jobs.0.ml.restores.bytes_per_sec)" 0
}

save_round()
{
	fio_arm before write --rw=write --end_fsync=1 "$@"
	save_arm "$@"
	fio_arm after write --rw=write --end_fsync=1 "$@"
}

restore_round()
{
	fio_arm before read --rw=read "$@"
	restore_arm "$@"
	fio_arm after read --rw=read "$@"
}

# compare NAME COMMAND...
compare()
{
	name=$1
	shift
	rm -f "$T"/arm.*
	rounds "$rounds" "$@"
	figure "$name, fio: MB/s, before" "$(calc "$(of before 1) / 1e6")"
	figure "$name, fio: MB/s, after" "$(calc "$(of after 1) / 1e6")"
	figure "$name, mlgen: MB/s" "$(calc "$(of mlgen 1) / 1e6")"
	at_least "$name: mlgen / fio" \
		"$(calc "$(of mlgen 1) / $(of before after 1)")" 0.95
}

fast="--direct=1 --ioengine=io_uring --iodepth=8"
# shellcheck disable=SC2086
compare "$ranks ranks, direct, iodepth 8: save" save_round $fast
at_most "  data, percent of the ranks' time" "$(of mlgen 2)" "5 %"
# shellcheck disable=SC2086
compare "$ranks ranks, direct, iodepth 8: restore" restore_round $fast
compare "$ranks ranks, buffered and flushed: save" save_round --ioengine=psync
at_most "  data, percent of the ranks' time" "$(of mlgen 2)" "5 %"
compare "$ranks ranks, buffered: restore" restore_round --ioengine=psync

# ---- one file of 499,153,191 bytes, as DLIO's U-Net writes it, not flushed
bytes=499153191
cat >"$T/save.py" <<'END'
import sys, time, torch
state = {'a': torch.randint(-128, 127, (int(sys.argv[1]),), dtype=torch.int8)}
begin = time.time()
with open(sys.argv[2], 'wb') as f:
    torch.save(state, f)
print(time.time() - begin)
END
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || python=

memory()
{
	tail -n 1 "$T/.cost" | column 3 -
}

dlio_round()
{
	rm -rf "$T/mlgen" "$T/fio" "$T/state.pt"
	[ -z "$python" ] || {
		measure "$T/.cost" "$python" "$T/save.py" $bytes "$T/state.pt"
		add torch "$(cat "$T/.out")" "$(memory)"
	}
	rm -f "$T/state.pt"
	measure "$T/.cost" "$MLGEN" --name=x --phase=checkpoint \
		--directory="$T/mlgen" --checkpoint_layout=deepspeed --ranks=1 \
		--access=framework --checkpoint_size=$bytes \
		--checkpoint_fsync=none --json="$T/.json" --quiet
	add dlio "$(json "$T/.json" jobs.0.ml.checkpoints.0.seconds)" \
		"$(memory)"
}

rm -f "$T"/arm.* "$T"/.cost
rounds "$rounds" dlio_round
if [ -n "$python" ]; then
	figure "torch.save of 499 MB, seconds" "$(of torch 1)"
	figure "torch.save of 499 MB, memory, MiB" "$(of torch 2)"
	at_most "499 MB, not flushed: seconds" "$(of dlio 1)" \
		"$(of torch 1) s"
else
	figure "python3-torch is not here" skipped
	at_most "499 MB, not flushed: seconds (DLIO took 0.24 to 1.4)" \
		"$(of dlio 1)" "1.4 s"
fi
at_most "499 MB: memory" "$(of dlio 2)" "64 MiB"
verdict
