#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 46-no-files.sh - fifos, sockets, devices and folders in place of files are named, and nothing waits for them.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

set -- --name=x --directory=data --format=raw --num_files=40 \
	--sample_size=4k --batch_size=4 --json=run.json --quiet

# An engine of each kind; what cannot run here is left out.
engines=
for engine in psync io_uring libaio mmap fault; do
	if "$MLGEN" "$@" --ioengine=$engine --epochs=1 >out 2>&1; then
		engines="$engines $engine"
	else
		note "ioengine=$engine: $(head -n 1 out)"
	fi
done

# A socket in the file system, as bash and python3 cannot be relied on.
make_socket()
{
	command -v python3 >/dev/null || return 1
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"
}

# make KIND PATH
make()
{
	case $1 in
	fifo)		mkfifo "$2" ;;
	directory)	mkdir -p folder && ln -s "$T/folder" "$2" ;;
	socket)		make_socket "$2" ;;
	character*)	ln -s /dev/zero "$2" ;;
	esac 2>/dev/null
}

# put KIND FILE: in its place, with nothing missing in between.
put()
{
	make "$1" other && mv -T other "$2"
}

# exits_soon TITLE STATUS COMMAND...: nothing hangs.
exits_soon()
{
	title=$1 wanted=$2
	shift 2
	exits "$title" "$wanted" timeout -s KILL 60 "$@"
}

file=data/train/img_23_of_40.raw

# ---- under a training that has begun
# replaced TITLE KIND OPTION...: the file, while it is read again and again.
replaced()
{
	title=$1 kind=$2
	shift 2
	rm -f run.json log.csv
	background timeout -s KILL 60 "$MLGEN" --name=x --directory=data \
		--format=raw --num_files=40 --sample_size=4k --batch_size=4 \
		--epochs=1000000 --compute_time=1ms --log=log.csv \
		--log_interval=10ms --quiet "$@"
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
	put "$kind" $file
	finish
	is "$title: $kind: the run fails" "$status" 1
	like "$title: $kind: ... and names it" "$(cat err)" \
		"^mlgen: $file: is a $kind, not a regular file \(epoch [0-9]+, step [0-9]+, accelerator 1\); remove it, and --phase=prepare writes the file"
	rm -r $file
	"$MLGEN" --name=x --directory=data --format=raw --num_files=40 \
		--sample_size=4k --phase=prepare --quiet >out 2>&1
}

for engine in $engines; do
	replaced "$engine" fifo --ioengine="$engine"
	replaced "$engine" directory --ioengine="$engine"
done
for engine in psync io_uring; do
	case $engines in
	*$engine*)	replaced "$engine, plain" fifo --ioengine=$engine \
				--access=plain --iodepth=4 --loader=plain ;;
	esac
done
# An end of the fifo that somebody else holds for two seconds, and no longer.
held()
{
	mkfifo fifo
	background timeout -s KILL 60 "$MLGEN" --name=x --directory=data \
		--format=raw --num_files=40 --sample_size=4k --batch_size=4 \
		--epochs=1000000 --compute_time=1ms --log=log.csv \
		--log_interval=10ms --quiet --ioengine="$1"
	poll grep -qsE ',train,([2-9]|[1-9][0-9])' log.csv
	sh -c 'exec 3<>fifo; poll=200
		until grep -qs "mlgen waits" err || [ -d over ] ||
			[ $poll -eq 0 ]; do
			poll=$((poll - 1)); sleep 0.05
		done' &
	writer=$!
	poll ls "/proc/$writer/fd/3" >/dev/null 2>&1
	mv -T fifo $file
}
for engine in psync io_uring; do
	case $engines in
	*$engine*) ;;
	*)	continue ;;
	esac
	rm -rf log.csv over
	held $engine
	# The writer lets go once the warning is there, or the run is over.
	finish
	mkdir over
	wait $writer
	is "$engine: a fifo with a writer ends the run, too" "$status" 1
	like "$engine: ... named" "$(cat err)" "^mlgen: $file: is a fifo, not a"
	[ $engine = psync ] ||
		like "$engine: ... before that it is told" "$(cat err)" \
			"^mlgen: warning: $file: is a fifo, .*mlgen waits"
	rm $file
	"$MLGEN" "$@" --phase=prepare >out 2>&1
done
if make socket s; then
	rm s
	replaced psync socket
else
	skip "psync: socket: the run fails" "no python3"
fi

# ---- before one begins
# before KIND NUMBER JOB...: in the place of a file, or of the first one.
before()
{
	kind=$1 number=$2 file=data/train/img_$2_of_40.raw
	seen="^mlgen: $file: is a $kind, not a regular file; remove it, and --phase=prepare writes the file\$"
	shift 2
	put "$kind" "$file"
	exits_soon "prepare refuses a $kind, file $number" 2 "$MLGEN" "$@" \
		--phase=prepare
	like "... by name" "$(cat err)" "$seen"
	for engine in $engines; do
		# Of other than the first file a fifo is seen, and a socket.
		[ "$kind" = fifo ] || [ "$number" = 00 ] || continue
		exits_soon "$engine: a training sees a $kind, file $number" 2 \
			"$MLGEN" "$@" --ioengine="$engine"
		like "... by name" "$(cat err)" "$seen"
	done
	rm -r "$file"
	"$MLGEN" "$@" --phase=prepare >out 2>&1
}

for kind in fifo directory "character device"; do
	before "$kind" 00 "$@"
	before "$kind" 23 "$@"
done
mkdir data/train/real
rm data/train/img_00_of_40.raw
mv data/train/real data/train/img_00_of_40.raw
exits "prepare refuses a folder of the size of a file" 2 "$MLGEN" "$@" \
	--phase=prepare
rmdir data/train/img_00_of_40.raw
"$MLGEN" "$@" --phase=prepare >out 2>&1

# ---- of a scan
cp -r data/train found
exits "a scan" 0 "$MLGEN" --name=s --directory=found --dataset=scan \
	--format=raw --quiet
mkfifo found/fifo
exits_soon "refuses a fifo" 2 "$MLGEN" --name=s --directory=found \
	--dataset=scan --format=raw --quiet --direct=1
like "... by name" "$(cat err)" 'found/fifo: a socket, pipe or device'

# ---- manifests
cp data/mlgen-dataset.json manifest
for kind in fifo directory socket "character device"; do
	rm -rf data/mlgen-dataset.json
	if ! make "$kind" data/mlgen-dataset.json; then
		skip "a $kind as manifest is refused" "no python3"
		continue
	fi
	exits_soon "a $kind as manifest is refused" 2 "$MLGEN" "$@"
	like "... by name" "$(cat err)" \
		"^mlgen: data/mlgen-dataset.json: is a $kind, not a regular file; use another directory"
	exits_soon "... with --replace" 2 "$MLGEN" "$@" --phase=prepare --replace
	exits_soon "a dry run ends" 2 "$MLGEN" "$@" --dry-run
	like "... and says so" "$(tr -s ' \n' ' ' <out)" "is a $kind, not a regular file"
done
rm -rf data/mlgen-dataset.json
cp manifest data/mlgen-dataset.json

# ---- checkpoints
ckpt="--name=c --ranks=1 --checkpoint_size=64k --checkpoints=1 --quiet"
for access in framework plain; do
	save="$ckpt --directory=ck/$access --access=$access"
	# shellcheck disable=SC2086 # several options
	"$MLGEN" $save --phase=checkpoint >out 2>&1
	shard=$(echo ck/$access/global_epoch1_step1/*.pt)
	mv "$shard" whole
	for kind in fifo directory "character device"; do
		put "$kind" "$shard"
		# shellcheck disable=SC2086
		exits_soon "access=$access: a $kind is not restored" 2 \
			"$MLGEN" $save --phase=restore
		like "... and it is named" "$(cat err)" \
			"^mlgen: $shard: is a $kind, not a regular file"
	done
	mv whole "$shard"
done
# Of several files the first alone is looked at before: the second is read.
for access in framework plain; do
	save="--name=c --ranks=2 --checkpoint_size=64k --checkpoints=1 --quiet
		--directory=two/$access --access=$access"
	# shellcheck disable=SC2086
	"$MLGEN" $save --phase=checkpoint >out 2>&1
	shard=two/$access/global_epoch1_step1/rank_1.pt
	for kind in fifo directory; do
		put $kind "$shard"
		for engine in $engines; do
			# shellcheck disable=SC2086
			exits_soon "$engine, access=$access: no $kind is restored" 1 \
				"$MLGEN" $save --phase=restore --invalidate=0 \
				--ioengine="$engine"
			like "... and it is named" "$(cat err)" \
				"^mlgen: checkpoint 1, rank 1: $shard: is a $kind, not a regular file; it is not a file of this checkpoint"
		done
	done
	put fifo "$shard"
	# shellcheck disable=SC2086
	exits_soon "access=$access: one is seen where it leaves the cache" 2 \
		"$MLGEN" $save --phase=restore --invalidate=run
	like "... by name" "$(cat err)" "^mlgen: $shard: is a fifo, not a regular file"
done
cd ck/plain || exit 1
mv global_epoch1_step1/mlgen-checkpoint.json manifest
for kind in fifo directory "character device"; do
	make "$kind" global_epoch1_step1/mlgen-checkpoint.json
	# shellcheck disable=SC2086
	exits_soon "a $kind as its manifest is none" 2 "$MLGEN" $ckpt --directory=. --phase=restore
	like "... and named" "$(cat "$T/err")" "mlgen-checkpoint.json is a $kind"
	rm -r global_epoch1_step1/mlgen-checkpoint.json
done

done_testing
