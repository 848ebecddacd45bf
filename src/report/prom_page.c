/* SPDX-License-Identifier: Apache-2.0 */
/* prom_page.c - see prom_page.h. */
#include "report/prom_page.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/prom_hist.h"
#include "report/prom_text.h"
#include "run/host_look.h"

#define LOOK_LEAST_NS (NS_PER_S / 10)
/* Between two readings of what is per second of the host. */
#define RATE_LEAST_NS NS_PER_S

/* Of a job as it was looked at. */
struct seen {
	struct live live;
	enum live_phase phase; /* that it is at, or was at before it was done */
	struct prom_hist *hists;
};

struct prom_page {
	pthread_mutex_t lock; /* of all that follows */
	char *host;
	const struct run *run; /* NULL = none that could be looked at */
	size_t jobs;
	struct seen *seen; /* one of each job */
	struct live look;  /* with all the histograms there are */
	struct live_host now;
	struct host_look *host_look;
	uint64_t looked_ns;  /* CLOCK_MONOTONIC; 0 = not yet */
	struct buf texts[2]; /* of the last look; empty = not made yet */
};

static unsigned hists_of(const struct live_field *f)
{
	if (f->kind != LIVE_DISTRIBUTION || !prom_is_metric(f))
		return 0;
	return f->is_by_operation ? MLGEN_OPS : 1;
}

static unsigned hist_count(void)
{
	unsigned n = 0;

	for (const struct live_field *f = live_fields; f->field.name; f++)
		n += hists_of(f);
	return n;
}

static struct hist **hists_at(const struct live_field *f, struct live *l)
{
	return (struct hist **)(void *)((char *)l + f->field.off);
}

struct prom_page *prom_page_new(const char *host)
{
	struct prom_page *p = mem_zalloc(sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->host = mem_strdup(host);
	live_hists_new(&p->look);
	p->host_look = host_look_new();
	return p;
}

void prom_page_free(struct prom_page *p)
{
	if (!p)
		return;
	live_hists_free(&p->look);
	for (size_t i = 0; i < p->jobs; i++)
		mem_free(p->seen[i].hists);
	mem_free(p->seen);
	host_look_free(p->host_look);
	mem_free(p->host);
	buf_fini(&p->texts[0]);
	buf_fini(&p->texts[1]);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

/* ---- looking ---- */

/* Of one that is done: what it did last, so that its figures stay. */
static enum live_phase last_phase(const struct live *l)
{
	if (l->phase != LIVE_DONE)
		return l->phase;
	if (l->is_io)
		return LIVE_IO;
	if (l->epoch > 0)
		return LIVE_TRAIN;
	return l->checkpoint > 0 ? LIVE_CHECKPOINT : LIVE_PREPARE;
}

static void look_at_job(struct prom_page *p, size_t i)
{
	struct seen *s = &p->seen[i];
	struct prom_hist *h = s->hists;

	run_look(p->run, i, &p->look);
	s->live = p->look;
	s->phase = last_phase(&s->live);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		for (unsigned k = 0; k < hists_of(f); k++)
			prom_hist_of(h++, hists_at(f, &p->look)[k]);
}

static void look(struct prom_page *p)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; p->run && i < p->jobs; i++)
		look_at_job(p, i);
	host_look(p->host_look, &p->now, now_ns, now_ns - 2 * RATE_LEAST_NS);
	p->looked_ns = now_ns;
	buf_reset(&p->texts[0]);
	buf_reset(&p->texts[1]);
}

void prom_page_follow(struct prom_page *p, const struct run *run, size_t jobs)
{
	pthread_mutex_lock(&p->lock);
	p->run = run;
	p->jobs = jobs;
	p->seen = mem_array(jobs, sizeof(*p->seen));
	for (size_t i = 0; i < jobs; i++)
		p->seen[i].hists =
			mem_array(hist_count(), sizeof(struct prom_hist));
	look(p);
	pthread_mutex_unlock(&p->lock);
}

void prom_page_end(struct prom_page *p)
{
	pthread_mutex_lock(&p->lock);
	look(p);
	p->run = NULL;
	pthread_mutex_unlock(&p->lock);
}

/* ---- showing ---- */

static void put_number(struct prom_text *t, const struct live_field *f,
		       const struct live_span *s, const struct prom_labels *l)
{
	if (f->field.type == MLGEN_PERCENT)
		prom_text_number(t, l, live_percent(f, s) / 100);
	else if (f->field.type == MLGEN_ENUM)
		prom_text_number(t, l, *(const int *)live_now(f, s));
	else if (live_count(f, s) == UINT64_MAX)
		return; /* not known */
	else if (f->field.type == MLGEN_TIME)
		prom_text_seconds(t, l, live_count(f, s));
	else
		prom_text_count(t, l, live_count(f, s));
}

/* An operation that did not occur has no series. */
static void put_hists(struct prom_text *t, const struct live_field *f,
		      const struct prom_hist *h, struct prom_labels *l)
{
	if (!f->is_by_operation) {
		prom_text_hist(t, l, h);
		return;
	}
	for (unsigned op = 0; op < MLGEN_OPS; op++) {
		l->operation = opstat_name((enum mlgen_op)op);
		if (h[op].count)
			prom_text_hist(t, l, &h[op]);
	}
}

/* What grows is there from the beginning, or a rate would miss what came first;
 * anything else while it is something. */
static void put_sample(struct prom_text *t, const struct live_field *f,
		       bool is_target, const struct seen *seen, unsigned hist)
{
	/* Since the beginning. */
	const struct live none = { .phase = seen->phase };
	const struct live_span s = { &seen->live, &none, NULL };
	struct prom_labels l = { .section = seen->live.job_name };

	if (f->kind == LIVE_DISTRIBUTION)
		put_hists(t, f, &seen->hists[hist], &l);
	else if (f->kind != LIVE_COUNTER && !live_applies(f, &s))
		return;
	else if (!is_target)
		put_number(t, f, &s, &l);
	else if (live_of(f, &s))
		prom_text_count(t, &l, live_of(f, &s));
}

static void put_family(struct prom_page *p, struct prom_text *t,
		       const struct live_field *f, bool is_target,
		       unsigned hist)
{
	const struct live_span host = { NULL, NULL, &p->now };
	const struct prom_labels none = { 0 };
	struct prom_family family;
	size_t before = t->to->len;

	prom_family_init(&family, f, is_target);
	prom_text_family(t, &family);
	size_t behind_head = t->to->len;
	if (f->kind == LIVE_OF_HOST)
		put_number(t, f, &host, &none);
	for (size_t i = 0; f->kind != LIVE_OF_HOST && i < p->jobs; i++)
		put_sample(t, f, is_target, &p->seen[i], hist);
	if (t->to->len == behind_head)
		buf_cut(t->to, before);
	prom_family_fini(&family);
}

static void put_all(struct prom_page *p, bool is_open)
{
	struct prom_text t = { .to = &p->texts[is_open],
			       .is_open = is_open,
			       .host = p->host };
	unsigned hist = 0;

	prom_text_build(&t);
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (prom_is_metric(f))
			put_family(p, &t, f, false, hist);
		if (prom_is_metric(f) && f->kind == LIVE_PROGRESS)
			put_family(p, &t, f, true, hist);
		hist += hists_of(f);
	}
	prom_text_end(&t);
}

void prom_page_put(struct prom_page *p, bool is_open, struct buf *to)
{
	struct buf *text = &p->texts[is_open];

	pthread_mutex_lock(&p->lock);
	/* Of a run that is over the last look stays. */
	bool is_over = p->jobs > 0 && !p->run;
	if (!is_over && (!p->looked_ns ||
			 clock_monotonic_ns() - p->looked_ns > LOOK_LEAST_NS))
		look(p);
	if (text->len == 0)
		put_all(p, is_open);
	buf_addn(to, buf_str(text), text->len);
	pthread_mutex_unlock(&p->lock);
}
