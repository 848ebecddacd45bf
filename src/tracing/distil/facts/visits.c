/* SPDX-License-Identifier: Apache-2.0 */
/* visits.c - records of calls become visits, most of which are stored in a file. */
#include "tracing/distil/facts/facts_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "trace/model/model.h"

/* Number of visits that are written or read at once. */
enum { BLOCK = 1 << 12 };

struct visits {
	struct visit *window; /* visits from number `written` on; index: number % VISITS_WINDOW */
	uint64_t count, written;
	const char *folder;
	int fd;
	unsigned signals; /* signals_received() when this was made */
};

struct visits *visits_new(void)
{
	struct visits *v = mem_zalloc(sizeof(*v));

	v->fd = -1;
	v->signals = signals_received();
	return v;
}

void visits_free(struct visits *v)
{
	if (!v)
		return;
	if (v->fd >= 0)
		close(v->fd);
	mem_free(v->window);
	mem_free(v);
}

uint64_t visits_count(const struct visits *v)
{
	return v->count;
}

static int visits_fail(const struct visits *v, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error,
			  "%s: distilling needs a temporary file there: %s; set TMPDIR=DIR for "
			  "another directory",
			  v->folder, strerror(error));
}

static int write_visits(struct visits *v, const struct visit *from, uint64_t count, uint64_t number,
			struct mlgen_err *err)
{
	int rc = writeall_at(v->fd, from, count * sizeof(*from), number * sizeof(*from));

	return rc < 0 ? visits_fail(v, -rc, err) : 0;
}

int visits_add(struct visits *v, const struct visit *x, uint64_t *number, struct mlgen_err *err)
{
	if (!v->window)
		v->window = mem_array(VISITS_WINDOW, sizeof(*v->window));
	if (v->count - v->written == VISITS_WINDOW) {
		/* Write the first block of the window to the file. */
		if (v->fd < 0) {
			v->folder = unnamed_folder(NULL);
			v->fd = unnamed_open(v->folder);
			if (v->fd < 0)
				return visits_fail(v, -v->fd, err);
		}
		int rc = write_visits(v, &v->window[v->written % VISITS_WINDOW], BLOCK, v->written,
				      err);
		if (rc < 0)
			return rc;
		v->written += BLOCK;
	}
	v->window[v->count % VISITS_WINDOW] = *x;
	*number = v->count++;
	return 0;
}

struct visit *visits_at(struct visits *v, uint64_t number)
{
	if (number < v->written || number >= v->count)
		return NULL;
	return &v->window[number % VISITS_WINDOW];
}

static int read_visits(const struct visits *v, struct visit *to, uint64_t count, uint64_t number,
		       struct mlgen_err *err)
{
	size_t bytes = count * sizeof(*to);
	off_t at = (off_t)(number * sizeof(*to));
	char *into = (char *)to;

	while (bytes) {
		ssize_t n = pread(v->fd, into, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return visits_fail(v, n ? errno : EIO, err);
		into += n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Read the next block. Blocks of the file and of the window begin at multiples of BLOCK. */
static int read_block(const struct visits *v, struct visits_cursor *c, struct mlgen_err *err)
{
	uint64_t count = u64_min(BLOCK, v->count - c->next);
	int rc = 0;

	if (signals_received() != v->signals)
		return mlgen_fail(err, -EINTR, "interrupted");
	if (!c->block)
		c->block = mem_array(BLOCK, sizeof(*c->block));
	if (c->next < v->written)
		rc = read_visits(v, c->block, count, c->next, err);
	else if (count)
		memcpy(c->block, &v->window[c->next % VISITS_WINDOW], count * sizeof(*c->block));
	c->at = 0;
	c->count = (uint32_t)count;
	return rc;
}

int visits_next(const struct visits *v, struct visits_cursor *c, const struct visit **x,
		struct mlgen_err *err)
{
	if (c->at == c->count) {
		int rc = c->next < v->count ? read_block(v, c, err) : 0;

		if (rc < 0 || c->next == v->count) {
			visits_stop(c);
			return rc;
		}
	}
	*x = &c->block[c->at++];
	c->next++;
	return 1;
}

void visits_stop(struct visits_cursor *c)
{
	mem_free(c->block);
	*c = (struct visits_cursor){ 0 };
}

int visits_each(struct visits *v, visits_change *change, void *arg, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	int rc = 0;

	while (rc == 0 && c.next < v->count) {
		uint64_t first = c.next;

		rc = read_block(v, &c, err);
		for (uint32_t i = 0; rc == 0 && i < c.count; i++)
			change(arg, &c.block[i]);
		c.next += c.count;
		if (rc == 0 && first < v->written)
			rc = write_visits(v, c.block, c.count, first, err);
		else if (rc == 0)
			memcpy(&v->window[first % VISITS_WINDOW], c.block,
			       c.count * sizeof(*c.block));
	}
	visits_stop(&c);
	return rc;
}

/* Capacity for visits in progress. If the table is full, the oldest ones are ended. */
enum { OPEN_SLOTS = 1 << 17 };

/* A visit in progress. */
struct open_visit {
	uint64_t number; /* visit number + 1; 0 = the slot is empty */
	uint32_t task, file;
	/* Opens of the thread that it has not closed, and maps that it has not unmapped. */
	uint32_t opens, maps;
	uint32_t places;
	uint64_t next_off;         /* end of the visit's last read or write */
	struct specimen *specimen; /* NULL = its calls are not recorded */
};

struct visiting_task {
	uint64_t last; /* number of its last visit, + 1 */
	uint64_t end_ns;
};

/* Records every `stride`-th visit; the stride doubles when there are too many specimens. */
struct specimen_sampler {
	struct specimens *to;
	uint64_t count, stride; /* count: visits that began */
};

struct visiting {
	struct visits *to;
	struct open_visit *open; /* OPEN_SLOTS, open addressing */
	uint32_t open_count;
	struct spill tasks; /* struct visiting_task */
	struct specimen_sampler read, written;
};

struct visiting *visiting_new(struct visits *to, struct specimens *read, struct specimens *written)
{
	struct visiting *v = mem_zalloc(sizeof(*v));

	v->to = to;
	v->open = mem_array(OPEN_SLOTS, sizeof(*v->open));
	v->read = (struct specimen_sampler){ .to = read, .stride = 1 };
	v->written = (struct specimen_sampler){ .to = written, .stride = 1 };
	return v;
}

static void specimen_free(struct specimen *s)
{
	if (s)
		mem_free(s->calls);
	mem_free(s);
}

void visiting_free(struct visiting *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < OPEN_SLOTS; i++)
		specimen_free(v->open[i].specimen);
	mem_free(v->open);
	spill_free(&v->tasks);
	mem_free(v);
}

void specimens_fini(struct specimens *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		mem_free(s->at[i].calls);
	mem_free(s->at);
	*s = (struct specimens){ 0 };
}

/* ---- specimens ---- */

/* Add the specimen of a visit that ends. */
static void add_specimen(struct visiting *v, struct open_visit *g)
{
	const struct visit *x = visits_at(v->to, g->number - 1);
	struct specimen *s = g->specimen;

	g->specimen = NULL;
	if (!s || !x) {
		specimen_free(s);
		return;
	}
	struct specimen_sampler *k = s->writes ? &v->written : &v->read;
	if (k->to->count == SPECIMENS_MOST) {
		struct specimens *all = k->to;
		uint32_t n = 0;

		/* Double the stride and drop every other specimen. */
		k->stride *= 2;
		for (uint32_t i = 0; i < all->count; i++)
			if (all->at[i].number % k->stride)
				mem_free(all->at[i].calls);
			else
				all->at[n++] = all->at[i];
		all->count = n;
	}
	/* The stride may have grown since the visit began. */
	if (s->number % k->stride) {
		specimen_free(s);
		return;
	}
	if (!k->to->at)
		k->to->at = mem_array(SPECIMENS_MOST, sizeof(*k->to->at));
	s->visit = *x;
	k->to->at[k->to->count++] = *s;
	mem_free(s);
}

static void add_call(struct open_visit *g, const struct trace_record *r,
		     const struct visiting_task *t)
{
	struct specimen *s = g->specimen;

	if (!s || s->count == SPECIMEN_CALLS_MOST)
		return;
	uint32_t n = s->count;
	s->calls = mem_grow(s->calls, &s->room, n + 1, sizeof(*s->calls));
	s->calls[s->count++] = (struct specimen_call){
		.off = r->off,
		.len_bytes = r->len_bytes,
		.result = r->result,
		.start_ns = r->start_ns,
		.duration_ns = opkind_duration_ns(r),
		.think_ns = n && r->start_ns > t->end_ns ? r->start_ns - t->end_ns : 0,
		.cpu_ns = r->cpu_ns,
		.op = r->op,
		.flags = r->flags,
	};
}

/* ---- visits in progress, by thread and file ---- */

static uint32_t slot_of(uint32_t task, uint32_t file)
{
	uint64_t key = (uint64_t)task << 32 | file;

	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(key >> 40) % OPEN_SLOTS;
}

static struct open_visit *find_visit(const struct visiting *v, uint32_t task, uint32_t file)
{
	uint32_t i = slot_of(task, file);

	while (v->open[i].number && (v->open[i].task != task || v->open[i].file != file))
		i = (i + 1) % OPEN_SLOTS;
	return &v->open[i];
}

/* End a visit and remove it. Entries that it has displaced move up. */
static void end_visit(struct visiting *v, struct open_visit *g)
{
	uint32_t hole = (uint32_t)(g - v->open), i = hole;

	add_specimen(v, g);
	for (;;) {
		i = (i + 1) % OPEN_SLOTS;
		if (!v->open[i].number)
			break;
		uint32_t home = slot_of(v->open[i].task, v->open[i].file);
		if ((i - home) % OPEN_SLOTS < (i - hole) % OPEN_SLOTS)
			continue;
		v->open[hole] = v->open[i];
		hole = i;
	}
	v->open[hole] = (struct open_visit){ 0 };
	v->open_count--;
}

/* End the visits that have left the window. If the table is still half full, end all visits. */
static void end_old_visits(struct visiting *v)
{
	for (unsigned all = 0; all < 2; all++) {
		for (uint32_t i = 0; i < OPEN_SLOTS; i++)
			while (v->open[i].number &&
			       (all || !visits_at(v->to, v->open[i].number - 1)))
				end_visit(v, &v->open[i]);
		if (v->open_count < OPEN_SLOTS / 2)
			return;
	}
}

/* ---- visits ---- */

static struct visiting_task *task_at(struct visiting *v, uint32_t task)
{
	spill_reserve(&v->tasks, ((size_t)task + 1) * sizeof(struct visiting_task));
	return (struct visiting_task *)v->tasks.at + task;
}

/* Begin a visit. `slot` has the thread's previous visit to the same file, or is empty. */
static int begin_visit(struct visiting *v, struct open_visit *slot, const struct trace_record *r,
		       uint32_t task, bool is_kept, struct mlgen_err *err)
{
	bool opens_to_write = r->op == TRACE_OPEN && r->len_bytes != TRACE_UNKNOWN &&
			      (r->len_bytes & O_ACCMODE) != O_RDONLY;
	struct specimen_sampler *k =
		opens_to_write || r->op == TRACE_WRITE ? &v->written : &v->read;
	struct open_visit g = *slot;
	struct visit x = {
		.start_ns = r->start_ns,
		.end_ns = r->start_ns,
		.cpu_ns = TRACE_UNKNOWN,
		.off = TRACE_UNKNOWN,
		.file = r->file,
		.task = task,
	};
	uint64_t number = 0;
	int rc = visits_add(v->to, &x, &number, err);

	if (rc < 0)
		return rc;
	if (g.number)
		add_specimen(v, slot);
	else
		v->open_count++;
	g.number = number + 1;
	g.task = task;
	g.file = r->file;
	g.places = g.opens ? VISIT_PLACES : 0;
	g.specimen = NULL;
	if (is_kept && k->count % k->stride == 0) {
		g.specimen = mem_zalloc(sizeof(*g.specimen));
		g.specimen->number = k->count;
		g.specimen->writes = k == &v->written;
	}
	k->count += is_kept;
	*slot = g;
	return 0;
}

static bool moves(const struct trace_record *r)
{
	return r->op == TRACE_FAULT ||
	       ((opkind_of(r->op) & (OPKIND_READ | OPKIND_WRITE)) && opkind_bytes(r));
}

/* Does the call begin at another place than the end of the previous call? */
static bool is_jump(const struct open_visit *g, const struct visit *x, const struct trace_record *r)
{
	uint64_t slack = r->op == TRACE_FAULT ? FAULT_AROUND_BYTES : 0;

	if (!moves(r) || r->off == TRACE_UNKNOWN || x->off == TRACE_UNKNOWN)
		return false;
	return r->off < g->next_off || r->off - g->next_off > slack;
}

/* Is this the first call of another visit? */
static bool begins_visit(const struct open_visit *g, const struct visit *x,
			 const struct trace_record *r)
{
	/* A thread that opened the file may close it and continue in a map. */
	bool has_opened = g->opens || (g->maps && x->flags & VISIT_OPENS);

	/* A stat(path) before the open belongs to the same visit. */
	if (r->op == TRACE_OPEN)
		return g->opens == 0 && (x->reads || x->writes || x->flags & VISIT_MAPS);
	return is_jump(g, x, r) && (!has_opened || g->places >= VISIT_PLACES);
}

static void count_moved(struct visit *x, struct open_visit *g, const struct trace_record *r)
{
	bool is_write = opkind_of(r->op) & OPKIND_WRITE;
	uint64_t bytes = r->op == TRACE_FAULT ? 0 : opkind_bytes(r);
	uint64_t end = r->off + (r->op == TRACE_FAULT ? 4096 : bytes);

	*(is_write ? &x->writes : &x->reads) += r->op != TRACE_FAULT;
	*(is_write ? &x->written_bytes : &x->read_bytes) += bytes;
	x->flags |= is_write ? VISIT_WRITES : VISIT_READS;
	if (r->op == TRACE_FAULT)
		x->flags |= VISIT_MAPS;
	if (!moves(r) || r->off == TRACE_UNKNOWN || r->off > INT64_MAX)
		return;
	if (is_jump(g, x, r))
		g->places++;
	if (x->off == TRACE_UNKNOWN)
		x->off = r->off;
	g->next_off = end;
	x->end_off = u64_max(x->end_off, end);
}

static int visit_call(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		      struct mlgen_err *err)
{
	struct open_visit *g = find_visit(v, task, r->file);
	struct visit *x = g->number ? visits_at(v->to, g->number - 1) : NULL;

	if (!x || begins_visit(g, x, r)) {
		int rc = begin_visit(v, g, r, task, is_kept, err);

		if (rc < 0)
			return rc;
		x = visits_at(v->to, g->number - 1);
	}

	x->calls++;
	x->end_ns = u64_max(x->end_ns, opkind_end_ns(r));
	x->call_ns += opkind_duration_ns(r);
	switch (r->op) {
	case TRACE_OPEN:
		g->opens++;
		x->flags |= VISIT_OPENS;
		break;
	case TRACE_MMAP:
		g->maps++;
		x->flags |= VISIT_MAPS;
		break;
	case TRACE_READ:
	case TRACE_WRITE:
	case TRACE_FAULT:
		count_moved(x, g, r);
		break;
	default:
		break;
	}

	add_call(g, r, task_at(v, task));
	task_at(v, task)->last = g->number;
	if (r->op == TRACE_CLOSE || r->op == TRACE_MUNMAP) {
		uint32_t *held = r->op == TRACE_CLOSE ? &g->opens : &g->maps;

		if (*held)
			--*held;
		/* The visit to a mapped file lasts until the file is unmapped, even if its
		 * descriptor is closed earlier. */
		if (!g->opens && !g->maps)
			end_visit(v, g);
	}
	return 0;
}

int visiting_add(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		 struct mlgen_err *err)
{
	bool is_call = opkind_of(r->op) & OPKIND_CALL || r->op == TRACE_FAULT;
	const struct visiting_task *t = task_at(v, task);
	struct visit *last = t->last ? visits_at(v->to, t->last - 1) : NULL;
	int rc = 0;

	/* The CPU time was used since the thread's last record, and so for the thread's last
	 * visit. */
	if (last && r->cpu_ns != TRACE_UNKNOWN && r->op != TRACE_EXIT)
		last->cpu_ns = (last->cpu_ns == TRACE_UNKNOWN ? 0 : last->cpu_ns) + r->cpu_ns;
	if (!is_call || opkind_failed(r) || !opkind_has_time(r))
		return 0;
	if (v->open_count >= OPEN_SLOTS * 3 / 4)
		end_old_visits(v);
	if (r->file)
		rc = visit_call(v, r, task, is_kept, err);
	task_at(v, task)->end_ns = u64_max(task_at(v, task)->end_ns, opkind_end_ns(r));
	return rc;
}

void visiting_end(struct visiting *v)
{
	for (uint32_t i = 0; i < OPEN_SLOTS; i++)
		if (v->open[i].number)
			add_specimen(v, &v->open[i]);
}
