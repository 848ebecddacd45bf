#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 34-scan.sh - files that are there are looked for by one process, and all others read what it has found.
# On disk: direct=1 is tried, or what a page cache and a disk do.
. "$(dirname "$0")/rig.sh"
. "$TOP/t/func/runs.sh"
. "$TOP/t/hosts/same.sh"

hosts_up 2
unshare -m true 2>/dev/null || skip_all "no mounts here"

# make FORMAT DIRECTORY OPTION...: files that mlgen has made and knows nothing of.
make()
{
	format=$1 directory=$2
	shift 2
	"$MLGEN" --name=m --phase=prepare --format="$format" --directory="$directory" \
		--sample_size=6k "$@" --quiet >make.out 2>&1 || cat make.out
	rm -f "$directory/mlgen-dataset.json"
}
make raw raw --num_files=291
make tfrecord tfrecord/a --num_files=11 --samples_per_file=13
make tfrecord tfrecord/b --num_files=9 --samples_per_file=17
make parquet parquet/a --num_files=40 --samples_per_file=20 --row_group_size=40k
make parquet parquet/b --num_files=35 --samples_per_file=24 --row_group_size=60k
make raw laid --num_files=200 --eval_files=40
for directory in raw tfrecord parquet laid; do
	mkdir -p "$directory/train/zzz" "$directory/zzz"
done
cat >j.job <<'END'
[j]
dataset=scan
batch_size=2
compute_time=0
epochs=2
randseed=7
read_threads=1
END

# What host 2 would find by itself: in each folder one more file.
differs()
{
	special 2 'exec unshare -m sh -c "for d in */zzz */train/zzz; do
		mount -t tmpfs none \$d
		head -c 7000 /dev/urandom >\$d/more
	done; exec \"\$@\"" sh "$@"'
}

found()
{
	differs
	same "$1" 2 2 --format=raw --directory=raw
	same "$1" 4 1 --format=tfrecord --directory=tfrecord
	same "$1" 2 1 --format=parquet --directory=parquet
	same "$1" 2 2 --format=auto --directory=raw --num_files=200
	find raw -name '*.raw' | sort -r >list
	same "$1" 2 2 --format=raw --file_list=list
	awk '{ print $0 "\t4096\t1000"; print $0 "\t0\t512" }' list >samples
	same "$1" 2 2 --format=raw --file_list=samples
	same "$1" 2 2 --format=raw --directory=laid --eval_files=30 --eval_every=1
	special 2
	# Only rank 0 has what a launcher was given.
	# shellcheck disable=SC2046 # words
	on_host 1 sh -c 'exec "$@" <list' sh $(launcher "$1" 2) "$MLGEN" j.job \
		--format=raw --file_list=- --json=all.json --quiet >said 2>&1
	is "$1: a list on standard input is enough in rank 0" $? 0
	is "$1: for all" "$(figure all.json samples)" 576
}

refused()
{
	launch "$1" 2 j.job --format=raw --directory=nowhere
	is "$1: what is not there is refused" $? 2
	is "$1: once" "$(grep -c '^mlgen: nowhere: No such file' said)" 1
	mkdir -p broken
	cp tfrecord/a/train/*.tfrecord broken
	truncate -s -5 "$(ls broken/* | sed -n 3p)"
	launch "$1" 2 j.job --format=tfrecord --directory=broken
	is "$1: so is a file that is cut off" $? 2
	is "$1: once, too" "$(grep -c '^mlgen: broken/.*tfrecord' said)" 1
	launch "$1" 2 j.job --format=tfrecord --directory=broken --scan_errors=skip --quiet
	is "$1: what is left out" $? 0
	is "$1: is told by one" "$(grep -c 'left out' said)" 1
	# Where another process would keep names there is no room.
	mkdir -p full
	special 2 'exec unshare -m sh -c "mount -t tmpfs -o size=4k none full && \
		TMPDIR=full exec \"\$@\"" sh "$@"'
	launch "$1" 2 j.job --format=raw --directory=raw
	is "$1: a host that cannot keep the names ends all" $? 2
	like "$1: and is named, with the way out" "$(cat said)" \
		'host h2 \(rank 1\): full: .*No space left.*TMPDIR='
	special 2
}

# Each host has its own, of another number of files.
apart()
{
	mkdir -p own far
	find raw -name '*.raw' | head -n 60 >some
	xargs cp -t own <some
	xargs cp -t far <some
	rm -f far/*_000_*
	special 2 'exec unshare -m sh -c "mount --bind far own && exec \"\$@\"" sh "$@"'
	launch "$1" 4 j.job --format=raw --directory=own --shared=0 --quiet
	is "$1: with shared=0 the first of each host looks" $? 0
	special 2 'exec unshare -m sh -c "mount -t tmpfs none own && exec \"\$@\"" sh "$@"'
	launch "$1" 4 j.job --format=raw --directory=own --shared=0 --quiet
	is "$1: and where it finds nothing" $? 2
	like "$1: says so of its host" "$(cat said)" 'host h2 \(rank 1\): own: holds no file'
	special 2
}

for part in found refused apart; do
	each_mpi "$part"
done
done_testing
