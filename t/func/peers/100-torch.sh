#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 100-torch.sh - checkpoint_layout=torch and deepspeed are archives that torch reads, by the calls that torch makes.

. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../runs.sh"
. "$(dirname "$0")/../calls.sh"

# Debian's, which may have torch; any other can unzip.
python=/usr/bin/python3
[ -x $python ] || python=python3
no_torch=
$python -c 'import torch, sys; sys.exit(torch.__version__[:4] != "1.13")' \
	2>/dev/null || no_torch="$python has no torch 1.13 (Debian: python3-torch)"

# A case is a directory: torch-NAME or deepspeed-NAME, and its checkpoint in it.

# ./play CASE OPTION...
cat >play <<'END'
#!/bin/sh
case=$1
shift
exec "$MLGEN" --name=x --checkpoint_layout="${case%%-*}" \
	--checkpoint_directory="$case" --invalidate=0 --checkpoint_fsync=none \
	--quiet "$@"
END
chmod +x play

# save CASE OPTION...
save()
{
	./play "$@" --phase=checkpoint >out 2>&1
}

# file_of CASE: of rank 0, whose tensors are a list.
file_of()
{
	case $1 in
	torch-*)	echo "$1/global_epoch1_step1/rank_0.pt" ;;
	*)		echo "$1/global_epoch1_step1/model_states-0.pt" ;;
	esac
}

# tensors COUNT MOST SEED: a list of tensors, small ones and others.
tensors()
{
	awk -v count="$1" -v most="$2" -v seed="$3" '
	BEGIN {
		srand(seed)
		split("1023 1024 1025 4032 4095 4096 4097 8190 8191 8192", \
			edges)
		for (i = 0; i < count; i++) {
			kind = int(rand() * 3)
			bytes = 1 + int(rand() * (kind == 0 ? 100 : most))
			if (kind == 1)
				bytes = edges[1 + int(rand() * 10)]
			print "layer." i ".weight", bytes
		}
	}'
}

# The twelve tensors of the captures.
for bytes in 5000000 20000 4096 4000000 64 1000000 123456 2097152 40 8000000 \
	300000 1024; do
	echo "layer$((i)).weight $bytes"
	i=$((i + 1))
done >captured.list
tensors 12 3000000 2 >twelve.list
tensors 101 9000 3 >hundred.list
tensors 1000 300 4 >thousand.list
tensors 1 100 5 >one.list

# Every record's checksum; the pickle is well-formed; names and sizes.
cat >unzip.py <<'END'
import pickletools, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
stem = archive.namelist()[0].split('/')[0]
assert archive.namelist() == sorted(archive.namelist())
pickle = archive.read(stem + '/data.pkl')
strings = [arg for op, arg, at in pickletools.genops(pickle)
           if op.name == 'BINUNICODE']
want = [line.split() for line in open(sys.argv[2])]
assert [s for s in strings if s.startswith('layer')] == [n for n, b in want]
for key, (name, size) in enumerate(want):
    assert archive.getinfo('%s/data/%d' % (stem, key)).file_size == int(size)
print(stem)
END

unzips()
{
	if ! $python -c '' 2>/dev/null; then
		skip "$1: zipfile and pickletools find all tensors" \
			"there is no $python"
		return
	fi
	is "$1: zipfile and pickletools find all tensors" \
		"$($python unzip.py "$(file_of "$2")" "$3" 2>&1)" "$4"
}

# What is loaded from each case is saved again, in the same way.
cat >again.py <<'END'
import os, sys, torch
for name in sys.argv[1:]:
    again = 'again/' + name
    os.makedirs(os.path.dirname(again))
    state = torch.load(name)
    if name.startswith('torch-'):
        torch.save(state, again)
    else:
        with open(again, 'wb') as f:
            torch.save(state, f)
    kinds = sorted({str(tensor.dtype) for tensor in state.values()})
    print(name, len(state), ' '.join(kinds))
END

for list in hundred thousand; do
	save torch-plain-$list --access=plain --tensor_sizes=$list.list
	unzips "layout torch, access plain" torch-plain-$list $list.list rank_0
	save deepspeed-plain-$list --access=plain --tensor_sizes=$list.list
	unzips "layout deepspeed, access plain" deepspeed-plain-$list \
		$list.list archive
done

# torch.save calls the archive as its file is called: here it is another's.
save torch-named --access=framework --tensor_sizes=hundred.list \
	--checkpoint_archive=checkpoint_17
unzips "an archive of another name" torch-named hundred.list checkpoint_17
exits "which is restored by that name" 0 ./play torch-named --phase=restore \
	--access=framework --tensor_sizes=hundred.list \
	--checkpoint_archive=checkpoint_17 --verify=crc32c
exits "and not by its own" 2 ./play torch-named --phase=restore \
	--access=framework --tensor_sizes=hundred.list
like "in words" "$(cat err)" \
	'checkpoint_archive: checkpoint_17 in the checkpoint, none in the job'
mv torch-named/global_epoch1_step1/rank_0.pt \
	torch-named/global_epoch1_step1/checkpoint_17.pt

# Types other than bytes, layers and an optimizer in one file.
model="--model_layers=13 --model_hidden=64 --model_ffn=128 --model_heads=4
	--model_kv_heads=2 --model_vocabulary=1000"
# shellcheck disable=SC2086 # several options
save torch-model --access=framework $model

# ---- calls

# traced_moves FILE COMMAND...: opens, reads, writes and closes of FILE.
traced_moves()
{
	traced_file=$1
	shift
	trace_only openat,fstat,newfstatat,read,pread64,preadv,lseek,close,write,writev,pwrite64,pwritev \
		64 "$@" >out 2>&1
	moves "$traced_file"
}

# The last time that FILE was opened: as calls, and what each write moved.
moves()
{
	calls "$1" >reads
	if grep -q '^read' reads; then
		cat reads
		return
	fi
	# What is written is named in a folder that is held.
	awk -v file="$1" -v name="$(basename "$1")" '
	/^openat\(/ && (index($0, "\"" file "\"") ||
			index($0, "\"" name "\"")) {
		fd = $NF
		seen = "open\n"
		next
	}
	fd == "" || !match($0, "^[a-z0-9]*\\(" fd "[,)]") { next }
	/^(fstat|newfstatat)\(/ { seen = seen "stat\n" }
	/^p?write(v|64)?\(/ { seen = seen "write " $NF "\n" }
	/^close\(/ {
		seen = seen "close\n"
		fd = ""
	}
	END { printf "%s", seen }' trace
}

# saved_moves CASE LIST, restored_moves CASE LIST: those of mlgen.
saved_moves()
{
	traced_moves "$(file_of "$1")" ./play "$1" --phase=checkpoint \
		--access=framework --tensor_sizes="$2"
}

restored_moves()
{
	traced_moves "$(file_of "$1")" ./play "$1" --phase=restore \
		--access=framework --tensor_sizes="$2"
}

captured=$TOP/t/func/traces
no_strace=
can_trace || no_strace="strace is not here or not allowed"
if [ -z "$no_strace" ]; then
	is "a state is saved by the calls that torch.save makes of a path" \
		"$(saved_moves torch-captured captured.list)" \
		"$(cat "$captured/torch-save-path.txt")"
	is "... and restored by those of torch.load" \
		"$(restored_moves torch-captured captured.list)" \
		"$(cat "$captured/torch-load.txt")"
	is "... and with layout deepspeed by those of an open file" \
		"$(saved_moves deepspeed-captured captured.list)" \
		"$(cat "$captured/torch-save-fileobj.txt")"
	for list in one twelve hundred thousand; do
		for layout in torch deepspeed; do
			saved_moves $layout-$list $list.list \
				>$layout-$list.saved
			restored_moves $layout-$list $list.list \
				>$layout-$list.restored
		done
	done
	unzips "layout torch, access framework" torch-hundred hundred.list \
		rank_0
	unzips "layout deepspeed, access framework" deepspeed-hundred \
		hundred.list archive
else
	skip "a state is saved by the calls that torch.save makes" "$no_strace"
fi

# ---- torch itself
if [ -n "$no_torch" ]; then
	skip "torch loads them, and saves the same again" "$no_torch"
	done_testing
	exit
fi

# Imported once, for all of them.
set -- */global_epoch1_step1/*.pt
if [ -z "$no_strace" ]; then
	traced_moves none $python again.py "$@"
else
	$python again.py "$@" >out 2>&1
fi
for file; do
	ok "torch loads ${file%%/*}, and saves the same again" \
		cmp "$file" "again/$file"
done
like "a model has numbers of 16 and of 32 bits" "$(cat out)" \
	"^torch-model/.*rank_0.pt $((13 * 6 + 3 + 6)) torch.float16 torch.float32$"

if [ -n "$no_strace" ] || [ "$(stat -c %o .)" -ne 4096 ]; then
	skip "torch does it by the same calls" \
		"${no_strace:-this filesystem has blocks of $(stat -c %o .) bytes}"
	done_testing
	exit
fi
for list in one twelve hundred thousand; do
	for layout in torch deepspeed; do
		file=$(file_of $layout-$list)
		moves "again/$file" >theirs
		ok "torch saves $layout-$list by the same calls" \
			diff theirs $layout-$list.saved
		moves "$file" >theirs
		ok "... and loads it, too" \
			diff theirs $layout-$list.restored
	done
done

done_testing
