#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 66-shared-object.sh - an engine that is a shared object is loaded by its path, or refused in one line.

. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"

CC=${CC:-cc}
command -v "$CC" >/dev/null || skip_all "there is no compiler"
skeleton=$TOP/examples/engine-skeleton

# object FILE SOURCE [FLAG...]: compile an engine as the examples say.
object()
{
	object_file=$1 object_source=$2
	shift 2
	"$CC" -shared -fPIC -I"$TOP/include" "$@" -o "$object_file" \
		"$object_source"
}

ok "the skeleton compiles without a warning" object skeleton.so \
	"$skeleton/engine-skeleton.c" -std=gnu11 -Wall -Wextra -Werror

# ---- its job file
is "the job is for this engine" \
	"$(sed -n 's/^ioengine=//p' "$skeleton/skeleton.job")" ./skeleton.so
counts()
{
	"$MLGEN" "$skeleton/skeleton.job" --json=run.json --quiet "$@" \
		>out 2>err || echo "status $?: $(cat err)"
	json run.json jobs.0.ml.steps jobs.0.ml.samples \
		jobs.0.ml.sample_bytes jobs.0.ml.io_bytes \
		jobs.0.ml.ops.open.total
}
got=$(counts)
want=$(counts --ioengine=psync)
like "psync reads 8 steps of 4 samples" "$want" '^8 32 33554432 33554432 '
is "the loaded engine reads the same" "$got" "$want"
is "with its option on the command line, too" "$(counts --split=64k)" "$want"
is "fio's spelling loads it" \
	"$(counts --ioengine=external:./skeleton.so)" "$want"
is "and an absolute path" "$(counts --ioengine="$T/skeleton.so")" "$want"
is "another engine can wrap it" \
	"$(counts --ioengine=fault --engine=./skeleton.so)" "$want"
if command -v strace >/dev/null && traced trace true; then
	traced trace -e trace=pread64 "$MLGEN" "$skeleton/skeleton.job" \
		--bs=256k --split=4k --steps=1 --quiet >out 2>&1
	is "split= is the most bytes of a call" "$(sed -n \
		's/.*pread64(.*, \([0-9]*\), [0-9]*) *= [0-9]*$/\1/p' trace |
		sort -n | tail -n 1)" 4096
else
	skip "split= is the most bytes of a call" "strace is not here"
fi

# ---- options
exits "its help is printed" 0 "$MLGEN" --enghelp=./skeleton.so
like "with its name" "$(cat out)" '^skeleton +pread, in pieces of split='
like "and its option" "$(cat out)" '^ +split='
exits "its options are checked" 2 "$MLGEN" "$skeleton/skeleton.job" \
	--split=2g --directory="$T/no"
like "by their limits" "$(cat err)" '^mlgen: split: '
exits "an option of nobody's is refused" 2 "$MLGEN" \
	"$skeleton/skeleton.job" --splut=1k --directory="$T/no"
like "as unknown" "$(cat err)" '^mlgen: splut: unknown option'
exits "prepare needs an engine that writes" 2 "$MLGEN" \
	"$skeleton/skeleton.job" --phase=prepare --directory="$T/no"
like "which this one does not" "$(cat err)" 'skeleton cannot write'

# One job with the engine, one without, and an option between them.
cat >two.job <<-END
	[global]
	directory=$T/data/two
	num_files=4
	sample_size=4k
	format=raw
	split=1k
	[built]
	[loaded]
	stonewall
	ioengine=./skeleton.so
END
exits "an option can stand above the engine" 0 "$MLGEN" two.job --quiet
like "and is a note to other engines" "$(cat err)" \
	'split: an option of ioengine=skeleton; ioengine=psync goes without it'

# ---- refusals: before anything is written, in one line
refused()	# TITLE ENGINE REGEX
{
	exits "$1: refused" 2 "$MLGEN" --name=x --directory="$T/no" \
		--num_files=1 --ioengine="$2"
	is "$1: in one line" "$(wc -l <"$T/err" | tr -d ' ')" 1
	like "$1: it says why" "$(cat "$T/err")" "^mlgen: ioengine=$3"
	exits "$1: --enghelp does, too" 2 "$MLGEN" --enghelp="$2"
	like "$1: in the same words" "$(cat "$T/err")" "^mlgen: ioengine=$3"
}

engine()	# FILE FIELDS
{
	cat >table.c <<-END
		#include <mlgen/engine.h>
		static int submit(struct mlgen_ctx *c, struct mlgen_io **io,
				  unsigned n)
		{
			(void)c;
			io[0]->result = 0;
			return (int)n;
		}
		struct mlgen_engine const mlgen_engine = {
			.abi = MLGEN_ENGINE_ABI, .size = sizeof(mlgen_engine),
			.name = "t", .help = "a test", .submit = submit, $2
		};
	END
	object "$1" table.c -w
}

echo text >text.so
echo 'int nothing;' >nothing.c
object nothing.so nothing.c
echo 'extern int nowhere(void); int f(void) { return nowhere(); }' >open.c
object open.so open.c
engine abi.so '.abi = 77'
engine size.so '.size = 8'
engine submit.so '.submit = 0'
mkfifo fifo.so
refused "a missing file" ./none.so './none\.so: No such file or directory$'
refused "a text file" ./text.so './text\.so: cannot be loaded: .*(ELF|short)'
refused "a folder" ./ './: is not a regular file$'
refused "a FIFO" ./fifo.so './fifo\.so: is not a regular file$'
refused "no slash" external:text.so "text\\.so: a path needs a '/': write \\./text\\.so\$"
refused "no symbol" ./nothing.so './nothing\.so: has no symbol mlgen_engine'
refused "an undefined symbol" ./open.so './open\.so: cannot be loaded: .*nowhere'
refused "another ABI" ./abi.so './abi\.so: built for engine ABI 77, this mlgen has 3;'
refused "another size" ./size.so './size\.so: its table has 8 bytes, not [0-9]+;'
refused "no submit" ./submit.so './submit\.so: its table needs name, help and submit'
exits "options of an engine that is missing are refused" 2 "$MLGEN" \
	"$skeleton/skeleton.job" --ioengine=./none.so --directory="$T/no" \
	--other=1
like "as what nobody can know" "$(cat err)" \
	'^mlgen: other: unknown option, unless one of ioengine=./none.so, '
ok "none of it wrote anything" test ! -e "$T/no"

# ---- what the program gives it
if command -v nm >/dev/null && [ -z "${SANITIZE:-}" ]; then
	is "the program exports none of its functions" \
		"$(nm -D --defined-only "$MLGEN" | grep -c ' T .*\(engine\|mem_\|job\)')" 0
else
	skip "the program exports none of its functions" \
		"nm is not here, or sanitizers export theirs"
fi
done_testing
