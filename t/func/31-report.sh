#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 31-report.sh - the text report: one screen, the answer first, figures that agree.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

train()
{
	rm -f run.json
	"$MLGEN" --name=x --directory="$T/data" --format=npz --num_files=64 \
		--sample_size=4k --accelerators=2 --batch_size=2 --epochs=4 \
		--compute_time=3ms --json=run.json "$@"
}

# fits TITLE FILE: but for what is said of a host with others on it.
fits()
{
	ok "$1: at most 52 lines" test "$(awk '/^[^ ]/ { noise = /^noise / }
		!noise' "$2" | wc -l)" -le 52
	ok "$1: at most 80 columns" awk 'length > 80 { exit 1 }' "$2"
	not_ok "$1: plain ASCII" env LC_ALL=C grep -q '[^ -~]' "$2"
	not_ok "$1: no blanks at an end" grep -q ' $' "$2"
}

exits "a run prints its report" 0 train
cp out report
fits "the report" report
# On a noisy host lines about that take the room of epochs.
if grep -q '^noise ' report; then
	rows="1 .* all" of_rows="samples 64 .*256"
else
	rows="1 2 3 4 all" of_rows="samples 64 64 64 64 256"
fi
like "the first line has the answer" "$(head -n 1 report)" \
	'^x: [0-9.]+% (AU|busy [(][0-9.]+% AU[^)]*[)]), [0-9.]+ .iB/s(, [0-9.]+ samples/s|$)'
like "then the verdict" "$(sed -n 3p report)" \
	'^  [A-Z-]+( [A-Z]+)*   .'
like "what decided it" "$(cat report)" '^  because         .'
like "the job" "$(tr -s '\n ' ' ' <report)" \
	' job 2 accelerators, batch 2, compute 3 ms per step, barrier after every step '
like "the readers" "$(tr -s '\n ' ' ' <report)" \
	' threads 8 read threads \(4 per accelerator\), ioengine=psync, direct=0, iodepth=1, 1 MiB reads '
like "the dataset" "$(cat report)" '^dataset   64 npz files of '
like "the storage" "$(cat report)" '^storage   .+'
like "and the host" "$(tr -s '\n ' ' ' <report)" \
	" host [^ ]+, .*$(nproc) CPUs? .*Linux $(uname -r), mlgen "
like "each epoch has a line, and all of them" \
	"$(sed -n '/^epoch /,/^$/p' report | awk 'NF { print $1 }' | paste -sd' ' -)" \
	"^epoch $rows\$"
like "with its samples" \
	"$(sed -n '/^epoch /,/^$/p' report | awk 'NF { print $3 }' | paste -sd' ' -)" \
	"^$of_rows\$"
is "each operation has a line with its count" \
	"$(sed -n '/^latency/,/^$/p' report |
		awk '$2 ~ /^[0-9]/ { print $1, $2 }' | paste -sd' ' -)" \
	"open 256 read 256 close 256 sample 256 stall 120 step 120"
is "a percentile with few values beyond it is left out" \
	"$(awk '$1 == "stall" && $2 == 120 { print $6, $7 }' report)" "- -"

# sums LABEL: what the line's percentages are together, and what it says.
sums()
{
	awk -v label="$1" 'index($0, label) == 1 { on = 1 } on
		/= 100%/ { on = 0 }' report | sed "s/^$1//" |
		tr -s '\n %' ' ' | sed 's/^ //' |
		awk '{ for (i = 2; i <= NF && $(i - 1) != "="; i += 2) sum += $i
			printf "%.1f%% %s\n", sum, $NF }'
}
is "accelerator time is all accounted for" "$(sums 'accelerator time')" \
	"100.0% 100"
is "and so is the time of read threads" "$(sums 'read thread time')" "100.0% 100"
like "what came from memory is said" "$(cat report)" '^from memory        .'
like "and that all went well" "$(sed -n '/^steady/,$p' report)" 'no errors'

# ---- the same figures in JSON
is_json "the JSON report parses" run.json
# Four digits of it.
text=$(awk '$1 == "all" && !seen++ { print $4 }' report)
ok "the text has the JSON's samples/s" awk -v text="$text" \
	-v json="$(ml run.json samples_per_sec)" \
	'BEGIN { exit !(text > json * 0.999 && text < json * 1.001) }'
is "and AU" "$(sed -n '1s/.*[ (]\([0-9.]*\)% AU.*/\1/p' report)" \
	"$(ml run.json au_percent | awk '{ printf "%.1f", $1 }')"
like "and verdict" "$(sed -n 3p report | tr 'A-Z' 'a-z')" \
	"$(ml run.json verdict.name)|$(ml run.json verdict.headline)"

# ---- the first line
exits "--quiet prints the first line only" 0 train --quiet
is "and no more" "$(wc -l <out)" 1
is "nowhere" "$(cat err)" ""
train --quiet --ioengine=null --compute_time=2ms --target_au=1 >out
like "a target that was met is called so" "$(cat out)" \
	'^x: [0-9.]+% AU \(target 1%: met'
is "in JSON too" "$(ml run.json target_met target_au_percent)" "true 1.0"
exits "a target that was missed changes no status" 0 \
	train --quiet --ioengine=null --compute_time=10us --target_au=100
like "but is called so" "$(cat out)" '^x: [0-9.]+% AU \(target 100%: missed'
train --quiet --steps=20 >out
like "few steps make AU too short" "$(cat out)" '% AU \(too short'
is "and JSON" "$(ml run.json too_short counted_steps)" "true 36"
train --quiet --compute_time=0 >out
unlike "without compute_time there is no AU" "$(cat out)" 'AU'
is "and null in JSON" \
	"$(ml run.json au_percent demand_bytes_per_sec)" "null null"

# ---- requirements
exits "a requirement that is met changes nothing" 0 \
	train --quiet --require='samples=256,steps>=64,au>0'
exits "one that is missed is status 3" 3 train --quiet --require='samples>256'
like "with the figure" "$(cat err)" \
	'^mlgen: x: samples is 256(\.0)?, required >256$'
is "after the report" "$(wc -l <out)" 1
is_json "and beside a JSON document" run.json
exits "one of several is enough" 3 train --quiet --require='steps=64,au<=0.01'
like "which is named" "$(cat err)" '^mlgen: x: au is [0-9.]+, required <=0\.01$'
exits "an epoch has figures of its own" 3 train --quiet \
	--require='epochs.0.samples>0 and epochs.0.seconds<=0'
like "named by the same path as in the document" "$(cat err)" \
	'^mlgen: x: epochs\.0\.seconds is [0-9.]+, required <=0$'
exits "what cannot be known is not met" 3 \
	train --quiet --compute_time=0 --require='au>=0'

# ---- tables
train --percentile_list=25:75 >out
like "percentile_list names the columns" "$(cat out)" \
	'^latency, ms +count +mean +p25 +p75 +max$'
is "and the keys in JSON" \
	"$(sed -n '/"sample_ns"/,/}/s/^ *"\([0-9.]*\)": .*/\1/p' run.json |
		paste -sd' ' -)" "25.000000 75.000000"
train --accelerators=1 --accelerator=gizmo >out
like "an accelerator is called by its name" "$(cat out)" '^job       one gizmo, |^job       1 x gizmo, '
train --ioengine=null >out
like "ioengine=null is no storage" "$(cat out)" \
	'^storage   none: ioengine=null touches no file$'
fits "its report" out
train --loader=plain --barrier=none --shuffle=file --invalidate=epoch \
	--target_au=90 >out
fits "the report of other options" out
like "which are named" "$(cat out)" 'no barrier'
"$MLGEN" --name=y --phase=prepare --directory="$T/data" --format=npz \
	--num_files=64 --sample_size=4k >out 2>err
is "preparing a complete dataset says so" "$(head -n 1 out)" \
	"y: nothing written, 64 files exist"

# ---- what the files lie on, before the first byte
# named COMMAND...: the lines that name it, and the number of the first one.
named()
{
	"$@" >out 2>err </dev/null
	grep -nE '^[^:]*: (files|checkpoints) on ' err | sed 's/ on .*/ on/'
}
rm -rf data
is "it is named before the first byte is written" "$(named train --quiet)" \
	"1:x: files on"
like "with where it is mounted" "$(head -n 1 err)" ' at /'
is "and once, though a search runs the job several times" \
	"$(named "$MLGEN" --name=x --directory="$T/data" --format=npz \
		--num_files=4 --sample_size=4k --compute_time=1ms --epochs=2 \
		--find-max=accelerators --require='au>=1' --quiet)" "1:x: files on"
is "jobs whose files lie on the same one name it once" \
	"$(named "$MLGEN" --directory="$T" --quiet --name=a --rw=read --size=4k \
		--name=b --rw=write --size=4k --name=c --phase=checkpoint \
		--checkpoint_size=4k --directory="$T/ckpt")" "1:a: files on"
is "a job that touches no file names none" \
	"$(named train --ioengine=null --quiet)" ""
is "nor does a dry run" "$(named train --dry-run)" ""

done_testing
