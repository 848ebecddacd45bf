/* SPDX-License-Identifier: Apache-2.0 */
/* visiting.c - records of calls become visits, and of some of these all calls are kept. */
#include "distil/visiting.h"

#include <fcntl.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "describe/opkind.h"
#include "describe/touchrun.h"

/* Files that threads have open at one time; of more the oldest are forgotten. */
enum { GOING_SLOTS = 1 << 17 };

/* A thread is at a file. */
struct going {
	uint64_t number; /* of the visit, + 1; 0 = the slot is empty */
	uint32_t task, file;
	/* Of the thread: opens that were not closed, maps that are there. */
	uint32_t opens, maps;
	uint32_t places;
	uint64_t next_off;      /* behind its last read or write */
	struct specimen *keeps; /* NULL = it is none */
};

struct visiting_task {
	uint64_t last; /* its last visit, + 1 */
	uint64_t end_ns;
};

/* Every `stride`-th visit; twice that when there are too many. */
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

/* Every other one goes. */
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
	/* Others were chosen since it began. */
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

/* The slots behind it move up, as far as they were held up by it. */
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

/* All that are so old that their visit cannot go on; if that is not enough, all. */
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

static bool is_held(const struct going *g)
{
	return g->opens || g->maps;
}

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

/* `of`: the thread is at the file already, and this is another visit; or an empty slot. */
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
	uint64_t slack = r->op == TRACE_FAULT ? TOUCHRUN_BYTES : 0;

	if (!moves(r) || r->off == TRACE_UNKNOWN || x->off == TRACE_UNKNOWN)
		return false;
	return r->off < g->next_off || r->off - g->next_off > slack;
}

/* Who has opened the file goes on in it, and who has mapped it since. */
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

/* What is mapped is visited for as long, whether its descriptor is closed. */
static void note_end(struct visiting *v, struct going *g, struct visit *x,
		     const struct trace_record *r)
{
	uint32_t *held = r->op == TRACE_CLOSE ? &g->opens : &g->maps;

	if (g->opens == 1 && r->op == TRACE_CLOSE)
		x->flags |= VISIT_CLOSES;
	if (*held)
		--*held;
	if (!is_held(g))
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
