/* SPDX-License-Identifier: Apache-2.0 */
/* roles.c - who of a trace's processes and threads trains, loads or saves, and how sure that is. */
#include "tracing/describe/roles.h"

#include <string.h>

#include "base/util.h"

/* Of all bytes that were read: fewer is no loader, but a helper. */
#define FEW_PERCENT 1

static const struct {
	const char *begins;
	enum described_role role;
} said[] = {
	{ "loader", ROLE_LOADER },    { "rank", ROLE_TRAINER },
	{ "trainer", ROLE_TRAINER },  { "accelerator", ROLE_TRAINER },
	{ "saver", ROLE_CHECKPOINT }, { "checkpoint", ROLE_CHECKPOINT },
	{ "worker", ROLE_WORKER },
};

enum described_role roles_said(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (!strncmp(text, said[i].begins, strlen(said[i].begins)))
			return said[i].role;
	return ROLE_OTHER;
}

/* The process of a thread is what most of its threads that say something are for: a trainer with
 * any rank, else the first. */
static void take_said(struct taskbook *b, struct task_account *thread, struct task_account *process)
{
	const char *text = thread->text ? trace_names_text(b->names, thread->text, NULL) : NULL;
	enum described_role role = text ? roles_said(text) : ROLE_OTHER;

	if (role == ROLE_OTHER)
		return;
	thread->role = (int)role;
	thread->sure = SURE_SAID;
	if (process->role == ROLE_OTHER || role == ROLE_TRAINER) {
		process->role = (int)role;
		process->sure = SURE_SAID;
	}
}

static bool is_few(uint64_t part, uint64_t whole)
{
	return part < divide_up(whole, 100 / FEW_PERCENT);
}

/* What all processes came to. */
struct all_moved {
	uint64_t read, written;
};

static bool is_writer(const struct task_account *a, const struct all_moved *all)
{
	return a->written_bytes > 0 && a->written_bytes >= a->read_bytes &&
	       !is_few(a->written_bytes, all->written);
}

static bool is_reader(const struct task_account *a, const struct all_moved *all)
{
	return a->read_bytes > 0 && !is_few(a->read_bytes, all->read) && !is_writer(a, all);
}

static struct task_account *parent_of(const struct taskbook *b, const struct task_account *a)
{
	uint32_t n;

	if (!a->parent || !map_find(&b->process_keys, a->parent, &n))
		return NULL;
	return taskbook_process(b, n);
}

/* One that another forked, and that went on with the same program. */
static bool may_load(const struct taskbook *b, const struct task_account *a,
		     const struct all_moved *all)
{
	return is_reader(a, all) && !a->execs && parent_of(b, a);
}

static void guess(const struct taskbook *b, struct task_account *a, const struct all_moved *all)
{
	const struct task_account *parent = parent_of(b, a);

	a->sure = SURE_GUESS;
	if (a->loaders) {
		a->role = ROLE_TRAINER;
		a->sure = a->loaders > 1 ? SURE_LIKELY : SURE_GUESS;
	} else if (is_writer(a, all)) {
		a->role = ROLE_CHECKPOINT;
		a->sure = parent && 2 * a->written_bytes >= all->written ? SURE_LIKELY : SURE_GUESS;
	} else if (may_load(b, a, all)) {
		a->role = ROLE_LOADER;
		a->sure = parent->loaders > 1 ? SURE_LIKELY : SURE_GUESS;
	} else if (is_reader(a, all)) {
		a->role = ROLE_TRAINER;
	}
}

static void guess_all(struct taskbook *b)
{
	uint32_t count = b->process_keys.count;
	struct all_moved all = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		all.read += taskbook_process(b, i)->read_bytes;
		all.written += taskbook_process(b, i)->written_bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct task_account *a = taskbook_process(b, i);

		if (may_load(b, a, &all))
			parent_of(b, a)->loaders++;
	}
	for (uint32_t i = 0; i < count; i++)
		if (taskbook_process(b, i)->role == ROLE_OTHER)
			guess(b, taskbook_process(b, i), &all);
}

void roles_find(struct taskbook *b)
{
	uint32_t n;

	for (uint32_t i = 0; i < b->thread_keys.count; i++) {
		struct task_account *a = taskbook_thread(b, i);

		if (map_find(&b->process_keys, a->pid, &n))
			take_said(b, a, taskbook_process(b, n));
	}
	guess_all(b);
	/* A thread that says nothing is of its process. */
	for (uint32_t i = 0; i < b->thread_keys.count; i++) {
		struct task_account *a = taskbook_thread(b, i);

		if (a->role != ROLE_OTHER || !map_find(&b->process_keys, a->pid, &n))
			continue;
		const struct task_account *p = taskbook_process(b, n);
		a->role = p->sure == SURE_SAID ? (int)ROLE_OTHER : p->role;
		a->sure = p->sure == SURE_SAID ? (int)SURE_GUESS : p->sure;
	}
}
