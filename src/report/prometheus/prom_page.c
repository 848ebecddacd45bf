/* SPDX-License-Identifier: Apache-2.0 */
/* prom_page.c - the page of all metrics of a run. */
#include "report/prometheus/prometheus_internal.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "run/run.h"
#include "run/watch/watch.h"

#define LOOK_LEAST_NS (NS_PER_S / 10)
/* Between two readings of what is per second of the host. */
#define RATE_LEAST_NS NS_PER_S
#define HOST_NAME_BYTES 256

/* Of a job as it was looked at, in one process. */
struct seen {
	bool is_there; /* it has been, once */
	struct live live;
	enum live_phase phase; /* that it is at, or was at before it was done */
	struct prom_hist *hists;
};

/* That a process runs on. */
struct prom_host {
	bool is_there; /* it is the first process on it, and has said */
	struct live_host now;
	char name[HOST_NAME_BYTES];
	char rank[12]; /* "" of a process alone */
};

struct prom_page {
	pthread_mutex_t lock; /* of all that follows */
	char *host;
	const struct run *run; /* NULL = none that could be looked at */
	struct others *others; /* of that; NULL = there are none */
	size_t jobs;
	unsigned processes;
	struct seen *seen;       /* one of each job, process by process */
	struct live look;        /* with all the histograms there are */
	struct prom_host *hosts; /* one of each process */
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

/* Before there is a run, there is one process. */
static void make_hosts(struct prom_page *p, unsigned processes)
{
	p->processes = processes;
	mem_free(p->hosts);
	p->hosts = mem_array(processes, sizeof(*p->hosts));
	for (unsigned i = 0; i < processes; i++) {
		struct prom_host *h = &p->hosts[i];

		if (processes > 1)
			snprintf(h->rank, sizeof(h->rank), "%u", i);
		snprintf(h->name, sizeof(h->name), "%s",
			 processes > 1 ? others_host_name(p->others, i) : p->host);
	}
}

struct prom_page *prom_page_new(const char *host)
{
	struct prom_page *p = mem_zalloc(sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->host = mem_strdup(host);
	live_hists_new(&p->look);
	p->host_look = host_look_new();
	make_hosts(p, 1);
	return p;
}

void prom_page_free(struct prom_page *p)
{
	if (!p)
		return;
	live_hists_free(&p->look);
	for (size_t i = 0; i < p->jobs * p->processes; i++)
		mem_free(p->seen[i].hists);
	mem_free(p->seen);
	mem_free(p->hosts);
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
	if (l->work == LIVE_IO)
		return LIVE_IO;
	if (l->epoch > 0)
		return LIVE_TRAIN;
	return l->checkpoint > 0 ? LIVE_CHECKPOINT : LIVE_PREPARE;
}

static void look_at_job(struct prom_page *p, unsigned rank, size_t i)
{
	struct seen *s = &p->seen[rank * p->jobs + i];
	struct prom_hist *h = s->hists;

	if (rank == 0)
		run_look(p->run, i, &p->look);
	else if (!others_look(p->others, rank, i, &p->look))
		return;
	s->is_there = true;
	s->live = p->look;
	s->live.job_name = p->seen[i].live.job_name;
	s->phase = last_phase(&s->live);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		for (unsigned k = 0; k < hists_of(f); k++)
			prom_hist_of(h++, hists_at(f, &p->look)[k]);
}

static void look_at_hosts(struct prom_page *p, uint64_t now_ns)
{
	host_look(p->host_look, &p->hosts[0].now, now_ns, now_ns - 2 * RATE_LEAST_NS);
	for (unsigned rank = 0; rank < p->processes; rank++) {
		struct prom_host *h = &p->hosts[rank];

		h->is_there |= others_look_host(p->others, rank, &h->now);
	}
}

static void look(struct prom_page *p)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (p->run)
		others_ask(p->others);
	for (unsigned rank = 0; p->run && rank < p->processes; rank++)
		for (size_t i = 0; i < p->jobs; i++)
			look_at_job(p, rank, i);
	look_at_hosts(p, now_ns);
	p->looked_ns = now_ns;
	buf_reset(&p->texts[0]);
	buf_reset(&p->texts[1]);
}

void prom_page_follow(struct prom_page *p, const struct run *run, size_t jobs)
{
	pthread_mutex_lock(&p->lock);
	p->run = run;
	p->others = run_others(run);
	p->jobs = jobs;
	make_hosts(p, others_total(p->others));
	p->seen = mem_array(jobs * p->processes, sizeof(*p->seen));
	for (size_t i = 0; i < jobs * p->processes; i++)
		p->seen[i].hists = mem_array(hist_count(), sizeof(struct prom_hist));
	look(p);
	pthread_mutex_unlock(&p->lock);
}

void prom_page_end(struct prom_page *p)
{
	pthread_mutex_lock(&p->lock);
	look(p);
	p->run = NULL;
	p->others = NULL;
	pthread_mutex_unlock(&p->lock);
}

/* ---- showing ---- */

static void put_number(struct prom_text *t, const struct live_field *f, const struct live_span *s,
		       const struct prom_labels *l)
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
static void put_hists(struct prom_text *t, const struct live_field *f, const struct prom_hist *h,
		      struct prom_labels *l)
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

/* What grows is there from the beginning, or a rate would miss what came first; anything else while
 * it is something. */
static void put_sample(struct prom_text *t, const struct live_field *f, bool is_target,
		       const struct seen *seen, struct prom_labels *l, unsigned hist)
{
	/* Since the beginning. */
	const struct live none = { .phase = seen->phase };
	const struct live_span s = { &seen->live, &none, NULL };

	l->section = seen->live.job_name;
	if (f->kind == LIVE_DISTRIBUTION)
		put_hists(t, f, &seen->hists[hist], l);
	else if (f->kind != LIVE_COUNTER && !live_applies(f, &s))
		return;
	else if (!is_target)
		put_number(t, f, &s, l);
	else if (live_of(f, &s))
		prom_text_count(t, l, live_of(f, &s));
}

static void put_jobs(struct prom_page *p, struct prom_text *t, const struct live_field *f,
		     bool is_target, unsigned hist)
{
	for (size_t i = 0; i < p->jobs * p->processes; i++) {
		const struct prom_host *h = &p->hosts[i / p->jobs];
		struct prom_labels l = { .host = h->name, .rank = *h->rank ? h->rank : NULL };

		if (p->seen[i].is_there)
			put_sample(t, f, is_target, &p->seen[i], &l, hist);
	}
}

static void put_of_hosts(struct prom_page *p, struct prom_text *t, const struct live_field *f)
{
	for (unsigned i = 0; i < p->processes; i++) {
		const struct prom_host *h = &p->hosts[i];
		const struct live_span host = { NULL, NULL, &h->now };
		const struct prom_labels l = { .host = h->name };

		if (h->is_there)
			put_number(t, f, &host, &l);
	}
}

static void put_family(struct prom_page *p, struct prom_text *t, const struct live_field *f,
		       bool is_target, unsigned hist)
{
	struct prom_family family;
	size_t before = t->to->len;

	prom_family_init(&family, f, is_target);
	prom_text_family(t, &family);
	size_t behind_head = t->to->len;
	if (f->kind == LIVE_OF_HOST)
		put_of_hosts(p, t, f);
	else
		put_jobs(p, t, f, is_target, hist);
	if (t->to->len == behind_head)
		buf_cut(t->to, before);
	prom_family_fini(&family);
}

static void put_all(struct prom_page *p, bool is_open)
{
	struct prom_text t = { .to = &p->texts[is_open], .is_open = is_open, .host = p->host };
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
	if (!is_over && (!p->looked_ns || clock_monotonic_ns() - p->looked_ns > LOOK_LEAST_NS))
		look(p);
	if (text->len == 0)
		put_all(p, is_open);
	buf_addn(to, buf_str(text), text->len);
	pthread_mutex_unlock(&p->lock);
}
