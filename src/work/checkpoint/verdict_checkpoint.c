/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_checkpoint.c - find the limit of saving or restoring a model's state. */
#include "work/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "job/job.h"
#include "report/text/text.h"

#define DATA_PERCENT 20.0  /* percent of the ranks' time */
#define FSYNC_PERCENT 50.0 /* likewise; from here, the page cache may be the limit */
#define MOST_IN_FLIGHT 512 /* more requests are not worth trying */
#define MOST_THREADS 64    /* per rank */

static bool is_restore(const struct verdict_findings *f)
{
	return job_work(f->job)->restores;
}

static double io_share(const struct verdict_findings *f)
{
	static const char *const kinds[] = { "write", "read", "fsync", "open", "close" };
	double sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		sum += show_share(&f->ranks, kinds[i]);
	return sum;
}

static uint64_t in_flight(const struct verdict_findings *f)
{
	return f->checkpoints->threads * job_depth(f->job);
}

/* Suggest twice as many threads: the experiment that tells bandwidth from latency. */
static void suggest_more_threads(struct buf *out, const struct verdict_findings *f)
{
	uint64_t threads = f->job->checkpoint_threads * 2;

	if (threads > MOST_THREADS || in_flight(f) >= MOST_IN_FLIGHT)
		return;
	buf_addf(out,
		 "--checkpoint_threads=%" PRIu64
		 " : is it bandwidth, or too few %s in flight (%" PRIu64 " now)?",
		 threads, is_restore(f) ? "reads" : "writes", in_flight(f));
}

/* ---- memory ---- */

static bool memory_holds(const struct verdict_findings *f)
{
	const struct checkpoints_result *c = f->checkpoints;

	if (verdict_without_storage(f->job))
		return false;
	if (f->result->storage.is_memory)
		return true;
	if (f->job->direct)
		return false;
	if (is_restore(f))
		return f->result->storage.memory_percent > VERDICT_MEMORY_PERCENT;
	if (c->durable)
		return false;
	/* Some of the saved bytes were not on storage at the end. */
	if (c->in_memory_bytes == UINT64_MAX || c->bytes == 0)
		return true;
	return 100 * (double)c->in_memory_bytes / (double)c->bytes > VERDICT_MEMORY_PERCENT;
}

static void memory_headline(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_keeps_in_memory(out, f))
		return;
	if (is_restore(f))
		verdict_say(out, f,
			    "{ml.storage.memory_percent} of the bytes came from this host's page "
			    "cache");
	else
		buf_add(out, "checkpoint_fsync=none: this is how fast memory accepted the bytes");
}

static void memory_because(struct buf *out, const struct verdict_findings *f)
{
	char part[SHOW_PART_BYTES], bytes[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];
	double size = (double)f->checkpoints->bytes;
	double ram = (double)f->run->host.memory_bytes;

	units_human_bytes(bytes, size);
	units_human_bytes(memory, ram);
	if (verdict_is_in_memory(out, f, "touched"))
		return;
	if (is_restore(f))
		buf_addf(out, "the restored bytes (%s) %s memory (%s)", bytes,
			 size <= ram ? "fit into" : "are partly in", memory);
	else if (f->checkpoints->in_memory_bytes == UINT64_MAX)
		buf_add(out, "nothing was flushed, and it is unknown how much was written");
	else
		buf_addf(out, "nothing was flushed: %s were in memory at the end",
			 show_part_of(part, (double)f->checkpoints->in_memory_bytes, size));
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	if (f->result->storage.is_memory)
		buf_add(out, "--checkpoint_directory=PATH : a directory on storage");
	else if (!is_restore(f))
		buf_add(out, "--checkpoint_fsync=file : until the bytes are on storage");
	else if (!f->checkpoints->caches_dropped)
		buf_add(out, "--drop_caches=run : the same with empty caches");
	else if (advice_direct(f->job))
		buf_add(out, "--direct=1 : requests that bypass the page cache");
	else
		buf_add(out, "--checkpoint_ranks=RANKS --checkpoint_directory=PATH : ranks of "
			     "another host, whose files this host has not written");
}

/* ---- network ---- */

static bool network_holds(const struct verdict_findings *f)
{
	return is_restore(f) && verdict_network_is_full(f);
}

static void network_because(struct buf *out, const struct verdict_findings *f)
{
	verdict_say(out, f,
		    "that is {ml.network.percent} of its line rate, for "
		    "{checkpoints.bytes_per_sec} of checkpoints; host CPU {ml.host.cpu_percent}");
}

static void network_try(struct buf *out, const struct verdict_findings *f)
{
	(void)f;
	buf_add(out, "a faster link, or more hosts; this is not a statement about storage");
}

/* ---- host ---- */

static bool host_is_full(const struct verdict_findings *f)
{
	return f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static bool host_holds(const struct verdict_findings *f)
{
	return host_is_full(f) || show_share(&f->ranks, "data") >= DATA_PERCENT;
}

static void host_headline(struct buf *out, const struct verdict_findings *f)
{
	if (!host_is_full(f)) {
		buf_addf(out, "%s data took %.1f%% of the ranks' time",
			 is_restore(f) ? "checking" : "generating", show_share(&f->ranks, "data"));
		return;
	}
	verdict_append_full_cpu(out, &f->result->host, &f->run->host);
	buf_add(out, ": this host may be the limit, not storage");
}

static void host_because(struct buf *out, const struct verdict_findings *f)
{
	verdict_append_cpu(out, &f->result->host);
	buf_addf(out, "; data %.1f%% of rank time", show_share(&f->ranks, "data"));
}

static void host_try(struct buf *out, const struct verdict_findings *f)
{
	if (host_is_full(f) && verdict_cpu_is_foreign(&f->result->host))
		buf_add(out, "the same job while nothing else runs on these CPUs");
	else if (is_restore(f) && f->checkpoints->verified)
		buf_add(out, "--verify=none : the same without checking");
	else if (advice_direct(f->job))
		buf_add(out, "--direct=1 : less copying on these CPUs");
	else if (f->checkpoints->ranks > 1)
		buf_add(out,
			"fewer ranks here, or more hosts; this is not a statement about storage");
}

/* ---- storage ---- */

static bool storage_holds(const struct verdict_findings *f)
{
	return !verdict_without_storage(f->job) && io_share(f) >= VERDICT_STORAGE_PERCENT;
}

static void storage_headline(struct buf *out, const struct verdict_findings *f)
{
	if (is_restore(f))
		verdict_say(out, f,
			    "storage delivered {checkpoints.bytes_per_sec} to {checkpoints.ranks} "
			    "rank{s}");
	else
		verdict_say(out, f,
			    "storage accepted {checkpoints.bytes_per_sec} from {checkpoints.ranks} "
			    "rank{s}");
	if (!is_restore(f) && !f->checkpoints->durable)
		buf_add(out, "; nothing was flushed (checkpoint_fsync=none)");
}

static void storage_because(struct buf *out, const struct verdict_findings *f)
{
	const char *main_kind = is_restore(f) ? "read" : "write";
	double fsync = show_share(&f->ranks, "fsync");

	buf_addf(out, "ranks spent %.1f%% of their time in I/O calls, %s %.1f%%", io_share(f),
		 main_kind, show_share(&f->ranks, main_kind));
	if (fsync > 0)
		buf_addf(out, ", fsync %.1f%%", fsync);
	verdict_say(out, f, "; host CPU {ml.host.cpu_percent}");
}

static void storage_try(struct buf *out, const struct verdict_findings *f)
{
	if (!is_restore(f) && advice_direct(f->job) &&
	    show_share(&f->ranks, "fsync") >= FSYNC_PERCENT)
		buf_add(out,
			"--direct=1 : is it storage, or this host writing back its page cache?");
	else
		suggest_more_threads(out, f);
}

/* ---- unclear ---- */

static bool unclear_holds(const struct verdict_findings *f)
{
	(void)f;
	return true;
}

static void unclear_headline(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_without_storage(f->job)) {
		verdict_say(out, f,
			    "ioengine=null uses no storage, and CPU {ml.host.cpu_percent} shows no "
			    "limit");
		return;
	}
	buf_addf(out, "ranks in I/O calls %.1f%%", io_share(f));
	verdict_say(out, f, ", CPU {ml.host.cpu_percent}: neither shows the limit");
}

static void unclear_because(struct buf *out, const struct verdict_findings *f)
{
	buf_addf(out, "data %.1f%%, other %.1f%% of rank time", show_share(&f->ranks, "data"),
		 show_share(&f->ranks, "other"));
}

static void unclear_try(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_without_storage(f->job))
		buf_add(out, "--ioengine=psync : the same with storage");
	else
		suggest_more_threads(out, f);
}

/* The first verdict that holds is reported; the last always holds. */
static const struct verdict verdicts[] = {
	{ "memory", memory_holds, memory_headline, memory_because, memory_try },
	{ "network", network_holds, verdict_network_headline, network_because, network_try },
	{ "host", host_holds, host_headline, host_because, host_try },
	{ "storage", storage_holds, storage_headline, storage_because, storage_try },
	{ "unclear", unclear_holds, unclear_headline, unclear_because, unclear_try },
	{ 0 },
};

void verdict_fill_checkpoint(const struct run_result *run, struct job_result *j)
{
	struct verdict_findings f = {
		.run = run,
		.result = j,
		.job = j->job,
		.ml = &j->ml,
		.checkpoints = job_result_checkpoints(j),
	};

	if (f.checkpoints->completed == 0)
		return;
	show_rank_time(&f.checkpoints->rank_percent, &f.ranks);
	verdict_choose(&j->verdict, verdicts, &f);
}
