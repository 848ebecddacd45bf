/* SPDX-License-Identifier: Apache-2.0 */
/* program_hosts.c - outputs and exit status of a job of several processes; see program.h. */
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ask/search/search.h"
#include "base/buf.h"
#include "base/mem.h"
#include "hosts/hosts.h"

/* Add the rank to a file name: "dir/a.mlt" becomes "dir/a.3.mlt". */
static void add_rank(char **path, unsigned rank)
{
	struct buf with = { 0 };

	if (!*path)
		return;
	const char *slash = strrchr(*path, '/');
	const char *name = slash ? slash + 1 : *path;
	const char *dot = strrchr(name, '.');
	size_t before = dot && dot > name ? (size_t)(dot - *path) : strlen(*path);
	buf_addf(&with, "%.*s.%u%s", (int)before, *path, rank, *path + before);
	mem_replace(path, buf_str(&with));
	buf_fini(&with);
}

/* Add up the memory of all hosts; rank 0 sends the sum to the other ranks. */
static int share_memory(struct program *p, struct mlgen_err *err)
{
	struct hosts *h = p->hosts;
	uint64_t sum = 0, one;
	struct buf all = { 0 }, total = { 0 };
	int rc = hosts_gather(h, &p->host.memory_bytes, sizeof(one), &all, err);

	for (unsigned i = 0; rc == 0 && i < hosts_total(h); i++) {
		size_t n = 0;
		const char *part = hosts_rank(h) ? NULL : hosts_part(&all, i, &n);

		if (part && n == sizeof(one) && hosts_is_first_on_host(h, i)) {
			memcpy(&one, part, sizeof(one));
			sum += one;
		}
	}
	buf_addn(&total, (const char *)&sum, sizeof(sum));
	if (rc == 0)
		rc = hosts_broadcast(h, &total, err);
	if (rc == 0)
		memcpy(&sum, buf_str(&total), sizeof(sum));
	p->host.other_hosts = hosts_count(h) - 1;
	p->host.others_memory_bytes = sum > p->host.memory_bytes ? sum - p->host.memory_bytes : 0;
	buf_fini(&total);
	buf_fini(&all);
	return rc;
}

int program_join(struct program *p, struct mlgen_err *err)
{
	struct settings *set = &p->set.settings;
	unsigned rank = hosts_rank(p->hosts);
	uint64_t count = hosts_count(p->hosts);

	p->ask.hosts = p->hosts;
	if (hosts_total(p->hosts) == 1)
		return 0;
	/* --hosts tells a question how many hosts the job has. */
	if (set->hosts && set->hosts != count)
		return mlgen_fail(err, -EINVAL,
				  "hosts=%" PRIu64 ": the launcher started this job on %" PRIu64
				  " hosts; leave out --hosts",
				  set->hosts, count);
	set->hosts = count;
	if (share_memory(p, err) < 0)
		return err->code;
	add_rank(&set->trace, rank);
	for (size_t i = 0; i < p->set.count; i++)
		add_rank(&p->set.jobs[i]->write_iolog, rank);
	if (rank == 0)
		return 0;
	p->is_mute = true;
	mem_replace(&set->output, NULL);
	mem_replace(&set->json, NULL);
	mem_replace(&set->html, NULL);
	mem_replace(&set->log, NULL);
	mem_replace(&set->metrics, NULL);
	mem_replace(&set->metrics_file, NULL);
	set->eta = ETA_NEVER;
	set->status_interval_ns = 0;
	return 0;
}

int program_end_together(struct program *p, int status)
{
	if (hosts_rank(p->hosts))
		return probe_serve(&p->ask);
	return probe_dismiss(p->hosts, status);
}
