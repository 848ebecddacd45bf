#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 42-damage.sh - files that are cut, lost or changed during a run end it in one clear line.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

job="--name=x --directory=data --format=raw --num_files=60 --sample_size=2k
	--read_threads=2 --shuffle=none --json=run.json"

# shellcheck disable=SC2086 # several options
"$MLGEN" $job --phase=prepare >out 2>&1

# damaged TITLE REGEX COMMAND...: while a run is in its epochs.
damaged()
{
	title=$1 regex=$2
	shift 2
	rm -f run.json log.csv
	# shellcheck disable=SC2086
	background "$MLGEN" $job --epochs=1000000 --compute_time=1ms \
		--log=log.csv --log_interval=10ms
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
	"$@"
	finish
	is "$title: the run fails" "$status" 1
	like "$title: naming file, fault and place" "$(cat err)" "$regex"
	is "$title: in one line" "$(wc -l <err)" 1
	like "$title: what ran before is reported" "$(sed -n 1,2p out | paste -sd' ' - | tr -s ' ')" \
		'/s.* \(stopped by an error( after [0-9,]+ steps)?\)'
	is_json "$title: as JSON too" run.json
	like "$title: with the error" "$(json run.json jobs.0.error_text)" \
		"^data/train/img_40_of_60.raw: "
	ok "$title: and whole samples" test \
		"$(ml run.json sample_bytes)" -eq $(($(ml run.json samples) * 2048))
	# shellcheck disable=SC2086
	"$MLGEN" $job --phase=prepare >out 2>&1
	is "$title: --phase=prepare mends it" \
		"$(json run.json jobs.0.prepare.files_written)" 1
}

file=data/train/img_40_of_60.raw
where='\(epoch [0-9]+, step [0-9]+, accelerator 1\)'
damaged "a file that is cut short" \
	"^mlgen: $file: the file ends at 100 of 2048 bytes; it was truncated or replaced $where; --phase=prepare writes it again\. The report covers what ran before\$" \
	truncate -s 100 $file
damaged "an empty one" \
	"^mlgen: $file: the file ends at 0 of 2048 bytes; " \
	truncate -s 0 $file
damaged "a file that is gone" \
	"^mlgen: $file: open: No such file or directory $where; the dataset was complete: --phase=prepare writes what is missing\. The report covers what ran before\$" \
	rm $file
echo other >other
damaged "one replaced by a shorter one" \
	"^mlgen: $file: the file ends at 6 of 2048 bytes; " \
	mv other $file
replace_by_folder()
{
	rm $file
	mkdir $file
}
rm -f run.json log.csv
# shellcheck disable=SC2086
background "$MLGEN" $job --epochs=1000000 --compute_time=1ms --log=log.csv \
	--log_interval=10ms
poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
replace_by_folder
finish
is "one replaced by a folder: the run fails" "$status" 1
like "one replaced by a folder: is told" "$(cat err)" "^mlgen: $file: .*irectory"
rmdir $file

# ---- an error of one of several accelerators ends all of them
rm -f run.json
# shellcheck disable=SC2086
"$MLGEN" $job --phase=prepare --quiet >out 2>&1
# shellcheck disable=SC2086
exits "an error of one accelerator ends all" 1 "$MLGEN" $job --accelerators=3 \
	--epochs=1000000 --ioengine=fault --fail_after=100
like "and is named after it" "$(cat err)" \
	"^mlgen: data/train/img_.*: Input/output error \(epoch 1, step [0-9]+, accelerator [123]\)"
for barrier in epoch none; do
	# shellcheck disable=SC2086
	exits "barrier=$barrier: too" 1 "$MLGEN" $job --accelerators=3 \
		--epochs=1000000 --barrier=$barrier --loader=plain \
		--ioengine=fault --fail_after=100
done

rm $file

# ---- continue_on_error
# counted TITLE ERRORS OPTION...: two epochs with the file gone, which is allowed.
counted()
{
	title=$1 errors=$2
	shift 2
	rm -f run.json
	# shellcheck disable=SC2086
	exits "$title: the run goes on" 0 "$MLGEN" $job --epochs=2 \
		--max_errors="$errors" "$@"
	is "$title: errors are counted, and are no samples" \
		"$(ml run.json errors samples failed_samples epochs.0.failed_samples)" \
		"$errors $((120 - errors)) $errors $((errors / 2))"
	is "$title: their bytes are not" "$(ml run.json sample_bytes)" \
		$(((120 - errors) * 2048))
	like "$title: the report tells" "$(tr -s ' \n' ' ' <out)" \
		"$errors errors counted, the run went on"
}
counted "continue_on_error=all" 2 --continue_on_error=all
counted "continue_on_error=1, as fio has it" 2 --continue_on_error=1
# shellcheck disable=SC2086
"$MLGEN" $job --phase=prepare >out 2>&1
truncate -s 100 $file
counted "continue_on_error=read" 2 --continue_on_error=read
counted "continue_on_error=io" 2 --continue_on_error=io
# shellcheck disable=SC2086
"$MLGEN" $job --phase=prepare --quiet >out 2>&1
for kind in write none; do
	# shellcheck disable=SC2086
	exits "continue_on_error=$kind: a read ends the run" 1 "$MLGEN" $job \
		--continue_on_error=$kind --ioengine=fault --fail_after=100
done

# ---- a file without permission
chmod 755 "$T"
chmod -R a+rX data
chmod 000 $file
if as_nobody test -r data/mlgen-dataset.json -a ! -r $file &&
	as_nobody "$MLGEN" --version >out 2>&1; then
	exits "a file that may not be read stops the run" 2 as_nobody "$MLGEN" \
		--name=x --directory=data --format=raw --num_files=60 \
		--sample_size=2k --quiet
	like "with the reason" "$(cat err)" "^mlgen: $file: open: Permission denied"
else
	skip "a file that may not be read stops the run" "no other user to be"
fi

done_testing
