#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 97-scan-auto.sh - format=auto: files say of which format they are, and other kinds are left out.
# On disk: direct=1 is tried, which files in memory do not have.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

# file NAME BYTES: what printf makes of BYTES, with zeros behind it.
file()
{
	# shellcheck disable=SC2059 # the bytes are written as a format
	{
		printf "$2"
		head -c 3000 /dev/zero
	} >"$1"
}

jpeg='\377\330\377\340'
png='\211PNG\r\n\032\n'

# files FOLDER COUNT SUFFIX BYTES
files()
{
	mkdir -p "$1"
	n=0
	while [ $n -lt "$2" ]; do
		n=$((n + 1))
		file "$1/$n$3" "$4"
	done
}

# run OPTION...: its report is in run.json.
run()
{
	rm -f run.json
	"$MLGEN" --name=x --directory=d --dataset=scan --json=run.json "$@" \
		>out 2>err </dev/null
}

# finds TITLE "FILES FORMAT" OPTION...
finds()
{
	title=$1 want=$2
	shift 2
	ok "$title" run "$@"
	like "$title: as what it is" "$(tr -s ' ' <out)" "^dataset $want files?( |$)"
}

# reads_back TITLE OPTION...: the document's report is that of the run, but for
# what a run sees of its host.
reads_back()
{
	title=$1
	shift
	ok "$title" run "$@"
	ok "$title: reads back" sh -c "'$MLGEN' run.json >again"
	is "$title: as it was" "$(grep -A1 '^threads\|^dataset' again)" \
		"$(grep -A1 '^threads\|^dataset' out)"
}

# refused TITLE REGEX OPTION...
refused()
{
	title=$1 regex=$2
	shift 2
	exits "$title" 2 "$MLGEN" --name=x --directory=d --dataset=scan \
		--json=/dev/null "$@"
	like "$title: in words" "$(cat err)" "$regex"
}

files d 20 .bin '\001\002'
reads_back "a document of raw files"
finds "what shows nothing is raw" "20 raw"
finds "auto is the default, and can be said" "20 raw" --format=auto
is "it is the default of dataset=scan alone" \
	"$("$MLGEN" --name=x --dataset=scan --showjob | grep ^format=) \
$("$MLGEN" --name=x --showjob | grep ^format=)" "format=auto format=npz"
refused "no framework reads raw files" \
	'^mlgen: access: format=auto found raw files, which no framework' \
	--access=framework
refused "nothing is made of it" '^(mlgen: )?.*format: auto detects the format' \
	--dataset=made --format=auto
rm -r d

files d 20 .bin $jpeg
finds "what begins as JPEG is JPEG, by any suffix" "20 jpeg"
ok "and is read as a framework does" run --access=framework
refused "but not with O_DIRECT" \
	'^mlgen: direct: format=auto found jpeg files' \
	--access=framework --direct=1
rm -r d
files d 20 .JPG '\001\002'
finds "what shows nothing goes by its suffix" "20 jpeg"
rm -r d

# ---- other kinds beside them
files d/n01 30 .jpg $jpeg
files d/n02 30 '' $jpeg
for name in labels.txt n01/a.json n01/.DS_Store n01/Thumbs.db x.md5 x.SHA256 \
	README.md n02/._1 x.tfrecord.idx; do
	file d/$name x
done
finds "labels, checksums and the like are left out" "60 jpeg"
like "and counted" "$(cat err)" \
	'^mlgen: note: d: format=jpeg; left out: 9 in other formats$'
file d/a.png "$png"
files d/odd 5 .bin '\001'
finds "a few of another format, too" "60 jpeg"
like "and counted by what they are" "$(cat err)" \
	'left out: .*(5|6) raw, 9 in other formats$'
files d/odd 8 .bin '\001'
refused "more than every tenth is refused" \
	'^mlgen: d: format=auto found 60 jpeg, .* raw, 9 in other formats: less than 90 % are in one format; ' \
	--format=auto
refused "by a dry run, too" 'less than 90 %' --dry-run
finds "a format that is given takes them" "69 jpeg" --format=jpeg
like "but no labels" "$(cat err)" 'left out: 9 in other formats$'
finds "and raw takes all there is" "78 raw" --format=raw
rm -r d
files d 30 .jpg $jpeg
files d/txt 30 .txt 'cat'
finds "a label for each image is no other format" "30 jpeg"
rm d/*.jpg
finds "where nothing but text is there it is what is read" "30 raw"
file d/.DS_Store x
finds "without what a desktop left" "30 raw"
rm -r d
mkdir d
file d/.DS_Store x
file d/x.md5 x
refused "with nothing else there is nothing" 'd: format=auto found 2 in other'
rm -r d

# ---- other formats, as far as a scan reads them
files d 3 '' '\223NUMPY'
for pair in 'npy:\223NUMPY' 'npz:PK\003\004' 'hdf5:\211HDF\r\n\032\n'; do
	rm -r d
	files d 12 .dat "${pair#*:}"
	run --dry-run
	like "${pair%%:*} is known by its beginning" "$(cat err out)" \
		"format=${pair%%:*} its samples|d/[0-9]*\.dat: "
done
rm -r d
mkdir d
{
	printf PAR1
	head -c 100 /dev/zero
	printf PAR1
} >d/x
run --dry-run
like "Parquet by both ends" "$(cat err out)" 'parquet|d/x: '
rm d/x
if tar --version >/dev/null 2>&1; then
	echo 1 >a.cls
	tar cf d/x --format=ustar a.cls
	finds "a tar by what stands in its header" "1 tar"
	rm d/x
else
	skip "a tar by what stands in its header" "no tar here"
fi
"$MLGEN" --name=t --directory=t --format=tfrecord --num_files=4 \
	--sample_size=1k --phase=prepare >out 2>err
if [ -d t/train ]; then
	for f in t/train/*; do
		cp "$f" d/
		mv "d/${f##*/}" "d/$(basename "$f" .tfrecord)"
	done
	finds "TFRecord by the checksum of its first length" "4 tfrecord"
	refused "which a framework reads with tf.data" \
		'^mlgen: access: format=auto found tfrecord files' \
		--access=framework --loader=pytorch
	rm -r t
else
	skip "TFRecord by its checksum" "no isal in this mlgen"
fi
rm -r d
"$MLGEN" --name=i --directory=i --format=indexed_binary --num_files=4 \
	--sample_size=1k --phase=prepare >out 2>err
mv i/train d
run --dry-run
like "an indexed binary by its indices" "$(cat err out)" \
	'indexed_binary'
rm -r i d

# ---- shards are read from front to back, where nobody says how
# how OPTION...: the loader, order and share of a job, as resolved.
how()
{
	"$MLGEN" --name=x --directory=d --dataset=scan --showjob "$@" 2>err |
		sed -n 's/^\(loader\|shuffle\|shard\|access\)=//p' | paste -sd' ' -
}
fresh="plain pytorch sample strided"
if "$MLGEN" --name=t --directory=t --format=tfrecord --num_files=4 --samples_per_file=50 \
	--sample_size=1k --phase=prepare >out 2>err; then
	is "files that are made are read as before" \
		"$(how --dataset=made --format=tfrecord)" "$fresh"
	mv t/train d
	touch d/README.md
	is "shards that are there are read by tf.data's way" "$(how)" \
		"framework tfdata buffer:1000 file"
	like "which is told" "$(cat err)" \
		'note: dataset: tfrecord files are read from front to back, one shard per thread'
	is "so are those of a format that is given" "$(how --format=tfrecord)" \
		"framework tfdata buffer:1000 file"
	is "but not with direct=1, which no framework has" "$(how --direct=1)" \
		"plain tfdata buffer:1000 file"
	for given in loader=pytorch shuffle=sample shard=strided worker_start=1ms; do
		like "not where somebody says how: $given" "$(how --$given)" \
			'^plain pytorch sample strided$'
	done
	is "nor where there are fewer than accelerators" "$(how --accelerators=5)" "$fresh"
	run --batch_size=2 --accelerators=2
	is "and each is opened once" "$(json run.json jobs.0.ml.ops.open.total)" 4
	like "which the report says" "$(tr -s ' \n' ' ' <out)" \
		'each file from front to back [(]loader=tfdata, shuffle=buffer:1000[)]'
	rm -r t d
else
	skip "shards" "no isal in this mlgen"
fi
files d 12 .jpg $jpeg
is "images are none" "$(how)" "$fresh"
is "nor is what is not there" "$(how --directory=none)" "$fresh"
rm -r d

# ---- what Spark, Dask, pyarrow and Delta Lake put beside Parquet files
"$MLGEN" --name=p --directory=p --format=parquet --num_files=4 \
	--sample_size=40 --columns=a:float32[10] --phase=prepare >out 2>err
mv p/train d
mkdir -p d/_delta_log d/_temporary/0
for name in _metadata _common_metadata _SUCCESS .part-0.parquet.crc \
	_hidden.parquet .odd.parquet _delta_log/1.checkpoint.parquet \
	_temporary/0/part-0.parquet; do
	file "d/$name" PAR1
done
finds "footers of other files and parts of no table are left out" "4 parquet"
like "and counted" "$(cat err)" \
	'^mlgen: note: d: format=parquet; left out: 8 in other formats$'
finds "of a format that is given, too" "4 parquet" --format=parquet
like "and counted so" "$(cat err)" '^mlgen: note: d: left out: 8 in other formats$'
rm -r p d

# ---- it leaves no trace
files d 70 '' $jpeg
if can_trace; then
	traced trace openat,fadvise64 "$MLGEN" --name=x --directory=d --dataset=scan \
		--dry-run >out 2>err
	is "each file that has no suffix to go by is opened once or twice" \
		"$(grep -c 'openat([0-9]*, "[0-9]*", O_RDONLY' trace |
			awk '{ print ($1 >= 64 && $1 <= 140) }')" 1
	like "and leaves the page cache again" "$(cat trace)" \
		'POSIX_FADV_DONTNEED'
else
	skip "what is looked at leaves the page cache" "strace is not here"
fi

# ---- documents
rm -r d
files d 20 .jpg "$jpeg"
reads_back "a document of what was found"
reads_back "a document of what a framework reads" --access=framework
is "the format is in it" "$(json run.json jobs.0.dataset.format \
	jobs.0.options_resolved.format jobs.0.dataset.uneven)" "jpeg auto false"
ok "a table has it" "$MLGEN" --table=dataset.format run.json
grep -v '"uneven"\|^ *"format": "jpeg"' run.json >old.json
ok "an older document" "$MLGEN" old.json
printf '1.jpg\t0\t100\n2.jpg\t0\t100\n2.jpg\t100\t100\n2.jpg\t5\t7\n' >list
reads_back "a document of files of 1 and 3 samples" --file_list=list
like "which are 2 in the mean" "$(cat again)" '^dataset   2 raw files of .*, 4 samples, '
is "and are said to differ" "$(json run.json jobs.0.dataset.samples_per_file \
	jobs.0.dataset.samples jobs.0.dataset.uneven)" "2 4 true"

# ---- labels next to images
rm -r d
files d/images/train 4 .jpg "$jpeg"
file d/images/train/5.jpeg "$jpeg"
mkdir -p d/labels/train
for i in 1 2 3 5 9; do echo "0 0.5 0.5 0.$i 0.2" >d/labels/train/$i.txt; done
reads_back "images/ with labels/ next to it" --drop_last=0 --trace=labels.trace
like "is a data set of pairs" "$(cat err)" \
	'^mlgen: note: d: images/ and labels/ are read in pairs; scan_pair=none reads'
like "files without a label are counted" "$(cat err)" \
	'^mlgen: note: d: 1 of 5 files has no label by scan_pair=/images/:/labels/'
like "and so are labels without a file" "$(cat err)" \
	'^mlgen: note: d: left out: 1 label without a file$'
like "the report counts labels" "$(tr -s ' \n' ' ' <out)" \
	' dataset 5 jpeg files of [^,]*, 4 with a label file, '
is "bytes and operations are those of both files" \
	"$(json run.json jobs.0.dataset.label_files jobs.0.dataset.bytes) \
$(ml run.json samples sample_bytes io_bytes ops.open.total)" \
	"4.0 15092 5 15092 15092 9"
"$MLTRACE" export labels.trace --format=csv >trace.csv
is "the trace has both, and names samples by their images" \
	"$(grep -c ',read,d/labels/train/[1235].txt,0,18,18,' trace.csv) \
$(grep -c ',read,d/images/' trace.csv) $(grep -c ',sample,d/images/' trace.csv)" \
	"4 5 5"
ok "a dry run" run --dry-run --scan_pair=images:labels
like "says how many files have a label" "$(cat out)" \
	'^ +4 of these files have a label file, read with the sample$'
refused "a folder of labels that is missing" \
	'^mlgen: scan_pair: d/masks/train: No such file or directory; the labels of d should' \
	--scan_pair=images:masks --dry-run
ok "none" run --scan_pair=none --dry-run
like "reads the images alone" "$(cat err)" 'left out: 5 in other formats$'

done_testing
