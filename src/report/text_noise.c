/* SPDX-License-Identifier: Apache-2.0 */
/* text_noise.c - see text_noise.h. */
#include "report/text_noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/wrap.h"
#include "report/text_tables.h"

/* "Slowest" is named from twice the median on. */
#define STANDS_OUT 2.0

/* So far beyond the others: more than the histogram's error. */
#define BEYOND 1.01

/* Fewer stalls of a rank than this say little of its mean; and what is less than so much of a step
 * is not to be seen in AU. */
#define ENOUGH_STALLS 10
#define SHARE_OF_STEP 0.01

/* Workers that waited for a CPU for so much of the time that they could have run, while the host
 * was no busier than this, were put on the same CPUs. */
#define CROWDED_LEAST 20.0
#define CROWDED_BUSY_MOST 75.0

/* Percent of the accelerators' time: AU is given to a tenth of that. */
#define LATE_LEAST 1.0

/* "; " between what is said. */
static void text_noise_say(struct buf *text, const char *what)
{
	if (text->len)
		buf_add(text, "; ");
	buf_add(text, what);
}

static void put_others(struct buf *text, const struct noise *n)
{
	char number[UNITS_TEXT_BYTES];

	text_noise_say(text, "other processes and the kernel had ");
	buf_addf(text, "%s of the CPUs", show_percent(number, n->other_percent));
	if (n->guest_percent >= 1)
		buf_addf(text, ", virtual machines %s", show_percent(number, n->guest_percent));
	if (!isnan(n->pressure_cpu_percent))
		buf_addf(text, ", threads waited for one %s of the time",
			 show_percent(number, n->pressure_cpu_percent));
}

static void put_throttled(struct buf *text, const struct noise *n)
{
	char times[UNITS_TEXT_BYTES], percent[UNITS_TEXT_BYTES];

	text_noise_say(text, "the CPU quota of its control group stopped it ");
	buf_addf(text, "%s time%s, %s of the time", units_human_count(times, n->throttled),
		 n->throttled == 1 ? "" : "s", show_percent(percent, n->throttled_percent));
}

static void put_crowded(struct buf *text, const struct text_block *b)
{
	const struct thread_cpu_result *t = &b->result->thread_cpu;
	double waited =
		100 * t->workers_waited_seconds / (t->workers_waited_seconds + t->workers_seconds);
	char part[UNITS_TEXT_BYTES], busy[UNITS_TEXT_BYTES];

	if (!(waited >= CROWDED_LEAST) || !(b->host->cpu_percent <= CROWDED_BUSY_MOST))
		return;
	text_noise_say(text, "its threads were ready to run and had no CPU ");
	buf_addf(text,
		 "%s of the time, while CPUs were %s busy: the kernel kept them on the same ones",
		 show_percent(part, waited), show_percent(busy, b->host->cpu_percent));
}

void text_noise(struct buf *text, const struct text_block *b)
{
	const struct noise *n = &b->host->noise;
	unsigned kinds = noise_touches(n, b->host->cpu_percent);
	char number[UNITS_TEXT_BYTES];

	if (kinds & NOISE_STEAL) {
		text_noise_say(text, "the hypervisor took ");
		buf_addf(text, "%s of the CPUs", show_percent(number, n->steal_percent));
	}
	if (kinds & NOISE_OTHER)
		put_others(text, n);
	if (kinds & NOISE_THROTTLED)
		put_throttled(text, n);
	if (kinds & NOISE_HOT) {
		text_noise_say(text, "heat slowed CPUs down ");
		buf_addf(text, "%s time%s", units_human_count(number, n->hot),
			 n->hot == 1 ? "" : "s");
	}
	if (kinds & NOISE_MEMORY) {
		text_noise_say(text, "threads waited for memory ");
		buf_addf(text, "%s of the time", show_percent(number, n->pressure_memory_percent));
		if (b->run->host.memory_limit_bytes)
			buf_add(text, " (of memory_limit)");
	}
	put_crowded(text, b);
	if (b->ml->time_percent.oversleep >= LATE_LEAST) {
		text_noise_say(text, "late wake-ups were ");
		buf_addf(text, "%s of accelerator time",
			 show_percent(number, b->ml->time_percent.oversleep));
	}
}

/* The highest percentile that so many values know: what is not beyond it is one of many. */
static double highest_percentile(uint64_t count)
{
	return count >= 1000 ? 99.9 : count >= 100 ? 99 : 90;
}

static bool sample_stands_out(const struct text_block *b, double *median_ns)
{
	const struct hist *h = b->ml->sample_ns;
	double ns = b->storage->slowest_sample_ns;

	if (!b->storage->slowest_file[0] || !h || h->count == 0)
		return false;
	*median_ns = (double)hist_percentile(h, 50);
	return ns > STANDS_OUT * *median_ns &&
	       ns > BEYOND * (double)hist_percentile(h, highest_percentile(h->count));
}

static bool rank_stands_out(const struct text_block *b)
{
	const struct ml_result *ml = b->ml;
	const struct slowest_rank *s = &ml->slowest_rank;
	uint64_t ranks = ml->accelerators ? ml->accelerators : 1;

	return s->rank != UINT64_MAX && ml->counted_steps >= ENOUGH_STALLS * ranks && ml->step_ns &&
	       s->stall_mean_ns > STANDS_OUT * s->stall_median_ns &&
	       s->stall_mean_ns - s->stall_median_ns > SHARE_OF_STEP * hist_mean(ml->step_ns);
}

void text_slowest(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	const struct slowest_rank *r = &b->ml->slowest_rank;
	char one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];
	double median_ns;

	if (sample_stands_out(b, &median_ns)) {
		buf_addf(text, "%s in %s (%s): ", text_unit_read(b->ml), s->slowest_file,
			 units_human_bytes(one, (double)s->slowest_file_bytes));
		buf_addf(text, "%s ms, p50 %s", units_human_ms(one, s->slowest_sample_ns),
			 units_human_ms(other, median_ns));
	}
	if (rank_stands_out(b)) {
		text_noise_say(text, "accelerator ");
		buf_addf(text, "%" PRIu64 ": stall %s ms on the mean, median of all %s", r->rank,
			 units_human_ms(one, r->stall_mean_ns),
			 units_human_ms(other, r->stall_median_ns));
	}
}

/* Blanks in quotes are its own; see host_read_command. */
static size_t argument_length(const char *at)
{
	bool is_quoted = false;
	size_t n = 0;

	for (; at[n] && (is_quoted || at[n] != ' '); n++)
		if (at[n] == '\'')
			is_quoted = !is_quoted;
		else if (!is_quoted && at[n] == '\\' && at[n + 1])
			n++;
	return n;
}

void text_put_command(struct buf *out, const char *label, unsigned indent, const char *command)
{
	const char *at = command;
	size_t used = 0;

	if (!*at)
		return;
	buf_addf(out, "%-*s", (int)indent, label);
	while (*at) {
		/* A blank, and what goes on behind the line. */
		size_t len = argument_length(at);

		if (used && indent + used + 1 + len + 2 > wrap_columns()) {
			buf_addf(out, " \\\n%*s", (int)indent, "");
			used = 0;
		}
		buf_add(out, used ? " " : "");
		buf_addn(out, at, len);
		used += len + (used > 0);
		at += len + (at[len] == ' ');
	}
	buf_addc(out, '\n');
}

void text_command(struct buf *out, const struct text_block *b)
{
	if (b->is_first)
		text_put_command(out, "command", TEXT_SETTING_INDENT, b->run->host.command);
}
