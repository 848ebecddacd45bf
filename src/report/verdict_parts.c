/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.c - see verdict_parts.h. */
#include "report/verdict_parts.h"

#include "base/mem.h"
#include "report/verdict.h"
#include "run/metrics_result.h"

static void verdict_parts_say(char **to, verdict_sentence *what, const struct verdict_findings *f)
{
	struct buf text = { 0 };

	what(&text, f);
	mem_replace(to, text.len ? buf_str(&text) : NULL);
	buf_fini(&text);
}

void verdict_take(struct verdict_result *to, const struct verdict *list,
		  const struct verdict_findings *f)
{
	while (list->name && !list->holds(f))
		list++;
	if (!list->name)
		return;
	mem_replace(&to->name, list->name);
	verdict_parts_say(&to->headline, list->headline, f);
	verdict_parts_say(&to->because, list->because, f);
	verdict_parts_say(&to->try_next, list->try_next, f);
}

/* clang-format off */
#define AT(m, t) TEMPLATE_AT(struct verdict_findings, m, t)
const struct template_scope verdict_scopes[] = {
	{ "", job_fields, AT(job, struct job) },
	{ "", metrics_result_fields, AT(result, struct job_result) },
	{ "checkpoints", metrics_checkpoints_fields, AT(checkpoints, struct checkpoints_result) },
	{ 0 },
};
#undef AT
/* clang-format on */

void verdict_template(struct buf *out, const struct template *t, const struct verdict_findings *f)
{
	template_put(out, t, f);
}

/* CPU time of the host that is not mlgen's own. */
static double cpu_of_others(const struct host_result *h)
{
	double others = h->cpu_percent - h->user_percent - h->system_percent;

	return others > 0 ? others : 0;
}

void verdict_put_cpu(struct buf *out, const struct host_result *h)
{
	buf_addf(out, "mlgen itself took usr %.1f%%, sys %.1f%%, other processes %.1f%%",
		 h->user_percent, h->system_percent, cpu_of_others(h));
}

void verdict_put_full(struct buf *out, const struct host_result *h, const struct host *host)
{
	double cpus = h->cpus > 0 ? h->cpus : (double)host->cpus;

	buf_addf(out,
		 show_is_of_quota(h) ? "CPU quota %.1f%% used (%.4g CPU%s)"
				     : "CPU %.1f%% busy (%.4g CPU%s)",
		 h->cpu_percent, cpus, cpus > 0.99 && cpus < 1.01 ? "" : "s");
}

bool verdict_cpu_is_of_others(const struct host_result *h)
{
	return cpu_of_others(h) > h->cpu_percent / 2;
}

bool verdict_network_is_full(const struct verdict_findings *f)
{
	return f->result->network.percent >= VERDICT_NETWORK_PERCENT;
}

void verdict_network_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct network_result *n = &f->result->network;
	char carried[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];

	buf_addf(out, "%s carried %s of %s Gb/s", n->interface,
		 show_gigabits(carried, n->received_bits_per_sec),
		 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

bool verdict_keeps_in_memory(struct buf *out, const struct verdict_findings *f)
{
	const struct storage_result *s = &f->result->storage;

	if (s->is_memory)
		buf_addf(out, "%s keeps files in memory",
			 s->filesystem ? s->filesystem : "this filesystem");
	return s->is_memory;
}

bool verdict_is_in_memory(struct buf *out, const struct verdict_findings *f, const char *verb)
{
	const struct storage_result *s = &f->result->storage;

	if (s->is_memory)
		buf_addf(out, "%s is %s: no storage was %s",
			 s->mount_target ? s->mount_target : "the directory",
			 s->filesystem ? s->filesystem : "memory", verb);
	return s->is_memory;
}
