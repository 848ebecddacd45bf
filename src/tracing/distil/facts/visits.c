/* SPDX-License-Identifier: Apache-2.0 */
/* visits.c - records of calls become visits, most of which are kept in a file. */
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

/* Visits that are written, or read, in one go. */
enum { BLOCK = 1 << 12 };

struct visits {
	struct visit *window; /* of numbers from `written`, by number % size */
	uint64_t count, written;
	const char *folder;
	int fd;
	unsigned signals; /* that were there before it was */
};

struct visits *visits_new(void)
{
	struct visits *v = mem_zalloc(sizeof(*v));

	v->fd = -1;
	v->signals = signals_taken();
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
			  "%s: what a trace's threads do with files is kept in a temporary file "
			  "there: %s; another folder with TMPDIR=",
			  v->folder, strerror(error));
}

static int write_out(struct visits *v, const struct visit *from, uint64_t count, uint64_t number,
		     struct mlgen_err *err)
{
	int rc = writeall_at(v->fd, from, count * sizeof(*from), number * sizeof(*from));

	return rc < 0 ? visits_fail(v, -rc, err) : 0;
}

/* Write out the first block of the window. */
static int move_out(struct visits *v, struct mlgen_err *err)
{
	int rc;

	if (v->fd < 0) {
		v->folder = unnamed_folder(NULL);
		v->fd = unnamed_open(v->folder);
		if (v->fd < 0)
			return visits_fail(v, -v->fd, err);
	}
	rc = write_out(v, &v->window[v->written % VISITS_WINDOW], BLOCK, v->written, err);
	if (rc == 0)
		v->written += BLOCK;
	return rc;
}

int visits_add(struct visits *v, const struct visit *x, uint64_t *number, struct mlgen_err *err)
{
	int rc = 0;

	if (!v->window)
		v->window = mem_array(VISITS_WINDOW, sizeof(*v->window));
	if (v->count - v->written == VISITS_WINDOW)
		rc = move_out(v, err);
	if (rc < 0)
		return rc;
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

static int read_in(const struct visits *v, struct visit *to, uint64_t count, uint64_t number,
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

/* The next block; blocks of the file and of the window begin at multiples. */
static int fill(const struct visits *v, struct visits_cursor *c, struct mlgen_err *err)
{
	uint64_t count = u64_min(BLOCK, v->count - c->next);
	int rc = 0;

	if (signals_taken() != v->signals)
		return mlgen_fail(err, -EINTR, "interrupted");
	if (!c->block)
		c->block = mem_array(BLOCK, sizeof(*c->block));
	if (c->next < v->written)
		rc = read_in(v, c->block, count, c->next, err);
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
		int rc = c->next < v->count ? fill(v, c, err) : 0;

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

		rc = fill(v, &c, err);
		for (uint32_t i = 0; rc == 0 && i < c.count; i++)
			change(arg, &c.block[i]);
		c.next += c.count;
		if (rc == 0 && first < v->written)
			rc = write_out(v, c.block, c.count, first, err);
		else if (rc == 0)
			memcpy(&v->window[first % VISITS_WINDOW], c.block,
			       c.count * sizeof(*c.block));
	}
	visits_stop(&c);
	return rc;
}

/* Files that threads have open at one time; of more the oldest are forgotten. */
enum { GOING_SLOTS = 1 << 17 };

/* A thread that visits a file. */
struct going {
	uint64_t number; /* of the visit, + 1; 0 = the slot is empty */
	uint32_t task, file;
	/* The thread's opens that were not closed, and its maps that exist. */
	uint32_t opens, maps;
	uint32_t places;
	uint64_t next_off;      /* behind its last read or write */
	struct specimen *keeps; /* NULL = it is none */
};

struct visiting_task {
	uint64_t last; /* its last visit, + 1 */
	uint64_t end_ns;
};

/* Every `stride`-th visit is kept; the stride doubles when there are too many. */
struct keeping {
	struct specimens *to;
	uint64_t met, stride;
	uint32_t room;
};

struct visiting {
	struct visits *to;
	struct going *going; /* GOING_SLOTS, open addressing */
	uint32_t going_count;
	struct spill tasks; /* struct visiting_task */
	struct keeping read, written;
};

struct visiting *visiting_new(struct visits *to, struct specimens *read, struct specimens *written)
{
	struct visiting *v = mem_zalloc(sizeof(*v));

	v->to = to;
	v->going = mem_array(GOING_SLOTS, sizeof(*v->going));
	v->read = (struct keeping){ .to = read, .stride = 1 };
	v->written = (struct keeping){ .to = written, .stride = 1 };
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
	for (uint32_t i = 0; i < GOING_SLOTS; i++)
		specimen_free(v->going[i].keeps);
	mem_free(v->going);
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

/* Drop every other specimen. */
static void thin_out(struct keeping *k)
{
	struct specimens *s = k->to;
	uint32_t n = 0;

	k->stride *= 2;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->at[i].number % k->stride)
			mem_free(s->at[i].calls);
		else
			s->at[n++] = s->at[i];
	s->count = n;
}

static struct specimen *specimen_new(struct keeping *k)
{
	uint64_t number = k->met++;
	struct specimen *s;

	if (number % k->stride)
		return NULL;
	s = mem_zalloc(sizeof(*s));
	s->number = number;
	return s;
}

static void keep(struct visiting *v, struct going *g)
{
	const struct visit *x = visits_at(v->to, g->number - 1);
	struct specimen *s = g->keeps;
	struct keeping *k;

	g->keeps = NULL;
	if (!s || !x) {
		specimen_free(s);
		return;
	}
	k = s->writes ? &v->written : &v->read;
	if (k->to->count == SPECIMENS_MOST)
		thin_out(k);
	/* The stride has grown since the visit began. */
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

static void keep_call(struct going *g, const struct trace_record *r, const struct visiting_task *t)
{
	struct specimen *s = g->keeps;
	uint32_t n;

	if (!s || s->count == SPECIMEN_CALLS_MOST)
		return;
	n = s->count;
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

/* ---- who is at which file ---- */

static uint32_t slot_of(uint32_t task, uint32_t file)
{
	uint64_t key = (uint64_t)task << 32 | file;

	key *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(key >> 40) % GOING_SLOTS;
}

static struct going *find_going(const struct visiting *v, uint32_t task, uint32_t file)
{
	uint32_t i = slot_of(task, file);

	while (v->going[i].number && (v->going[i].task != task || v->going[i].file != file))
		i = (i + 1) % GOING_SLOTS;
	return &v->going[i];
}

/* Entries that were displaced by this one move up. */
static void remove_going(struct visiting *v, struct going *g)
{
	uint32_t hole = (uint32_t)(g - v->going), i = hole;

	for (;;) {
		i = (i + 1) % GOING_SLOTS;
		if (!v->going[i].number)
			break;
		uint32_t home = slot_of(v->going[i].task, v->going[i].file);
		if ((i - home) % GOING_SLOTS < (i - hole) % GOING_SLOTS)
			continue;
		v->going[hole] = v->going[i];
		hole = i;
	}
	v->going[hole] = (struct going){ 0 };
	v->going_count--;
}

static void end_going(struct visiting *v, struct going *g)
{
	keep(v, g);
	remove_going(v, g);
}

/* End all whose visit is too old to go on; if that is not enough, end all. */
static void forget(struct visiting *v)
{
	for (unsigned all = 0; all < 2; all++) {
		for (uint32_t i = 0; i < GOING_SLOTS; i++)
			while (v->going[i].number &&
			       (all || !visits_at(v->to, v->going[i].number - 1)))
				end_going(v, &v->going[i]);
		if (v->going_count < GOING_SLOTS / 2)
			return;
	}
}

/* ---- visits ---- */

static struct visiting_task *task_at(struct visiting *v, uint32_t task)
{
	spill_need(&v->tasks, ((size_t)task + 1) * sizeof(struct visiting_task));
	return (struct visiting_task *)v->tasks.at + task;
}

static bool opens_to_write(const struct trace_record *r)
{
	return (r->op == TRACE_OPEN && r->len_bytes != TRACE_UNKNOWN &&
		(r->len_bytes & O_ACCMODE) != O_RDONLY) ||
	       r->op == TRACE_WRITE;
}

/* `of` is the slot of the thread's visit before to the same file, or an empty slot. */
static int begin_visit(struct visiting *v, struct going *of, const struct trace_record *r,
		       uint32_t task, bool is_kept, struct mlgen_err *err)
{
	struct going g = *of;
	struct visit x = {
		.start_ns = r->start_ns,
		.end_ns = r->start_ns,
		.cpu_ns = TRACE_UNKNOWN,
		.off = TRACE_UNKNOWN,
		.file = r->file,
		.task = task,
	};
	uint64_t number;
	int rc = visits_add(v->to, &x, &number, err);

	if (rc < 0)
		return rc;
	if (g.number)
		keep(v, of);
	else
		v->going_count++;
	g.number = number + 1;
	g.task = task;
	g.file = r->file;
	g.places = g.opens ? VISIT_PLACES : 0;
	g.keeps = NULL;
	if (is_kept)
		g.keeps = specimen_new(opens_to_write(r) ? &v->written : &v->read);
	if (g.keeps)
		g.keeps->writes = opens_to_write(r);
	*of = g;
	return 0;
}

static bool moves(const struct trace_record *r)
{
	return r->op == TRACE_FAULT ||
	       ((opkind_of(r->op) & (OPKIND_READ | OPKIND_WRITE)) && opkind_bytes(r));
}

/* Does it go on at another place? */
static bool is_jump(const struct going *g, const struct visit *x, const struct trace_record *r)
{
	uint64_t slack = r->op == TRACE_FAULT ? FAULT_AROUND_BYTES : 0;

	if (!moves(r) || r->off == TRACE_UNKNOWN || x->off == TRACE_UNKNOWN)
		return false;
	return r->off < g->next_off || r->off - g->next_off > slack;
}

/* A thread that opened the file goes on in it, also by a map that it made since. */
static bool stays(const struct going *g, const struct visit *x)
{
	return g->opens || (g->maps && x->flags & VISIT_OPENS);
}

/* Is this the first call of another visit? */
static bool is_another(const struct going *g, const struct visit *x, const struct trace_record *r)
{
	/* An open behind stat(path) is one with it. */
	if (r->op == TRACE_OPEN)
		return g->opens == 0 && (x->reads || x->writes || x->flags & VISIT_MAPS);
	return is_jump(g, x, r) && (!stays(g, x) || g->places >= VISIT_PLACES);
}

static void note_moved(struct visit *x, struct going *g, const struct trace_record *r)
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
	if (is_jump(g, x, r)) {
		x->flags |= VISIT_JUMPS;
		if (r->off < x->end_off)
			x->flags |= VISIT_BACK;
		g->places++;
	}
	if (x->off == TRACE_UNKNOWN)
		x->off = r->off;
	g->next_off = end;
	x->end_off = u64_max(x->end_off, end);
}

static void note_call(struct visit *x, struct going *g, const struct trace_record *r)
{
	x->calls++;
	x->end_ns = u64_max(x->end_ns, opkind_end_ns(r));
	x->call_ns += opkind_duration_ns(r);
	switch (r->op) {
	case TRACE_OPEN:
		g->opens++;
		x->flags |= VISIT_OPENS;
		break;
	case TRACE_FSYNC:
	case TRACE_FDATASYNC:
		x->flags |= VISIT_SYNCS;
		break;
	case TRACE_MMAP:
		g->maps++;
		x->flags |= VISIT_MAPS;
		break;
	case TRACE_READ:
	case TRACE_WRITE:
	case TRACE_FAULT:
		note_moved(x, g, r);
		break;
	default:
		break;
	}
}

/* A mapped file is visited until it is unmapped, even if its descriptor is closed. */
static void note_end(struct visiting *v, struct going *g, struct visit *x,
		     const struct trace_record *r)
{
	uint32_t *held = r->op == TRACE_CLOSE ? &g->opens : &g->maps;

	if (g->opens == 1 && r->op == TRACE_CLOSE)
		x->flags |= VISIT_CLOSES;
	if (*held)
		--*held;
	if (!g->opens && !g->maps)
		end_going(v, g);
}

static int visit_call(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		      struct mlgen_err *err)
{
	struct going *g = find_going(v, task, r->file);
	struct visit *x = g->number ? visits_at(v->to, g->number - 1) : NULL;

	if (!x || is_another(g, x, r)) {
		int rc = begin_visit(v, g, r, task, is_kept, err);

		if (rc < 0)
			return rc;
		x = visits_at(v->to, g->number - 1);
	}
	note_call(x, g, r);
	keep_call(g, r, task_at(v, task));
	task_at(v, task)->last = g->number;
	if (r->op == TRACE_CLOSE || r->op == TRACE_MUNMAP)
		note_end(v, g, x, r);
	return 0;
}

/* CPU time is the thread's since its last record: it is of what it did then. */
static void note_cpu(struct visiting *v, const struct trace_record *r, uint32_t task)
{
	struct visiting_task *t = task_at(v, task);
	struct visit *x = t->last ? visits_at(v->to, t->last - 1) : NULL;

	if (!x || r->cpu_ns == TRACE_UNKNOWN || r->op == TRACE_EXIT)
		return;
	x->cpu_ns = (x->cpu_ns == TRACE_UNKNOWN ? 0 : x->cpu_ns) + r->cpu_ns;
}

int visiting_add(struct visiting *v, const struct trace_record *r, uint32_t task, bool is_kept,
		 struct mlgen_err *err)
{
	bool is_call = opkind_of(r->op) & OPKIND_CALL || r->op == TRACE_FAULT;
	int rc = 0;

	note_cpu(v, r, task);
	if (!is_call || opkind_failed(r) || !opkind_has_time(r))
		return 0;
	if (v->going_count >= GOING_SLOTS * 3 / 4)
		forget(v);
	if (r->file)
		rc = visit_call(v, r, task, is_kept, err);
	task_at(v, task)->end_ns = u64_max(task_at(v, task)->end_ns, opkind_end_ns(r));
	return rc;
}

void visiting_end(struct visiting *v)
{
	for (uint32_t i = 0; i < GOING_SLOTS; i++)
		if (v->going[i].number)
			keep(v, &v->going[i]);
}
