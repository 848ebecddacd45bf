#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 24-refusals.sh - what cannot run is told in one line, before anything is written.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# As the first lines of what a run writes there.
printf '{\n  "mlgen version": "before"\n}\n' >old.json
old_log=time,seconds,job,phase,before

# refused TITLE LINE OPTION...: status 2, exactly this line, nothing on stdout,
# no dataset, and reports of earlier runs stay.
refused()
{
	title=$1 line=$2
	shift 2
	rm -rf data
	cp old.json kept.json
	echo "$old_log" >kept.csv
	exits "$title" 2 "$MLGEN" --name=x --directory=data --num_files=24 \
		--sample_size=1k --format=raw --json=kept.json --log=kept.csv "$@"
	is "$title: says why" "$(cat err)" "$line"
	is "$title: nothing is reported" "$(cat out)" ""
	ok "$title: nothing is lost" cmp kept.json old.json
	is "$title: nor of the log" "$(cat kept.csv)" "$old_log"
	not_ok "$title: nothing is written" test -e data
}

refused "more accelerators than samples" \
	"mlgen: accelerators: 25 need at least 25 x batch_size 1 = 25 samples per step, the dataset has 24; more num_files or fewer accelerators" \
	--accelerators=25
refused "a batch larger than the dataset" \
	"mlgen: batch_size: 25 is more than the 24 samples of the dataset; more num_files or a smaller batch_size" \
	--batch_size=25
refused "time_based without runtime" \
	"mlgen: time_based: needs runtime=; set runtime=60s, or drop time_based" \
	--time_based
for zero in num_files samples_per_file sample_size batch_size accelerators \
	epochs; do
	refused "$zero=0" "mlgen: $zero: 0 is below the minimum 1" --$zero=0
done
refused "nothing is read ahead" \
	"mlgen: prefetch: 0 prefetches nothing, for which loader=pytorch has read_threads=0; with read_threads=4 use 1 or more" \
	--prefetch=0
refused "a prefetch without threads" \
	"mlgen: prefetch: 8 needs a thread that prefetches; use prefetch=0, or read_threads=1 or more" \
	--prefetch=8 --read_threads=0
refused "no threads, but with PyTorch" \
	"mlgen: read_threads: with 0 the accelerator itself reads, as in PyTorch; use loader=pytorch, or 1 or more" \
	--loader=plain --read_threads=0
refused "an invalid list of CPUs" \
	"mlgen: cpus_allowed: '0-' is not a list of CPUs; write numbers and ranges separated by commas, such as 0-3,8" \
	--cpus_allowed=0-
refused "a status line a millisecond" \
	"mlgen: status-interval: 1ms is below the minimum 10ms; 0 is never" \
	--status-interval=1ms
refused "a home that no shell replaced" \
	"mlgen: output: ~/report: only a shell expands '~', and not after '='; write \$HOME, in a job file \${HOME}, or ./~ for a name that begins with '~'" \
	--output='~/report'
refused "an address of an object store" \
	"mlgen: checkpoint_directory: s3://bucket/x: is a URL, but mlgen works on files; mount the storage (for S3: mount-s3, s3fs) and name the directory" \
	--checkpoint_every='5 steps' --checkpoint_size=1m \
	--checkpoint_directory=s3://bucket/x
if [ -r /proc/self/status ]; then
	refused "a CPU that is not there" \
		"mlgen: cpus_allowed: this process may not use CPU 1000; it may use $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" \
		--cpus_allowed=1000
else
	skip "a CPU that is not there" "/proc is not mounted"
fi

# ---- requirements
refused "a requirement without comparison" \
	"mlgen: require=au: no comparison. Quote the condition: --require='au>=90' (the shell took '>' as a redirection)" \
	--require=au
refused "a requirement of something unknown" \
	"mlgen: require=aux>=90: aux: not a figure of a run; name a metric such as au, read.iops or stall_ns.p99; man mlgen-json lists all metrics" \
	--require='aux>=90'
rm -rf data
not_ok "even when nothing is to run" "$MLGEN" --name=x --directory=data \
	--num_files=4 --dry-run --require='aux>=90'

# ---- where to write
for option in json output log; do
	rm -rf data
	exits "$option in a folder that is not there is refused" 2 "$MLGEN" \
		--name=x --directory=data --num_files=4 --sample_size=1k \
		--$option=none/file
	like "$option: with the path" "$(cat err)" \
		'^mlgen: .*none/file: .*No such file or directory$'
	is "$option: with nothing else" "$(cat out)" ""
	not_ok "$option: before anything is written" test -e data
done
mkdir folder
exits "a report cannot replace a folder" 2 "$MLGEN" --name=x --directory=data \
	--num_files=4 --sample_size=1k --json=folder
is "and says so" "$(cat err)" "mlgen: json=folder: cannot be written: Is a directory"

# ---- open files
few_files()
{
	(
		# shellcheck disable=SC3045 # every shell of Linux has it
		ulimit -n "$1" || exit 77
		shift
		exec "$MLGEN" --name=x --directory=data --num_files=24 \
			--sample_size=1k --read_threads=8 --quiet "$@"
	)
}
exits "too few open files are refused" 2 few_files 39
is "with the number that is needed" "$(cat err)" \
	"mlgen: 40 files may be open at once, but the limit is 39; lower read_threads or accelerators, or raise the limit with ulimit -n 40"
not_ok "before anything is written" test -e data
exits "which a dry run knows" 2 few_files 39 --dry-run
like "as what would stop the run" "$(cat out)" \
	'^files     40 open at once; limit 39 +FAIL$'
exits "and just enough are enough" 0 few_files 40
exits "two jobs at once take those of both" 2 few_files 40 \
	--name=y --directory=data --num_files=24 --sample_size=1k --read_threads=8
like "together" "$(cat err)" '^mlgen: 48 files may be open at once'
exits "one after the other they take those of one" 0 few_files 40 \
	--name=y --directory=data --num_files=24 --sample_size=1k \
	--read_threads=8 --stonewall
# few_files, of plain jobs.
files_of()
{
	(
		# shellcheck disable=SC3045
		ulimit -n "$1" || exit 77
		shift
		exec "$MLGEN" --directory=data --rw=read --size=1m --bs=4k \
			--filename="$(seq -s: 20 | sed s/:$//)" --quiet "$@"
	)
}
exits "plain jobs, too, close what they have opened" 0 files_of 52 --name=a \
	--name=b --stonewall --name=c --stonewall
exits "as many as there are" 2 files_of 51 --name=a --name=b --stonewall
like "of the larger group" "$(cat err)" '^mlgen: 52 files may be open at once'
rm -rf data

# ---- space
echo "$old_log" >kept.csv
exits "a dataset larger than the filesystem is refused" 2 "$MLGEN" --name=x \
	--directory=data --num_files=1000000000 --sample_size=1g --format=raw \
	--log=kept.csv
like "with what there is and a way out" "$(cat err)" \
	'^mlgen: data: 953\.7 PiB to write, [0-9.]+ .iB free, of which half may be used; --num_files=[0-9]+ would fit'
is "a log that was there stays" "$(cat kept.csv)" "$old_log"
not_ok "and nothing is written" test -e data
refused "readonly without a dataset" \
	"mlgen: readonly: 24 of the 24 files of data are missing; write them once without --readonly (--phase=prepare)" \
	--readonly

# ---- directories
# nowhere TITLE DIRECTORY REGEX [RUNNER]
nowhere()
{
	title=$1 directory=$2 regex=$3
	shift 3
	exits "$title is refused" 2 "$@" "$MLGEN" --name=x --num_files=4 \
		--sample_size=1k --directory="$directory"
	like "$title: with the directory and the reason" "$(cat err)" "$regex"
	is "$title: in one line" "$(wc -l <err)" 1
}
echo content >file
file_is='file is a regular file: name another directory, or move it away'
nowhere "a file as directory" file \
	"^mlgen: file/mlgen-dataset.json: Not a directory; $file_is\$"
nowhere "a directory below a file" file/below \
	"^mlgen: file/below: Not a directory; $file_is\$"
nowhere "even far below" file/far/below \
	"^mlgen: file/far/below: Not a directory; $file_is\$"
exits "a file as directory of a plain job is refused" 2 "$MLGEN" --name=x \
	--rw=read --size=4k --directory=file
is "and says so" "$(cat err)" "mlgen: file/x.0.0: Not a directory; $file_is"
exits "or of checkpoints" 2 "$MLGEN" --name=x --phase=checkpoint \
	--directory=file --model_layers=1 --model_hidden=64 --model_ffn=128 \
	--model_heads=4 --model_kv_heads=4 --model_vocabulary=1000
is "says so, too" "$(cat err)" "mlgen: file: Not a directory; $file_is"
is "and the file is as it was" "$(cat file)" content
if [ -d /proc/self ]; then
	nowhere "a filesystem that holds no files" /proc/mlgen '^mlgen: /proc/mlgen: '
else
	skip "a filesystem that holds no files" "/proc is not mounted"
fi
nowhere "a name that is too long" "$(printf '%0300d' 0)" \
	'^mlgen: 0+.*: File name too long'

# A tree that is not there may be one of a filesystem that is not mounted.
last='is missing, and mlgen creates only the last folder of an absolute path; mount the filesystem that belongs there, or create the folder'
nowhere "a directory without the one above it" "$T/array/data" \
	"^mlgen: directory: $T/array/data of job 'x': $T/array $last\$"
nowhere "even several levels above" "$T/array/a/b/c" \
	"^mlgen: directory: $T/array/a/b/c of job 'x': $T/array $last\$"
cat >tree.job <<END
[plain]
rw=write
size=4k
filename=$T/array/data/file

[found]
rw=read
size=4k
directory=$T/array

[save]
phase=checkpoint
checkpoint_size=1k
directory=$T/array/data

[train]
num_files=4
sample_size=1k
checkpoint_every=1 epoch
checkpoint_size=1k
checkpoint_directory=$T/array/data

[tier]
num_files=4
sample_size=1k
cache=lru
cache_size=50%
cache_directory=$T/array/data
END
in_tree()
{
	exits "$1: a tree that is not there is refused" 2 "$MLGEN" tree.job \
		--section="$1"
	like "$1: naming the job and the line" "$(cat err)" \
		"^mlgen: tree.job:$2: $3: $T/array.* of job '$1': "
	exits "$1: a dry run knows" 2 "$MLGEN" tree.job --section="$1" --dry-run
	like "$1: and says the same" "$(tr -s ' \n' ' ' <out)" \
		"FAIL .*tree.job:$2: $3: "
}
in_tree plain 4 filename
in_tree found 9 directory
in_tree save 14 directory
in_tree train 21 checkpoint_directory
in_tree tier 28 cache_directory
not_ok "none of it is made" test -e array
exits "the last folder of an absolute path is made" 0 "$MLGEN" --name=x \
	--num_files=4 --sample_size=1k --directory="$T/one" \
	--checkpoint_every='1 epoch' --checkpoint_size=1k
ok "with what lies in it" test -d one/checkpoints
exits "a plain job makes what lies below its directory" 0 "$MLGEN" --name=x \
	--rw=write --size=4k --directory="$T/one" --filename=a/b/c
exits "a relative path is made whole" 0 "$MLGEN" --name=x --num_files=4 \
	--sample_size=1k --directory=two/three/four
rm -rf one two

# awaited COMMAND...: fstab has a filesystem for $T/array and what leads there.
awaited()
{
	# shellcheck disable=SC2016 # for the shell in there
	unshare -m sh -c 'mount --bind "$0" /etc/fstab || exit 77
		exec "$@"' "$T/fstab" "$@"
}
mkdir array
printf '# nothing\nnone /proc proc defaults 0 0\n/dev/none %s/ xfs noauto 0 0\n' \
	"$T/array" >fstab
if awaited true 2>/dev/null; then
	unmounted="nothing is mounted on $T/array, although fstab has a filesystem for it; mount it, or name another directory"
	nowhere "where a filesystem is not mounted" "$T/array" \
		"^mlgen: directory: $T/array of job 'x': $unmounted\$" awaited
	nowhere "or a folder of it" array/data \
		"^mlgen: directory: array/data of job 'x': $unmounted\$" awaited
	exits "a plain job is refused there, too" 2 awaited "$MLGEN" --name=x \
		--rw=write --size=4k --directory=array
	is "for the same reason" "$(cat err)" \
		"mlgen: directory: array of job 'x': $unmounted"
	is "nothing is written there" "$(ls array)" ""
	mkdir array/data
	exits "what holds something is no such directory" 0 awaited "$MLGEN" \
		--name=x --num_files=4 --sample_size=1k --directory=array/data
else
	skip "where a filesystem is not mounted nothing is made" \
		"may not put another fstab in its place"
fi
rm -rf array

mkdir private
chmod 755 "$T"
chmod 555 private
if as_nobody test ! -w private && as_nobody "$MLGEN" --version >out 2>&1; then
	nowhere "a directory without permission" "$T/private" \
		"^mlgen: $T/private: .*Permission denied" as_nobody
	nowhere "or one to be made there" "$T/private/new" \
		"^mlgen: $T/private/new: .*Permission denied" as_nobody
else
	skip "a directory without permission is refused" "no other user to be"
fi

# ---- read-only filesystems: a mount in a namespace of its own, as root
read_only()
{
	unshare -m sh -c 'mount -t tmpfs -o ro none "$1" || exit 77
		shift; exec "$@"' sh "$T/ro" "$@"
}
mkdir ro
if read_only true 2>/dev/null; then
	nowhere "a read-only filesystem" "$T/ro" \
		"^mlgen: $T/ro: .*Read-only file system" read_only
	nowhere "or a directory to be made there" "$T/ro/new" \
		"^mlgen: $T/ro/new: .*Read-only file system" read_only
	exits "which a dry run knows" 2 read_only "$MLGEN" --name=x \
		--num_files=4 --directory="$T/ro/new" --dry-run
	like "as what would stop the run" "$(tr -s ' \n' ' ' <out)" \
		'FAIL .*Read-only file system'
else
	skip "a read-only filesystem is refused" "may not mount one"
fi

done_testing
