/* SPDX-License-Identifier: Apache-2.0 */
/* prom_page.c - collects and formats the page of all metrics of a run. */
#include "report/prometheus/prometheus_internal.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "run/run.h"
#include "run/watch/watch.h"

#define REFRESH_MIN_NS (NS_PER_S / 10)
/* Shortest interval for the rates of a host. */
#define RATE_MIN_NS NS_PER_S
#define HOST_NAME_BYTES 256

/* The last snapshot of a job in one process. */
struct prom_job {
	bool is_known; /* there is a snapshot */
	struct live live;
	enum live_phase phase; /* current phase, or the last phase of a job that is done */
	struct prom_hist *hists;
};

/* The host of a process. */
struct prom_host {
	bool is_known; /* this is the first process on the host, and it has sent figures */
	struct live_host now;
	char name[HOST_NAME_BYTES];
	char rank[12]; /* "" for a single process */
};

struct prom_page {
	pthread_mutex_t lock; /* protects all members below */
	char *host;
	const struct run *run;        /* NULL = not begun, or over */
	struct remote_status *others; /* other processes of the run; NULL = none */
	size_t job_count;
	unsigned processes;
	struct prom_job *jobs;   /* per process, then per job */
	struct live snapshot;    /* scratch, with all histograms */
	struct prom_host *hosts; /* per process */
	struct host_look *host_look;
	uint64_t refreshed_ns; /* CLOCK_MONOTONIC; 0 = not yet */
	struct buf texts[2];   /* the page of that time, per format; empty = not yet made */
};

static unsigned hists_of(const struct live_field *f)
{
	if (f->kind != LIVE_DISTRIBUTION || !prom_is_metric(f))
		return 0;
	return f->is_by_operation ? MLGEN_OPS : 1;
}

/* Before the run begins, a page has one process. */
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
			 processes > 1 ? remote_status_host_name(p->others, i) : p->host);
	}
}

struct prom_page *prom_page_new(const char *host)
{
	struct prom_page *p = mem_zalloc(sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->host = mem_strdup(host);
	live_hists_new(&p->snapshot);
	p->host_look = host_look_new();
	make_hosts(p, 1);
	return p;
}

void prom_page_free(struct prom_page *p)
{
	if (!p)
		return;
	live_hists_free(&p->snapshot);
	for (size_t i = 0; i < p->job_count * p->processes; i++)
		mem_free(p->jobs[i].hists);
	mem_free(p->jobs);
	mem_free(p->hosts);
	host_look_free(p->host_look);
	mem_free(p->host);
	buf_fini(&p->texts[0]);
	buf_fini(&p->texts[1]);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

/* ---- reading the run ---- */

/* A job that is done keeps its last phase, so that its figures stay on the page. */
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

static void refresh_job(struct prom_page *p, unsigned rank, size_t i)
{
	struct prom_job *j = &p->jobs[rank * p->job_count + i];
	struct prom_hist *h = j->hists;

	if (rank == 0)
		run_look(p->run, i, &p->snapshot);
	else if (!remote_status_look(p->others, rank, i, &p->snapshot))
		return;
	j->is_known = true;
	j->live = p->snapshot;
	j->live.job_name = p->jobs[i].live.job_name;
	j->phase = last_phase(&j->live);
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		void *member = (char *)&p->snapshot + f->field.off;

		for (unsigned k = 0; k < hists_of(f); k++)
			prom_hist_from(h++, ((struct hist **)member)[k]);
	}
}

static void refresh(struct prom_page *p)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (p->run)
		remote_status_poll(p->others);
	for (unsigned rank = 0; p->run && rank < p->processes; rank++)
		for (size_t i = 0; i < p->job_count; i++)
			refresh_job(p, rank, i);
	host_look(p->host_look, &p->hosts[0].now, now_ns, now_ns - 2 * RATE_MIN_NS);
	for (unsigned rank = 0; rank < p->processes; rank++) {
		struct prom_host *h = &p->hosts[rank];

		h->is_known |= remote_status_look_host(p->others, rank, &h->now);
	}
	p->refreshed_ns = now_ns;
	buf_reset(&p->texts[0]);
	buf_reset(&p->texts[1]);
}

void prom_page_begin(struct prom_page *p, const struct run *run, size_t jobs)
{
	unsigned hists = 0;

	for (const struct live_field *f = live_fields; f->field.name; f++)
		hists += hists_of(f);
	pthread_mutex_lock(&p->lock);
	p->run = run;
	p->others = run_remote_status(run);
	p->job_count = jobs;
	make_hosts(p, remote_status_total(p->others));
	p->jobs = mem_array(jobs * p->processes, sizeof(*p->jobs));
	for (size_t i = 0; i < jobs * p->processes; i++)
		p->jobs[i].hists = mem_array(hists, sizeof(struct prom_hist));
	refresh(p);
	pthread_mutex_unlock(&p->lock);
}

void prom_page_end(struct prom_page *p)
{
	pthread_mutex_lock(&p->lock);
	refresh(p);
	p->run = NULL;
	p->others = NULL;
	pthread_mutex_unlock(&p->lock);
}

/* ---- formatting the page ---- */

static void append_number(struct prom_text *t, const struct live_field *f,
			  const struct live_span *s, const struct prom_labels *l)
{
	if (f->field.type == MLGEN_PERCENT)
		prom_text_number(t, l, live_percent(f, s) / 100);
	else if (f->field.type == MLGEN_ENUM)
		prom_text_number(t, l, *(const int *)live_now(f, s));
	else if (live_count(f, s) == UINT64_MAX)
		return; /* unknown */
	else if (f->field.type == MLGEN_TIME)
		prom_text_seconds(t, l, live_count(f, s));
	else
		prom_text_count(t, l, live_count(f, s));
}

/* An operation that did not occur has no series. */
static void append_hists(struct prom_text *t, const struct live_field *f, const struct prom_hist *h,
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

/* A counter is shown from the start of the run, since a rate would otherwise miss its first values.
 * Any other figure is shown while it applies. */
static void append_sample(struct prom_text *t, const struct live_field *f, bool is_target,
			  const struct prom_job *job, struct prom_labels *l, unsigned hist)
{
	/* The interval covers the whole time since the start. */
	const struct live none = { .phase = job->phase };
	const struct live_span s = { &job->live, &none, NULL };

	l->section = job->live.job_name;
	if (f->kind == LIVE_DISTRIBUTION)
		append_hists(t, f, &job->hists[hist], l);
	else if (f->kind != LIVE_COUNTER && !live_applies(f, &s))
		return;
	else if (!is_target)
		append_number(t, f, &s, l);
	else if (live_total(f, &s))
		prom_text_count(t, l, live_total(f, &s));
}

/* A metric without samples has no header either. `hist` is the index of its first histogram. */
static void append_family(struct prom_page *p, struct prom_text *t, const struct live_field *f,
			  bool is_target, unsigned hist)
{
	bool is_of_host = f->kind == LIVE_HOST_GAUGE;
	struct prom_family family;
	size_t begin = t->to->len;

	prom_family_init(&family, f, is_target);
	prom_text_family(t, &family);
	size_t header_end = t->to->len;
	for (unsigned i = 0; is_of_host && i < p->processes; i++) {
		const struct prom_host *h = &p->hosts[i];
		const struct live_span host = { NULL, NULL, &h->now };
		const struct prom_labels l = { .host = h->name };

		if (h->is_known)
			append_number(t, f, &host, &l);
	}
	for (size_t i = 0; !is_of_host && i < p->job_count * p->processes; i++) {
		const struct prom_host *h = &p->hosts[i / p->job_count];
		struct prom_labels l = { .host = h->name, .rank = *h->rank ? h->rank : NULL };

		if (p->jobs[i].is_known)
			append_sample(t, f, is_target, &p->jobs[i], &l, hist);
	}
	if (t->to->len == header_end)
		buf_cut(t->to, begin);
	prom_family_fini(&family);
}

void prom_page_append(struct prom_page *p, bool is_open, struct buf *to)
{
	struct buf *text = &p->texts[is_open];

	pthread_mutex_lock(&p->lock);
	/* A run that is over is not read again. */
	bool is_over = p->job_count > 0 && !p->run;
	if (!is_over &&
	    (!p->refreshed_ns || clock_monotonic_ns() - p->refreshed_ns > REFRESH_MIN_NS))
		refresh(p);
	if (text->len == 0) {
		struct prom_text t = { .to = &p->texts[is_open],
				       .is_open = is_open,
				       .host = p->host };
		unsigned hist = 0;

		prom_text_build(&t);
		for (const struct live_field *f = live_fields; f->field.name; f++) {
			if (prom_is_metric(f))
				append_family(p, &t, f, false, hist);
			if (prom_is_metric(f) && f->kind == LIVE_PROGRESS)
				append_family(p, &t, f, true, hist);
			hist += hists_of(f);
		}
		prom_text_end(&t);
	}
	buf_addn(to, buf_str(text), text->len);
	pthread_mutex_unlock(&p->lock);
}
