/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c - serves and writes metrics, from the options to the end of the run. */
#include "report/prometheus/prometheus_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"

#define LINGER_POLL_NS (NS_PER_S / 20)

struct prom {
	const struct settings *set;
	struct clock *clock; /* a real clock, not the run's */
	struct prom_page *page;
	struct prom_serve *serve; /* NULL = not served */
	char at[PROM_ADDRESS_BYTES];
	char *path; /* NULL = no file */
	mode_t mode;
	struct replace file;
	struct buf text; /* content of the file; owned by the writer thread while it runs */
	int failed;      /* -errno of the last write; 0 = success */
	pthread_t writer;
	bool has_writer;
	_Atomic uint32_t ends; /* wakes and ends the writer */
};

/* ---- the file ---- */

static int replace_file(struct prom *p)
{
	int rc = replace_begin(&p->file, p->path, p->mode);

	if (rc < 0)
		return rc;
	rc = writeall(p->file.fd, buf_str(&p->text), p->text.len);
	if (rc == 0)
		return replace_commit(&p->file);
	replace_abandon(&p->file);
	return rc;
}

/* A failure is reported once; the next interval tries again. */
static void write_page(struct prom *p)
{
	int before = p->failed;

	buf_reset(&p->text);
	prom_page_append(p->page, false, &p->text);
	p->failed = replace_file(p);
	if (p->failed && !before)
		log_warn("metrics-file=%s: %s; mlgen tries again at each log_interval",
			 p->set->metrics_file, strerror(-p->failed));
}

static void *keep_writing(void *prom)
{
	struct prom *p = prom;
	uint64_t next_ns = clock_now(p->clock);

	clock_join(p->clock);
	for (;;) {
		uint64_t now_ns = clock_now(p->clock);

		while (next_ns <= now_ns)
			next_ns += p->set->log_interval_ns;
		clock_sleep_unless(p->clock, next_ns, &p->ends);
		if (atomic_load(&p->ends))
			break;
		write_page(p);
	}
	clock_leave(p->clock);
	return NULL;
}

static void stop_writer(struct prom *p)
{
	if (!p->has_writer)
		return;
	atomic_store(&p->ends, 1);
	clock_wake(p->clock, &p->ends);
	pthread_join(p->writer, NULL);
	p->has_writer = false;
}

static int open_file(struct prom *p, const struct place *file, struct mlgen_err *err)
{
	size_t length = strlen(file->given);

	if (file->kind == PLACE_STREAM || file->is_handed_over)
		return mlgen_fail(err, -EINVAL,
				  "metrics-file=%s: is not a regular file, but the file is "
				  "replaced each time; name a regular file",
				  file->given);
	p->path = mem_strdup(file->path);
	p->mode = replace_new_mode();
	prom_page_append(p->page, false, &p->text);
	int rc = replace_file(p);
	if (rc < 0)
		return mlgen_fail(err, rc, "metrics-file=%s: %s", file->given, strerror(-rc));
	if (length < 5 || strcmp(file->given + length - 5, ".prom") != 0)
		log_warn("metrics-file=%s: the textfile collector of node_exporter reads only "
			 "names that end with .prom",
			 file->given);
	clock_expect(p->clock, 1);
	rc = thread_start(&p->writer, keep_writing, p);
	p->has_writer = rc == 0;
	return rc ? mlgen_fail(err, rc, "cannot start a thread: %s", strerror(-rc)) : 0;
}

/* ---- the whole, from the options to the end ---- */

int prom_check(const struct settings *set, struct mlgen_err *err)
{
	if (!set->metrics)
		return 0;
	int rc = prom_serve_check(err);
	return rc ? rc : prom_address_check(set->metrics, err);
}

static void prom_free(struct prom *p)
{
	stop_writer(p);
	prom_serve_close(p->serve);
	prom_page_free(p->page);
	buf_fini(&p->text);
	mem_free(p->path);
	clock_free(p->clock);
	mem_free(p);
}

int prom_open(struct prom **out, const struct settings *set, const char *host,
	      const struct place *file, struct mlgen_err *err)
{
	int rc = prom_check(set, err);

	if (rc < 0 || (!set->metrics && !file))
		return rc;
	struct prom *p = mem_zalloc(sizeof(*p));
	p->set = set;
	p->clock = clock_new_real();
	p->page = prom_page_new(host);
	if (set->metrics)
		rc = prom_serve_open(&p->serve, set->metrics, p->page, p->at, err);
	if (rc == 0 && file)
		rc = open_file(p, file, err);
	if (rc < 0)
		prom_free(p);
	signals_hold();
	*out = rc < 0 ? NULL : p;
	signals_release();
	return rc;
}

void prom_begin(struct prom *p, const struct run *run, size_t jobs)
{
	if (!p)
		return;
	prom_page_begin(p->page, run, jobs);
	if (p->serve)
		log_note("metrics are at http://%s/metrics", p->at);
}

void prom_end(struct prom *p)
{
	if (p)
		prom_page_end(p->page);
}

void prom_linger(struct prom *p)
{
	char limit[UNITS_TEXT_BYTES];

	if (!p || !p->serve || !p->set->metrics_linger_ns)
		return;
	uint64_t sent = prom_serve_count(p->serve);
	uint64_t end_ns = clock_now(p->clock) + p->set->metrics_linger_ns;
	log_note("metrics stay available until they are read once more, for at most %s",
		 units_format_time(limit, p->set->metrics_linger_ns));
	clock_join(p->clock);
	while (clock_now(p->clock) < end_ns && prom_serve_count(p->serve) == sent &&
	       !signals_received())
		clock_sleep_until(p->clock, clock_now(p->clock) + LINGER_POLL_NS);
	clock_leave(p->clock);
}

int prom_close(struct prom **at, struct mlgen_err *err)
{
	struct prom *p = *at;
	int rc = 0;

	if (!p)
		return 0;
	stop_writer(p);
	if (p->path) {
		write_page(p);
		rc = p->failed;
	}
	if (rc < 0)
		mlgen_fail(err, rc, "metrics-file=%s: %s", p->set->metrics_file, strerror(-rc));
	/* The thread that handles signals reads *at, too (prom_discard). */
	signals_hold();
	*at = NULL;
	signals_release();
	prom_free(p);
	return rc;
}

void prom_discard(struct prom *p)
{
	if (p && p->path)
		replace_discard(&p->file);
}
