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
if can_trace; then
	traced trace pread64 "$MLGEN" "$skeleton/skeleton.job" \
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
mkdir data
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
	'split: an option of ioengine=skeleton; ioengine=psync ignores it'

# ---- its code runs where a job runs on it, and nowhere else
cat >loud.c <<-END
	#include <stdlib.h>
	#include <unistd.h>
	#include <fcntl.h>
	__attribute__((constructor)) static void loud(void)
	{
		close(open(getenv("LOUD"), O_CREAT | O_WRONLY, 0600));
	}
	#include "$skeleton/engine-skeleton.c"
END
object loud.so loud.c -w
cat >loud.job <<-END
	[loud]
	directory=$T/data/loud
	format=raw
	num_files=4
	sample_size=4k
	ioengine=./loud.so
	split=1k
END
export LOUD="$T/loud"
silent()	# TITLE OPTION...
{
	silent_title=$1
	shift
	exits "$silent_title" 0 "$MLGEN" loud.job "$@"
	not_ok "$silent_title: without running its code" test -e loud
	rm -f loud
}
silent "--parse-only takes its options" --parse-only
like "and says that it has not checked them" "$(cat err)" \
	'^loud\.job:7: note: split: not checked; it may be an option of ioengine=\./loud\.so, which is not loaded'
like "nor what the engine can do" "$(cat err)" \
	'^loud\.job:6: note: ioengine: only a run loads \./loud\.so'
silent "--parse-only names what is nearer" --parse-only --splut=1 --batchsize=4
like "to a slip of the pen" "$(cat err)" \
	"^mlgen: note: batchsize: .*did you mean 'batch_size'\?$"
silent "--showjob shows them" --showjob
like "as written" "$(cat out)" '^split=1k$'
mv out shown.job
exits "what it shows is a job again" 0 "$MLGEN" shown.job --parse-only
silent "--dry-run makes a plan" --dry-run
like "of all the rest" "$(cat out)" '4 raw files'
silent "--datasize says how large" --datasize --memory=1g --compute_time=1s
silent "another engine can stand in its place" --ioengine=null --steps=1
unlike "whose run is no guess" "$(cat err)" 'loaded by a run only'
silent "for the job alone" --loud.ioengine=psync --steps=1
mkdir jobs
cp loud.job jobs
MLGEN_JOBS=$PWD/jobs "$MLGEN" --list-jobs >out 2>err
like "--list-jobs lists the job" "$(cat out)" '^loud .* 16 KiB '
not_ok "without running its code" test -e loud
cat loud.job - >both.job <<-END
	[quiet]
	directory=$T/data/loud
	format=raw
	num_files=4
	sample_size=4k
END
exits "--section leaves the job with it out" 0 \
	"$MLGEN" both.job --section=quiet --steps=1
not_ok "and its code" test -e loud
exits "a run on it runs it" 0 "$MLGEN" both.job --section=loud --steps=1
ok "and its code" test -e loud
exits "a missing one is found before a run, too" 2 \
	"$MLGEN" loud.job --ioengine=./none.so --parse-only
like "by its path" "$(cat err)" '^mlgen: ioengine=\./none\.so: No such file'

# ---- descriptors: a library with a thread that opens files
cat >library.c <<-END
	#include <errno.h>
	#include <fcntl.h>
	#include <pthread.h>
	#include <unistd.h>
	#include <mlgen/engine.h>
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
	static const char *path;
	static int fd, is_over;
	static pthread_t opener;
	static void *opens(void *arg)
	{
		pthread_mutex_lock(&lock);
		while (!is_over) {
			if (path) {
				fd = open(path, O_RDONLY | O_CLOEXEC);
				path = NULL;
				pthread_cond_broadcast(&moved);
			}
			pthread_cond_wait(&moved, &lock);
		}
		pthread_mutex_unlock(&lock);
		return arg;
	}
	static int job_init(struct mlgen_engine_job *j, struct mlgen_err *err)
	{
		(void)j, (void)err;
		is_over = 0;
		return -pthread_create(&opener, NULL, opens, NULL);
	}
	static void job_fini(struct mlgen_engine_job *j)
	{
		(void)j;
		pthread_mutex_lock(&lock);
		is_over = 1;
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
		pthread_join(opener, NULL);
	}
	static int submit(struct mlgen_ctx *c, struct mlgen_io **io, unsigned n)
	{
		(void)c, (void)n;
		pthread_mutex_lock(&turn);
		pthread_mutex_lock(&lock);
		path = io[0]->file->path;
		pthread_cond_broadcast(&moved);
		while (path)
			pthread_cond_wait(&moved, &lock);
		io[0]->result = preadv(fd, io[0]->iov, io[0]->iovcnt,
				       (off_t)io[0]->off);
		if (io[0]->result < 0)
			io[0]->result = -errno;
		close(fd);
		pthread_mutex_unlock(&lock);
		pthread_mutex_unlock(&turn);
		return 1;
	}
	const struct mlgen_engine mlgen_engine = {
		.abi = MLGEN_ENGINE_ABI, .size = sizeof(mlgen_engine),
		.name = "library", .help = "a thread that opens files",
		.caps = MLGEN_CAP(MLGEN_READ) | CAPS,
		.job_init = job_init, .job_fini = job_fini, .submit = submit,
	};
END
object library.so library.c -w -pthread -DCAPS=0
object private.so library.c -w -pthread -DCAPS=MLGEN_CAP_PRIVATE_FDS
library()
{
	"$MLGEN" --name=lib --directory="$T/data" --format=raw --num_files=4 \
		--sample_size=64k --ceiling=no --quiet "$@"
}
exits "what a thread of an engine opens is a file of its workers" 0 \
	library --ioengine=./library.so
exits "also where it is wrapped" 0 library --ioengine=fault --engine=./library.so
if can_trace; then
	tables()
	{
		traced trace unshare \
			"$MLGEN" "$skeleton/skeleton.job" --quiet "$@" \
			>/dev/null 2>&1
		grep -c CLONE_FILES trace
	}
	case ,${SANITIZE:-}, in
	*,thread,*)	some=0 ;;
	*)		some="[1-9]" ;;
	esac
	like "an engine that says so has a table for each worker" \
		"$(tables --ioengine=./private.so)" "^$some"
	like "as the built-in ones do" "$(tables --ioengine=psync)" "^$some"
	like "and one that wraps such an engine" \
		"$(tables --ioengine=fault --engine=psync)" "^$some"
	is "no other shared object" "$(tables --ioengine=./library.so)" 0
	is "nor one that wraps it" \
		"$(tables --ioengine=fault --engine=./library.so)" 0
else
	skip "who has a table for each worker" "strace is not here"
fi

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
refused "another ABI" ./abi.so './abi\.so: built for engine ABI 77, but this mlgen has ABI 5;'
refused "another size" ./size.so './size\.so: its table has 8 bytes, not [0-9]+;'
refused "no submit" ./submit.so './submit\.so: its table must set name, help and submit'
exits "options of an engine that is missing are refused" 2 "$MLGEN" \
	--name=x --ioengine=./none.so --directory="$T/no" --other=1
like "as what nobody can know" "$(cat err)" \
	'^mlgen: other: unknown option, unless it belongs to ioengine=./none.so, '
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
