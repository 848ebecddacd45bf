/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_io.c - when the figures of a plain job are not those of the storage. */
#include "report/verdict_io.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "report/show.h"
#include "report/verdict.h"
#include "report/verdict_errors.h"
#include "report/verdict_host.h"

static bool is_memory(const struct job_result *j)
{
	const struct storage_result *s = &j->io.storage;
	if (verdict_without_storage(j->job))
		return false;
	return s->is_memory || (!j->job->direct && j->read.total_ios > 0 &&
				s->memory_percent > VERDICT_MEMORY_PERCENT);
}

static void say_memory(struct verdict_result *v, const struct run_result *run,
		       const struct job_result *j)
{
	const struct storage_result *s = &j->io.storage;
	double bytes = (double)j->io.file_bytes;
	double ram = (double)run->host.memory_bytes;
	char percent[UNITS_TEXT_BYTES], files[UNITS_TEXT_BYTES],
		memory[UNITS_TEXT_BYTES];
	struct buf headline = { 0 }, because = { 0 };
	mem_replace(&v->name, "memory");
	units_human_bytes(files, bytes);
	units_human_bytes(memory, ram);
	if (s->is_memory) {
		buf_addf(&headline, "%s keeps files in memory",
			 s->filesystem ? s->filesystem : "this filesystem");
		buf_addf(&because, "%s is %s: no storage was touched",
			 s->mount_target ? s->mount_target : "the directory",
			 s->filesystem ? s->filesystem : "memory");
		mem_replace(&v->try_next,
			    "--directory=PATH : a directory on storage");
	} else {
		buf_addf(&headline,
			 "%s of the bytes read came from this host's page "
			 "cache",
			 show_percent(percent, s->memory_percent));
		buf_addf(&because, "the files (%s) %s memory (%s)", files,
			 bytes <= ram ? "fit into" : "lie partly in", memory);
		mem_replace(&v->try_next,
			    "--direct=1 : requests that pass by the page "
			    "cache");
	}
	mem_replace(&v->headline, buf_str(&headline));
	mem_replace(&v->because, buf_str(&because));
	buf_fini(&headline);
	buf_fini(&because);
}

static void say_host(struct verdict_result *v, const struct run_result *run,
		     const struct job_result *j)
{
	const struct host_result *h = &j->io.host;
	struct buf text = { 0 };
	mem_replace(&v->name, "host");
	verdict_put_full(&text, h, &run->host);
	buf_add(&text, ": this host may be the limit, not storage");
	mem_replace(&v->headline, buf_str(&text));
	buf_reset(&text);
	verdict_put_cpu(&text, h);
	mem_replace(&v->because, buf_str(&text));
	if (verdict_cpu_is_of_others(h))
		mem_replace(&v->try_next, "the same while nothing else runs "
					  "on these CPUs");
	buf_fini(&text);
}

static void say_errors(struct verdict_result *v, const struct job_result *j)
{
	const struct verdict_findings f = { .result = j, .job = j->job };
	struct buf text = { 0 };
	mem_replace(&v->name, "errors");
	verdict_errors_headline(&text, &f);
	mem_replace(&v->headline, buf_str(&text));
	buf_reset(&text);
	verdict_errors_because(&text, &f);
	mem_replace(&v->because, text.len ? buf_str(&text) : NULL);
	buf_reset(&text);
	verdict_errors_try(&text, &f);
	mem_replace(&v->try_next, buf_str(&text));
	buf_fini(&text);
}

void verdict_fill_io(const struct run_result *run, struct job_result *j)
{
	struct verdict_result *v = &j->io.verdict;
	if (verdict_is_errors(j)) {
		say_errors(v, j);
		return;
	}
	if (j->read.total_ios + j->write.total_ios == 0)
		return;
	if (is_memory(j))
		say_memory(v, run, j);
	else if (j->io.host.cpu_percent >= VERDICT_CPU_PERCENT)
		say_host(v, run, j);
}
