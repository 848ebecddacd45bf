/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_checkpoint.c - what limits saving or restoring a model's state. */
#include "report/verdict_checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "report/show.h"
#include "report/verdict.h"
#include "report/verdict_host.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define NETWORK_PERCENT 90.0 /* of the line rate */
#define DATA_PERCENT 20.0    /* of the ranks' time */
#define STORAGE_PERCENT 80.0 /* of it, in I/O calls */
#define FSYNC_PERCENT 50.0   /* of it: what write() left behind decides */
#define MOST_IN_FLIGHT 512   /* more are no experiment any more */
#define MOST_THREADS 64      /* of a rank */

/* All that a verdict is made from. */
struct findings {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	const struct checkpoints_result *c;
	struct show_shares ranks;
	struct rate_unit unit;
	bool is_restore;
};

/* Each appends its sentence; nothing appended = nothing to say. */
typedef void sentence(struct buf *out, const struct findings *f);

static double io_share(const struct findings *f)
{
	static const char *const kinds[] = { "write", "read", "fsync", "open",
					     "close" };
	double sum = 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		sum += show_share(&f->ranks, kinds[i]);
	return sum;
}

static uint64_t in_flight(const struct findings *f)
{
	return f->c->threads * job_depth(f->job);
}

/* Twice as many: the experiment that tells bandwidth from latency. */
static bool put_more_threads(struct buf *out, const struct findings *f)
{
	uint64_t threads = f->job->checkpoint_threads * 2;
	if (threads > MOST_THREADS || in_flight(f) >= MOST_IN_FLIGHT)
		return false;
	buf_addf(out,
		 "--checkpoint_threads=%" PRIu64 " : is it bandwidth, or too "
		 "few %s in flight (%" PRIu64 " now)?",
		 threads, f->is_restore ? "reads" : "writes", in_flight(f));
	return true;
}

/* O_DIRECT takes requests of bs, or the layout's own chunks. */
static bool can_be_direct(const struct job *j)
{
	return !j->direct && (j->access == ACCESS_PLAIN ||
			      j->checkpoint_layout == LAYOUT_STREAM);
}

/* ---- memory ---- */

/* Of a save: percent of its bytes that were not on storage at the end. */
static double in_memory_percent(const struct checkpoints_result *c)
{
	if (c->durable)
		return 0;
	if (c->in_memory_bytes == UINT64_MAX || c->bytes == 0)
		return (double)NAN;
	return 100 * (double)c->in_memory_bytes / (double)c->bytes;
}

static bool memory_holds(const struct findings *f)
{
	if (verdict_without_storage(f->job))
		return false;
	if (f->ml->storage.is_memory)
		return true;
	if (f->job->direct)
		return false;
	if (f->is_restore)
		return f->ml->storage.memory_percent > VERDICT_MEMORY_PERCENT;
	return !(in_memory_percent(f->c) <= VERDICT_MEMORY_PERCENT);
}

static void memory_headline(struct buf *out, const struct findings *f)
{
	const struct storage_result *s = &f->ml->storage;
	char percent[UNITS_TEXT_BYTES];
	if (s->is_memory)
		buf_addf(out, "%s keeps files in memory",
			 s->filesystem ? s->filesystem : "this filesystem");
	else if (f->is_restore)
		buf_addf(out,
			 "%s of the bytes came from this host's page cache",
			 show_percent(percent, s->memory_percent));
	else
		buf_add(out, "checkpoint_fsync=none: this is how fast memory "
			     "took them");
}

static void memory_because(struct buf *out, const struct findings *f)
{
	const struct storage_result *s = &f->ml->storage;
	char part[SHOW_PART_BYTES], bytes[UNITS_TEXT_BYTES],
		memory[UNITS_TEXT_BYTES];
	double size = (double)f->c->bytes;
	double ram = (double)f->run->host.memory_bytes;
	units_human_bytes(bytes, size);
	units_human_bytes(memory, ram);
	if (s->is_memory)
		buf_addf(out, "%s is %s: no storage was touched",
			 s->mount_target ? s->mount_target : "the directory",
			 s->filesystem ? s->filesystem : "memory");
	else if (f->is_restore)
		buf_addf(out, "what was restored (%s) %s memory (%s)", bytes,
			 size <= ram ? "fits into" : "lies partly in", memory);
	else if (f->c->in_memory_bytes == UINT64_MAX)
		buf_add(out, "nothing was flushed, and nothing tells how much "
			     "was written");
	else
		buf_addf(out,
			 "nothing was flushed: %s were in memory at the "
			 "end",
			 show_part_of(part, (double)f->c->in_memory_bytes,
				      size));
}

static void memory_try(struct buf *out, const struct findings *f)
{
	if (f->ml->storage.is_memory)
		buf_add(out, "--checkpoint_directory=PATH : a directory on "
			     "storage");
	else if (!f->is_restore)
		buf_add(out, "--checkpoint_fsync=file : until storage has the "
			     "bytes");
	else if (!f->c->caches_dropped)
		buf_add(out, "--drop_caches=run : the same from empty caches");
	else if (can_be_direct(f->job))
		buf_add(out, "--direct=1 : requests that pass by the page "
			     "cache");
	else
		buf_add(out, "--checkpoint_ranks=RANKS "
			     "--checkpoint_directory=PATH : those of another "
			     "host, whose files this one has not written");
}

/* ---- network ---- */

static void put_cpu(struct buf *out, const struct findings *f)
{
	char percent[UNITS_TEXT_BYTES];
	buf_addf(out, "host CPU %s",
		 show_percent(percent, f->ml->host.cpu_percent));
}

static bool network_holds(const struct findings *f)
{
	return f->is_restore && f->ml->network.percent >= NETWORK_PERCENT;
}

static void network_headline(struct buf *out, const struct findings *f)
{
	const struct network_result *n = &f->ml->network;
	char carried[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];
	buf_addf(out, "%s carried %s of %s Gb/s", n->interface,
		 show_gigabits(carried, n->received_bits_per_sec),
		 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

static void network_because(struct buf *out, const struct findings *f)
{
	char percent[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	buf_addf(out, "that is %s of its line rate, for %s of checkpoints; ",
		 show_percent(percent, f->ml->network.percent),
		 show_rate(rate, &f->unit, f->c->bytes_per_sec));
	put_cpu(out, f);
}

static void network_try(struct buf *out, const struct findings *f)
{
	(void)f;
	buf_add(out, "a faster link, or more hosts; not a statement about "
		     "storage");
}

/* ---- host ---- */

static bool host_is_full(const struct findings *f)
{
	return f->ml->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static bool host_holds(const struct findings *f)
{
	return host_is_full(f) || show_share(&f->ranks, "data") >= DATA_PERCENT;
}

static void host_headline(struct buf *out, const struct findings *f)
{
	if (!host_is_full(f)) {
		buf_addf(out, "%s data took %.1f%% of the ranks' time",
			 f->is_restore ? "checking" : "making",
			 show_share(&f->ranks, "data"));
		return;
	}
	verdict_put_full(out, &f->ml->host, &f->run->host);
	buf_add(out, ": this host may be the limit, not storage");
}

static void host_because(struct buf *out, const struct findings *f)
{
	verdict_put_cpu(out, &f->ml->host);
	buf_addf(out, "; data %.1f%% of rank time",
		 show_share(&f->ranks, "data"));
}

static void host_try(struct buf *out, const struct findings *f)
{
	if (host_is_full(f) && verdict_cpu_is_of_others(&f->ml->host))
		buf_add(out, "the same while nothing else runs on these CPUs");
	else if (f->is_restore && f->c->verified)
		buf_add(out, "--verify=none : the same without checking");
	else if (can_be_direct(f->job))
		buf_add(out, "--direct=1 : less copying on these CPUs");
	else if (f->c->ranks > 1)
		buf_add(out, "fewer ranks here, or more hosts; not a statement "
			     "about storage");
}

/* ---- storage ---- */

static bool storage_holds(const struct findings *f)
{
	return !verdict_without_storage(f->job) &&
	       io_share(f) >= STORAGE_PERCENT;
}

static void storage_headline(struct buf *out, const struct findings *f)
{
	char rate[UNITS_TEXT_BYTES];
	buf_addf(out, "storage %s %s", f->is_restore ? "delivered" : "took",
		 show_rate(rate, &f->unit, f->c->bytes_per_sec));
	buf_addf(out, " %s %" PRIu64 " rank%s", f->is_restore ? "to" : "of",
		 f->c->ranks, f->c->ranks == 1 ? "" : "s");
	if (!f->is_restore && !f->c->durable)
		buf_add(out, "; nothing was flushed (checkpoint_fsync=none)");
}

static void storage_because(struct buf *out, const struct findings *f)
{
	const char *main_kind = f->is_restore ? "read" : "write";
	double fsync = show_share(&f->ranks, "fsync");
	buf_addf(out,
		 "ranks spent %.1f%% of their time in I/O calls, %s %.1f%%",
		 io_share(f), main_kind, show_share(&f->ranks, main_kind));
	if (fsync > 0)
		buf_addf(out, ", fsync %.1f%%", fsync);
	buf_add(out, "; ");
	put_cpu(out, f);
}

static void storage_try(struct buf *out, const struct findings *f)
{
	if (!f->is_restore && can_be_direct(f->job) &&
	    show_share(&f->ranks, "fsync") >= FSYNC_PERCENT)
		buf_add(out, "--direct=1 : is it storage, or this host writing "
			     "back its page cache?");
	else
		put_more_threads(out, f);
}

/* ---- unclear ---- */

static bool unclear_holds(const struct findings *f)
{
	(void)f;
	return true;
}

static void unclear_headline(struct buf *out, const struct findings *f)
{
	char cpu[UNITS_TEXT_BYTES];
	show_percent(cpu, f->ml->host.cpu_percent);
	if (verdict_without_storage(f->job))
		buf_addf(out,
			 "no storage in this (ioengine=null), and CPU %s does "
			 "not decide",
			 cpu);
	else
		buf_addf(out,
			 "ranks in I/O calls %.1f%%, CPU %s: neither "
			 "decides",
			 io_share(f), cpu);
}

static void unclear_because(struct buf *out, const struct findings *f)
{
	buf_addf(out, "data %.1f%%, other %.1f%% of rank time",
		 show_share(&f->ranks, "data"), show_share(&f->ranks, "other"));
}

static void unclear_try(struct buf *out, const struct findings *f)
{
	if (verdict_without_storage(f->job))
		buf_add(out, "--ioengine=psync : the same with storage");
	else
		put_more_threads(out, f);
}

/* In the order in which they are tried; the last always holds. */
static const struct {
	const char *name;
	bool (*holds)(const struct findings *f);
	sentence *headline, *because, *try_next;
} verdicts[] = {
	{ "memory", memory_holds, memory_headline, memory_because, memory_try },
	{ "network", network_holds, network_headline, network_because,
	  network_try },
	{ "host", host_holds, host_headline, host_because, host_try },
	{ "storage", storage_holds, storage_headline, storage_because,
	  storage_try },
	{ "unclear", unclear_holds, unclear_headline, unclear_because,
	  unclear_try },
};

/* The sentence for *to; NULL where there is nothing to say. */
static void say(char **to, sentence *what, const struct findings *f)
{
	struct buf b = { 0 };
	what(&b, f);
	mem_replace(to, b.len ? buf_str(&b) : NULL);
	buf_fini(&b);
}

void verdict_fill_checkpoint(const struct run_result *run, struct job_result *j)
{
	struct verdict_result *out = &j->ml.verdict;
	struct findings f = { .run = run,
			      .result = j,
			      .job = j->job,
			      .ml = &j->ml,
			      .c = job_result_checkpoints(j),
			      .is_restore = j->job->phase == PHASE_RESTORE };
	size_t i = 0;
	if (f.c->completed == 0)
		return;
	show_rank_time(&f.c->rank_percent, &f.ranks);
	f.unit = show_rate_unit(f.c->bytes_per_sec);
	while (!verdicts[i].holds(&f))
		i++;
	mem_replace(&out->name, verdicts[i].name);
	say(&out->headline, verdicts[i].headline, &f);
	say(&out->because, verdicts[i].because, &f);
	say(&out->try_next, verdicts[i].try_next, &f);
}
