#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 37-places.sh - what reports may not be written over: devices, what is read, each other, logs of other runs.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

cat >part.inc <<-END
	num_files=4
END
cat >x.job <<-END
	[x]
	include part.inc
	directory=$T/data
	format=raw
	sample_size=1k
END
train()
{
	"$MLGEN" x.job --ceiling=no "$@"
}
exits "the dataset is there" 0 train --quiet

# refused TITLE REGEX FILE OPTION...: status 2, FILE as it was, nothing beside.
refused()
{
	refused_title=$1 refused_regex=$2 refused_file=$3
	shift 3
	cp "$refused_file" was
	ls >before
	exits "$refused_title: refused" 2 "$@"
	like "$refused_title: it says why" "$(cat err)" "^mlgen: $refused_regex"
	ls >after
	is "$refused_title: no file came or went" "$(cat after)" "$(cat before)"
	ok "$refused_title: and none has changed" cmp was "$refused_file"
}
touch was before after out err

# ---- files that are read
for option in json output log; do
	refused "--$option onto the job file" \
		"$option=x\.job: is a job file of this run; name another file$" \
		x.job train --$option=x.job
done
ln -s x.job soft
ln x.job hard
mkdir -p sub
refused "by another spelling" 'json=sub/\.\./x\.job: is a job file' x.job \
	train --json=sub/../x.job
refused "by a symbolic link" 'output=soft: is a job file' x.job \
	train --output=soft
refused "by a hard link" 'log=hard: is a job file' x.job train --log=hard
refused "onto an include" 'json=part\.inc: is a job file' part.inc \
	train --json=part.inc
refused "in a dry run, too" 'log=part\.inc: is a job file' part.inc \
	train --dry-run --log=part.inc
from_stdin()
{
	"$MLGEN" - "$@" <x.job
}
refused "onto a job file that is standard input" \
	'json=x\.job: is standard input' x.job from_stdin --json=x.job
sample=$(find data/train -name 'img_0*')
refused "onto a file of the dataset" 'json=data/train/img_0_of_4\.raw: is a file of a dataset' \
	"$sample" train --json="$sample"
refused "onto its manifest" 'log=data/mlgen-dataset\.json: is the name of a manifest' \
	data/mlgen-dataset.json train --log=data/mlgen-dataset.json
head -c 65536 /dev/zero >file
refused "onto the file of a plain job" \
	'json=\./file: is a file that the job reads or writes' file \
	"$MLGEN" --name=io --rw=read --filename="$T/file" --json=./file
refused "onto one that the job would make" \
	'log=new: is a file that the job reads or writes' file \
	"$MLGEN" --name=io --rw=read --filename="$T/new" --size=64k --log=new
exits "documents are there" 0 train --quiet --json=a.json
cp a.json b.json
refused "onto a document that is read" 'output=b\.json: is a file that mlgen reads' \
	b.json "$MLGEN" --merge a.json b.json --output=b.json
echo 'workflow: {}' >w.yaml
refused "an import onto its source" 'output=\./w\.yaml: is a file that mlgen reads' \
	w.yaml "$MLGEN" --import=dlio w.yaml --output=./w.yaml

# ---- each other
refused "--json and --log" "json=r: is also the file of --log; rename one of them" \
	x.job train --json=r --log=./r
ln -s r link-to-none
refused "through a link to what is not there" "output=link-to-none: is also the file of --json" \
	x.job train --json=r --output=link-to-none
echo old >old
ln old old2
refused "through a hard link" "output=old2: is also the file of --log" old \
	train --output=old2 --log=old
redirected()
{
	"$MLGEN" x.job --ceiling=no "$@" >shared
}
: >shared
refused "--json onto the file that is standard output" \
	'json=shared: is also standard output' shared redirected --json=shared

# ---- what is no earlier output of the kind
echo "mine" >mine
for option in json html log trace; do
	case $option in
	json)	kind="JSON document of mlgen" ;;
	html)	kind="page of mlgen" ;;
	log)	kind="log of mlgen" ;;
	trace)	kind=trace ;;
	esac
	refused "--$option onto a file of somebody's" \
		"$option=mine: exists and is not a $kind; it is not overwritten: name another file, or add --force\$" \
		mine train --$option=mine
	exits "--$option: an empty file becomes one" 0 \
		sh -c ": >out.$option && \"\$MLGEN\" x.job --ceiling=no --quiet --$option=out.$option"
	ok "--$option: it is written" test -s out.$option
	exits "--$option: an earlier one is replaced" 0 train --$option=out.$option
	cp mine mine.$option
	exits "--$option: with --force any file is" 0 train --force \
		--$option=mine.$option
	not_ok "--$option: that is gone" grep -qx mine mine.$option
	exits "--$option: a folder is not" 2 train --force --$option=sub
done
refused "a page onto a document" "html=a\.json: exists and is not a page" a.json \
	train --html=a.json
refused "a document onto a page" "json=out\.html: exists and is not a JSON" \
	out.html train --json=out.html
refused "a merged document" "json=mine: exists and is not a JSON" mine \
	"$MLGEN" --merge a.json a.json --json=mine
refused "in a dry run, too" "json=mine: exists and is not a JSON" mine \
	train --dry-run --json=mine
exits "fio's form is replaced by ours" 0 train --output-format=fio-json \
	--output=out --json=fio.json
exits "as it is by its own" 0 train --json=fio.json
exits "a log of a description is one" 0 "$MLTRACE" describe out.trace \
	--output=out --log=out.log
exits "a log of a run replaces it" 0 train --log=out.log
mkfifo pipe
cat pipe >piped &
exits "a fifo is written" 0 train --json=pipe
wait $!
like "with the document" "$(cat piped)" '^  "jobs": '
exits "and what swallows everything" 0 train --json=/dev/null --log=/dev/null \
	--html=/dev/null

# ---- descriptors are their opener's to decide on
on_descriptor()
{
	echo "first" >&3
	"$MLGEN" x.job --ceiling=no --quiet "$@"
	echo "last" >&3
}
on_descriptor --json=/dev/fd/3 >out 2>err 3>third
is "a descriptor is written where it stands" \
	"$(sed -n '1p;2p;$p' third | paste -sd' ' -)" 'first { last'
on_descriptor --log=/proc/self/fd/3 --log_interval=1h >out 2>err 3>third
like "by the log, too" "$(paste -sd' ' third)" '^first time,.* last$'
like "/dev/stdout is one" "$(train --json=/dev/stdout --quiet 2>err | cat)" \
	'^  "jobs": '
exits "one that nobody opened is refused" 2 train --json=/dev/fd/3
like "as not open" "$(cat err)" \
	'^mlgen: json=/dev/fd/3: is not open; have the shell open it: 3>FILE$'

# ---- logs of other runs
background "$MLGEN" --name=long --ioengine=null --directory="$T/none" \
	--num_files=8 --compute_time=50ms --runtime=60s --time_based --ceiling=no \
	--log=log.csv --log_interval=10ms
poll test -s log.csv
for option in json output log; do
	exits "--$option onto the log of a run that runs: refused" 2 \
		train --$option=log.csv
	like "$option: it says so" "$(cat err)" \
		"^mlgen: $option=log\.csv: another run is writing to it; wait until it is done, or name another file$"
done
like "the log goes on" "$(head -n 1 log.csv)" '^time,seconds,'
kill -KILL "$pid"
finish
exits "a run that was killed leaves it free" 0 train --quiet --log=log.csv

# ---- devices
like_device()	# TITLE DEVICE REGEX
{
	for option in json output log; do
		exits "--$option onto $1: refused" 2 train --$option="$2"
		like "--$option onto $1: it says why" "$(cat err)" \
			"^mlgen: $option=$2: is a $3"
	done
}
like_device "/dev/zero" /dev/zero 'device; mlgen writes only to terminals, /dev/null and /dev/full'
exits "/dev/null and /dev/full may be written" 0 train --json=/dev/null \
	--output=/dev/null --log=/dev/null
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
	script -qec "'$MLGEN' x.job --ceiling=no --quiet --output=/dev/tty \
		--json=\$(tty)" typescript >out 2>err </dev/null
	like "so may a terminal" "$(cat out)" '^x: '
else
	skip "so may a terminal" "no script(1), or no terminals for it"
fi
head -c 1048576 /dev/urandom >image
device=
if [ "$(id -u)" -eq 0 ] && command -v losetup >/dev/null; then
	device=$(losetup --show -f image 2>/dev/null)
fi
if [ -n "$device" ]; then
	before=$(cksum <image)
	like_device "a block device" "$device" 'block device, and its contents would be overwritten'
	ln -s "$device" disk
	like_device "a link to one" disk 'block device'
	losetup -d "$device"
	is "it has not changed" "$(cksum <image)" "$before"
else
	skip "a block device is refused" "only root may make a loop device"
fi
done_testing
