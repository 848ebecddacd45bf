/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_io.c - when the figures of a plain job are not those of the storage. */
#include "work/plain/verdict_io.h"

#include "base/buf.h"
#include "job/job.h"
#include "report/show.h"
#include "report/verdict.h"
#include "report/verdict_errors.h"
#include "report/verdict_parts.h"

static bool has_moved(const struct verdict_findings *f)
{
	return f->result->read.total_ios + f->result->write.total_ios > 0;
}

static bool memory_holds(const struct verdict_findings *f)
{
	const struct storage_result *s = &f->result->storage;

	if (!has_moved(f) || verdict_without_storage(f->job))
		return false;
	return s->is_memory || (!f->job->direct && f->result->read.total_ios > 0 &&
				s->memory_percent > VERDICT_MEMORY_PERCENT);
}

static void memory_headline(struct buf *out, const struct verdict_findings *f)
{
	if (!verdict_keeps_in_memory(out, f))
		verdict_say(out, f,
			    "{io.storage.memory_percent} of the bytes read came from this host's "
			    "page cache");
}

static void memory_because(struct buf *out, const struct verdict_findings *f)
{
	double bytes = (double)f->result->io.file_bytes;
	double ram = (double)host_all_memory(&f->run->host);
	char memory[UNITS_TEXT_BYTES];

	if (verdict_is_in_memory(out, f, "touched"))
		return;
	verdict_say(out, f, "the files ({io.file_bytes}) ");
	buf_addf(out, "%s memory (%s)", bytes <= ram ? "fit into" : "lie partly in",
		 units_human_bytes(memory, ram));
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	if (f->result->storage.is_memory)
		buf_add(out, "--directory=PATH : a directory on storage");
	else if (f->result->io.replay.trace)
		buf_add(out,
			"--memory_limit=SIZE : less than the files, so that storage has to answer");
	else if (advice_direct(f->job))
		buf_add(out, "--direct=1 : requests that pass by the page cache");
	else
		buf_add(out,
			"a larger --size, or files on another host: what memory has answers here");
}

static bool host_holds(const struct verdict_findings *f)
{
	return has_moved(f) && f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static void host_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_full(out, &f->result->host, &f->run->host);
	buf_add(out, ": this host may be the limit, not storage");
}

static void host_because(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_cpu(out, &f->result->host);
}

static void host_try(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_cpu_is_of_others(&f->result->host))
		buf_add(out, "the same while nothing else runs on these CPUs");
}

static const struct verdict verdicts[] = {
	{ "errors", verdict_errors_holds, verdict_errors_headline, verdict_errors_because,
	  verdict_errors_try },
	{ "memory", memory_holds, memory_headline, memory_because, memory_try },
	{ "host", host_holds, host_headline, host_because, host_try },
	{ 0 },
};

void verdict_fill_io(const struct run_result *run, struct job_result *j)
{
	const struct verdict_findings f = { .run = run, .result = j, .job = j->job };

	verdict_take(&j->verdict, verdicts, &f);
}
