/* SPDX-License-Identifier: Apache-2.0 */
/* distil_tasks.c - groups threads into training runs, and numbers their ranks and workers. */
#include "tracing/distil/facts/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

/* A thread's directory is ignored if the thread reads less than 1/REACH_PART of its bytes there. */
#define REACH_PART 100
/* Threads that read less than 1/PARTY_PART of all bytes are not a training run of their own. */
#define PARTY_PART 100

/* Bytes that a thread read in a directory. */
struct reach {
	uint32_t task, directory;
	uint64_t bytes;
};

/* The arrays have an item for each thread. */
struct task_grouping {
	struct distil *d;
	struct keyed reaches; /* struct reach, by thread and directory */
	uint32_t *parent; /* another thread of the same training run; a leader has its own number */
	char **root;      /* folder of its data; NULL = it has none */
	uint64_t *read_bytes; /* bytes read of files in scope */
};

/* ---- threads that belong together ---- */

static uint32_t leader(const struct task_grouping *s, uint32_t i)
{
	while (s->parent[i] != i)
		i = s->parent[i];
	return i;
}

static void unite(struct task_grouping *s, uint32_t a, uint32_t b)
{
	a = leader(s, a);
	b = leader(s, b);
	/* The thread with the lower number leads. */
	s->parent[u64_max(a, b)] = (uint32_t)u64_min(a, b);
}

/* Unite the threads of each process, except threads whose role the trace states: mlgen itself runs
 * several training jobs in one process. */
static void unite_process(struct task_grouping *s)
{
	struct distil *d = s->d;
	struct map seen = { 0 };
	uint32_t *first = mem_array(d->task_count + 1, sizeof(*first));

	for (uint32_t i = 0; i < d->task_count; i++) {
		bool is_new;

		if (d->task[i].sure == SURE_STATED)
			continue;
		uint32_t n = map_number(&seen, d->task[i].pid, &is_new);
		if (is_new)
			first[n] = i;
		else
			unite(s, first[n], i);
	}
	map_fini(&seen);
	mem_free(first);
}

static uint32_t first_of_process(const struct distil *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].pid == pid)
			return i;
	return UINT32_MAX;
}

/* Unite loaders, and writers of checkpoints, with the process that forked them. */
static void unite_children(struct task_grouping *s)
{
	struct distil *d = s->d;

	for (uint32_t i = 0; i < d->tasks.processes.keys.count; i++) {
		const struct task_account *a = trace_tasks_process(&d->tasks, i);

		if (!a->parent || a->sure == SURE_STATED ||
		    (a->role != ROLE_LOADER && a->role != ROLE_CHECKPOINT))
			continue;
		uint32_t child = first_of_process(d, a->pid);
		uint32_t parent = first_of_process(d, a->parent);
		if (child != UINT32_MAX && parent != UINT32_MAX)
			unite(s, child, parent);
	}
}

/* ---- threads that read the same data ---- */

/* Cut the root to the leading directories that it has in common with the path. */
static void cut_to_common(char *root, const char *path)
{
	size_t n = 0, whole = 0;

	for (; root[n] && root[n] == path[n]; n++)
		if (root[n] == '/')
			whole = n;
	if ((!root[n] && (!path[n] || path[n] == '/')) || (!path[n] && root[n] == '/'))
		whole = n;
	root[whole] = '\0';
}

static void find_roots(struct task_grouping *s)
{
	const struct reach *all = s->reaches.items.at;

	for (uint32_t i = 0; i < s->reaches.keys.count; i++) {
		const char *path = trace_names_text(s->d->names, all[i].directory, NULL);
		uint32_t task = all[i].task;

		if (all[i].bytes < s->read_bytes[task] / REACH_PART)
			continue;
		if (s->root[task])
			cut_to_common(s->root[task], path);
		else
			s->root[task] = mem_strdup(path);
	}
}

/* Are the folders the same, or is one inside the other? The root folder is ignored. */
static bool is_same_data(const char *a, const char *b)
{
	size_t n = u64_min(strlen(a), strlen(b));

	if (n == 0 || strcmp(a, "/") == 0 || strcmp(b, "/") == 0)
		return false;
	return strncmp(a, b, n) == 0 && strchr("/", a[n]) && strchr("/", b[n]);
}

static int by_root(const void *a, const void *b, void *arg)
{
	char *const *root = arg;

	return strcmp(root[*(const uint32_t *)a], root[*(const uint32_t *)b]);
}

/* Unite threads with the same data. After sorting, a folder comes before the folders in it. */
static void unite_readers(struct task_grouping *s)
{
	uint32_t *order = mem_array(s->d->task_count + 1, sizeof(*order));
	uint32_t n = 0, folder = 0;

	for (uint32_t i = 0; i < s->d->task_count; i++)
		if (s->root[i] && *s->root[i])
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_root, s->root);
	for (uint32_t i = 1; i < n; i++) {
		if (is_same_data(s->root[order[folder]], s->root[order[i]]))
			unite(s, order[folder], order[i]);
		else
			folder = i;
	}
	mem_free(order);
}

/* ---- parties ---- */

/* Number the groups that read enough, in the order of their first threads. */
static void number_parties(struct task_grouping *s)
{
	struct distil *d = s->d;
	uint64_t *bytes = mem_array(d->task_count + 1, sizeof(*bytes));
	uint32_t *number = mem_array(d->task_count + 1, sizeof(*number));
	uint64_t all = 0;

	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct distil_task *t = &d->task[i];

		all += s->read_bytes[i];
		/* Threads without a role count, too: among thousands of processes, each one reads
		 * too little to be given a role. */
		if (t->role == ROLE_TRAINER || t->role == ROLE_LOADER ||
		    (t->role == ROLE_OTHER && t->sure != SURE_STATED))
			bytes[leader(s, i)] += s->read_bytes[i];
		number[i] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < d->task_count; i++)
		if (bytes[i] && bytes[i] >= all / PARTY_PART)
			number[i] = d->parties++;
	for (uint32_t i = 0; i < d->task_count; i++)
		d->task[i].party = number[leader(s, i)];
	mem_free(number);
	mem_free(bytes);
}

/* Ranks and checkpoint writers with a stated role that read nothing belong to the first training
 * run of their process. */
static void join_stated(struct distil *d)
{
	for (uint32_t i = 0; i < d->task_count; i++) {
		if (d->task[i].sure != SURE_STATED || d->task[i].party != UINT32_MAX ||
		    d->task[i].role == ROLE_WORKER)
			continue;
		for (uint32_t k = 0; k < d->task_count; k++)
			if (d->task[k].pid == d->task[i].pid && d->task[k].party != UINT32_MAX) {
				d->task[i].party = d->task[k].party;
				break;
			}
	}
}

/* ---- ranks and workers ---- */

/* Parse "loader 1 of rank 0" or "rank 0". */
static void parse_stated(struct distil_task *t, const char *text)
{
	unsigned worker, rank;

	if (sscanf(text, "loader %u of rank %u", &worker, &rank) == 2) {
		t->worker = worker;
		t->rank = rank;
	} else if (sscanf(text, "rank %u", &rank) == 1) {
		t->rank = rank;
	}
}

/* The time until which each number is in use. */
struct slots {
	uint64_t *at;
	uint32_t count;
	size_t room; /* vec.h */
};

/*
 * Allocate the first number that is free at `from`. Tasks that overlap in time have different
 * numbers; a later task gets the number of a task that has ended, for example if workers are forked
 * again for each epoch.
 */
static uint32_t alloc_slot(struct slots *s, uint64_t from, uint64_t until)
{
	uint32_t k = 0;

	while (k < s->count && s->at[k] > from)
		k++;
	if (k == s->count)
		vec_add(s);
	s->at[k] = until;
	return k;
}

/* Number the processes that train as ranks, in their order. Other processes get the rank of their
 * parent. */
static void number_ranks(struct distil *d, uint32_t party)
{
	struct map pids = { 0 };
	struct slots slots = { 0 };
	uint32_t *rank = mem_array(d->task_count + 1, sizeof(*rank));
	bool has_trainers = false;

	for (uint32_t i = 0; i < d->task_count; i++)
		has_trainers |= d->task[i].party == party && d->task[i].role == ROLE_TRAINER;

	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct task_account *p = trace_tasks_find_process(&d->tasks, d->task[i].pid);
		bool is_new;

		if (d->task[i].party != party || d->task[i].sure == SURE_STATED || !p ||
		    (d->task[i].role != ROLE_TRAINER && (has_trainers || !p->read_bytes)))
			continue;
		uint32_t n = map_number(&pids, p->pid, &is_new);
		if (is_new)
			rank[n] = alloc_slot(&slots, p->first_ns, p->last_ns);
		d->task[i].rank = rank[n];
	}
	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct task_account *p = trace_tasks_find_process(&d->tasks, d->task[i].pid);
		uint32_t n;

		if (d->task[i].party == party && d->task[i].sure != SURE_STATED &&
		    d->task[i].rank == UINT32_MAX && p && map_find(&pids, p->parent, &n))
			d->task[i].rank = rank[n];
	}
	vec_fini(&slots);
	mem_free(rank);
	map_fini(&pids);
}

static void number_workers(struct distil *d, uint32_t party, uint32_t rank)
{
	struct slots slots = { 0 };

	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct task_account *a = trace_tasks_thread(&d->tasks, i);

		if (d->task[i].party == party && d->task[i].rank == rank &&
		    d->task[i].role == ROLE_LOADER && d->task[i].worker == UINT32_MAX &&
		    a->read_bytes)
			d->task[i].worker = alloc_slot(&slots, a->first_ns, a->last_ns);
	}
	vec_fini(&slots);
}

/* Without forked loaders, threads that read at the same time are workers. A thread that reads alone
 * is the rank itself. */
static void number_threads(struct distil *d, uint32_t party, uint32_t rank,
			   const uint64_t *read_bytes)
{
	struct slots slots = { 0 };
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == party && d->task[i].rank == rank)
			most = u64_max(most, read_bytes[i]);
	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct task_account *a = trace_tasks_thread(&d->tasks, i);

		if (d->task[i].party == party && d->task[i].rank == rank &&
		    d->task[i].worker == UINT32_MAX && read_bytes[i] > most / 20)
			d->task[i].worker = alloc_slot(&slots, a->first_ns, a->last_ns);
	}
	for (uint32_t i = 0; slots.count < 2 && i < d->task_count; i++)
		if (d->task[i].party == party && d->task[i].rank == rank)
			d->task[i].worker = UINT32_MAX;
	vec_fini(&slots);
}

static void number_all(struct distil *d, const uint64_t *read_bytes)
{
	for (uint32_t p = 0; p < d->parties; p++) {
		uint32_t ranks = 0;
		bool has_loaders = false;

		number_ranks(d, p);
		for (uint32_t i = 0; i < d->task_count; i++) {
			if (d->task[i].party != p)
				continue;
			if (d->task[i].rank != UINT32_MAX)
				ranks = (uint32_t)u64_max(ranks, d->task[i].rank + 1);
			has_loaders |= d->task[i].role == ROLE_LOADER;
		}
		for (uint32_t r = 0; r < ranks; r++) {
			if (has_loaders)
				number_workers(d, p, r);
			else
				number_threads(d, p, r, read_bytes);
		}
	}
}

int distil_tasks(struct distil *d, struct mlgen_err *err)
{
	struct task_grouping s = { .d = d };
	int rc;

	d->task_count = d->tasks.threads.keys.count;
	d->task = mem_array(d->task_count + 1, sizeof(*d->task));
	for (uint32_t i = 0; i < d->task_count; i++) {
		const struct task_account *a = trace_tasks_thread(&d->tasks, i);

		d->task[i] = (struct distil_task){
			.pid = a->pid,
			.tid = a->tid,
			.party = UINT32_MAX,
			.rank = UINT32_MAX,
			.worker = UINT32_MAX,
			.role = a->role,
			.sure = a->sure,
		};
		if (a->sure == SURE_STATED && a->text)
			parse_stated(&d->task[i], trace_names_text(d->names, a->text, NULL));
	}

	s.parent = mem_array(d->task_count + 1, sizeof(*s.parent));
	s.root = mem_array(d->task_count + 1, sizeof(*s.root));
	s.read_bytes = mem_array(d->task_count + 1, sizeof(*s.read_bytes));
	for (uint32_t i = 0; i < d->task_count; i++)
		s.parent[i] = i;

	struct visits_cursor c = { 0 };
	const struct visit *x;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		const struct file_account *f = trace_files_at(&d->files, x->file);
		uint64_t bytes = x->flags & VISIT_MAPS && !x->read_bytes && x->end_off > x->off
					 ? x->end_off - x->off
					 : x->read_bytes;
		struct reach *r;

		if (!bytes || !f || !trace_scope_has_file(&d->scope, x->file))
			continue;
		r = keyed_item(&s.reaches, (uint64_t)x->task << 32 | f->directory, sizeof(*r),
			       NULL);
		*r = (struct reach){ x->task, f->directory, r->bytes + bytes };
		s.read_bytes[x->task] += bytes;
	}

	if (rc == 0) {
		find_roots(&s);
		unite_process(&s);
		unite_children(&s);
		unite_readers(&s);
		number_parties(&s);
		join_stated(d);
		number_all(d, s.read_bytes);
	}
	for (uint32_t i = 0; i < d->task_count; i++)
		mem_free(s.root[i]);
	mem_free(s.root);
	mem_free(s.parent);
	mem_free(s.read_bytes);
	keyed_fini(&s.reaches);
	return rc;
}

uint32_t distil_ranks(const struct distil *d, uint32_t party)
{
	uint32_t ranks = 1;

	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == party && d->task[i].rank != UINT32_MAX)
			ranks = (uint32_t)u64_max(ranks, (uint64_t)d->task[i].rank + 1);
	return ranks;
}
