/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c - detect the launcher, load its MPI, meet, and gather or share data. */
#include "hosts/hosts_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "config.h"

/* Variables that launchers set. A row matches if all of its variables are set and its size is
 * above 1. The first match counts: mpirun within a Slurm job has the variables of both. */
static const struct {
	const char *size, *rank, *also;
	enum launcher_mpi mpi;
	const char *name;
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL, LAUNCHER_OPENMPI,
	  "mpirun of Open MPI" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMI_FD", LAUNCHER_MPICH, "srun --mpi=pmi2" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK", LAUNCHER_OPENMPI,
	  "srun --mpi=pmix" },
	{ "PMI_SIZE", "PMI_RANK", NULL, LAUNCHER_MPICH, "mpirun of MPICH" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NULL, LAUNCHER_NONE, "srun" },
};

static unsigned read_number(const char *variable)
{
	const char *text = getenv(variable);
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n > 1000000 ? 0 : (unsigned)n;
}

int launcher_detect(struct launcher *l, struct mlgen_err *err)
{
	*l = (struct launcher){ .total = 1 };
	for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
		unsigned total = read_number(launchers[i].size);

		if (total < 2 || !getenv(launchers[i].rank) ||
		    (launchers[i].also && !getenv(launchers[i].also)))
			continue;
		*l = (struct launcher){ .mpi = launchers[i].mpi,
					.name = launchers[i].name,
					.rank = read_number(launchers[i].rank),
					.total = total };
		if (l->mpi != LAUNCHER_NONE)
			return 0;
		return mlgen_fail(err, -EINVAL,
				  "srun started %u tasks without an MPI to connect them: use srun "
				  "--mpi=pmix (with the Open MPI plugin) or srun --mpi=pmi2 (with "
				  "the MPICH plugin); srun --mpi=list lists the types it supports",
				  total);
	}
	return 0;
}

bool launcher_is_first(void)
{
	struct mlgen_err err = { 0 };
	struct launcher l;

	launcher_detect(&l, &err);
	return l.rank == 0;
}

/* Return the next line that is compared, and its length; NULL at the end. */
static const char *next_line(const char **at, size_t *n)
{
	while (**at) {
		const char *line = *at;

		*n = strcspn(line, "\n");
		*at = line + *n + (line[*n] == '\n');
		if (*n && line[0] != '#' && strncmp(line, "accelerators=", 13) != 0)
			return line;
	}
	*n = 0;
	return NULL;
}

static int compare_jobs(struct hosts *h, const char *mine, const char *theirs,
			struct mlgen_err *err)
{
	size_t n, m;

	for (;;) {
		const char *a = next_line(&mine, &n);
		const char *b = next_line(&theirs, &m);

		if (!a && !b)
			return 0;
		if (!a || !b || n != m || memcmp(a, b, n) != 0)
			return mlgen_fail(err, -EINVAL,
					  "its job has %.*s, but the job of host %s (rank 0) has "
					  "%.*s: start all processes with the same job",
					  a ? (int)n : 7, a ? a : "nothing", hosts_name(h, 0),
					  b ? (int)m : 7, b ? b : "nothing");
	}
}

int hosts_check_same_job(struct hosts *h, const char *job, struct mlgen_err *err)
{
	struct buf first = { 0 };
	int rc;

	if (!h)
		return 0;
	buf_add(&first, job);
	rc = hosts_broadcast(h, &first, err);
	if (rc == 0)
		rc = hosts_agree(h, compare_jobs(h, job, buf_str(&first), err), err);
	buf_fini(&first);
	return rc;
}

/* Names and packages as configure detected them; the file names match the Makefile. */
static const struct library {
	const char *word, *name, *packages;
	const char *as_root; /* option that its mpirun requires */
} libraries[] = {
	[LAUNCHER_OPENMPI] = { "openmpi", "Open MPI", PACKAGES_OPENMPI,
			       ", as root with --allow-run-as-root" },
	[LAUNCHER_MPICH] = { "mpich", "MPICH", PACKAGES_MPICH, "" },
};

/*
 * Load and start the plugin for a launcher's MPI library, from build/ next to the program or from
 * the installation. It stays loaded, and started, until the process ends or calls its end(). NULL
 * with err: the plugin was not built (err names the package), cannot be loaded, or the library
 * belongs to another launcher and therefore sees a single process.
 */
static const struct hosts_mpi *mpi_start(const struct launcher *l, const char *binary_dir,
					 struct mlgen_err *err)
{
	const struct library *lib = &libraries[l->mpi];
	unsigned rank = 0, total = 0;
	char path[PATH_MAX], why[256] = "";
	struct sigaction before[NSIG];

	snprintf(path, sizeof(path), "%s/build/mlgen-mpi-%s.so", binary_dir, lib->word);
	if (access(path, R_OK) != 0)
		snprintf(path, sizeof(path), "%s/mlgen-mpi-%s.so", MLGEN_PLUGIN_DIR, lib->word);
	if (access(path, R_OK) != 0) {
		mlgen_fail(err, -ENOENT,
			   "%s started %u processes, but this mlgen was built without %s (%s): %s "
			   "is missing",
			   l->name, l->total, lib->name, lib->packages, path);
		return NULL;
	}
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		mlgen_fail(err, -ENOEXEC, "%s: cannot be loaded: %s", path, dlerror());
		return NULL;
	}
	const struct hosts_mpi *mpi = dlsym(object, HOSTS_MPI_SYMBOL);
	if (!mpi || mpi->abi != HOSTS_MPI_ABI) {
		mlgen_fail(err, -ENOEXEC,
			   "%s: belongs to another build of mlgen; install mlgen and its plugins "
			   "from the same build",
			   path);
		return NULL;
	}
	/* MPI_Init replaces signal handlers. */
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &before[i]);
	int rc = mpi->start(&rank, &total, why, sizeof(why));
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &before[i], NULL);
	if (rc < 0) {
		mlgen_fail(err, -EIO, "%s: %s", path, why);
		return NULL;
	}
	if (rank == l->rank && total == l->total)
		return mpi;
	mlgen_fail(err, -EINVAL,
		   "%s started %u processes and this is rank %u, but the library of %s sees rank "
		   "%u of %u: the launcher does not belong to this %s; start mlgen with the mpirun "
		   "that matches the plugin %s%s",
		   l->name, l->total, l->rank, mpi->name, rank, total, lib->name, path,
		   geteuid() == 0 ? lib->as_root : "");
	return NULL;
}

static void number_hosts(struct hosts *h)
{
	h->host_of = mem_array(h->total, sizeof(*h->host_of));
	for (unsigned i = 0; i < h->total; i++) {
		unsigned first = 0;

		while (!hello_is_same_host(&h->hellos[first], &h->hellos[i]))
			first++;
		h->host_of[i] = first < i ? h->host_of[first] : h->count++;
	}
}

static void free_hosts(struct hosts *h)
{
	star_stop(h);
	bridge_stop(h->bridge);
	ballot_free(h->votes);
	star_fini(h);
	channels_fini(h);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->telling);
	pthread_cond_destroy(&h->changed);
	mem_free(h->host_of);
	mem_free(h->hellos);
	mem_free(h);
}

int hosts_meet_through(struct hosts **out, const struct hosts_mpi *mpi, unsigned rank,
		       unsigned total, const struct hosts_config *cfg, struct mlgen_err *err)
{
	struct hosts *h = mem_zalloc(sizeof(*h));
	FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct hello *mine;

	*out = NULL;
	*h = (struct hosts){ .mpi = mpi,
			     .rank = rank,
			     .total = total,
			     .port = cfg->port,
			     .wake_fd = -1,
			     .reserved = 1 };
	h->hellos = mem_array(total, sizeof(*h->hellos));
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->telling, NULL);
	pthread_cond_init(&h->changed, NULL);
	mine = &h->hellos[rank];
	snprintf(mine->version, sizeof(mine->version), "%s", cfg->version);
	if (cfg->why)
		snprintf(mine->why, sizeof(mine->why), "%s", cfg->why);
	if (gethostname(mine->name, sizeof(mine->name) - 1) < 0 || !mine->name[0])
		snprintf(mine->name, sizeof(mine->name), "(no name)");
	if (!boot || !fgets(mine->boot_id, sizeof(mine->boot_id), boot))
		mine->boot_id[0] = '\0';
	mine->boot_id[strcspn(mine->boot_id, "\n")] = '\0';
	if (boot)
		fclose(boot);
	int rc = star_meet(h, cfg, err);
	if (rc == 0 && cfg->over_mpi)
		rc = bridge_start(&h->bridge, h, err);
	if (rc == 0) {
		number_hosts(h);
		h->votes = ballot_open(h, 0);
		rc = star_start(h, err);
	}
	if (rc == 0)
		*out = h;
	else
		free_hosts(h);
	return rc;
}

int hosts_meet(struct hosts **out, const struct hosts_config *cfg, struct mlgen_err *err)
{
	const struct hosts_mpi *mpi;
	struct launcher l;
	int rc = launcher_detect(&l, err);

	*out = NULL;
	if (rc < 0 || l.mpi == LAUNCHER_NONE)
		return rc;
	mpi = mpi_start(&l, cfg->binary_dir, err);
	if (!mpi)
		return err->code;
	rc = hosts_meet_through(out, mpi, l.rank, l.total, cfg, err);
	if (rc == 0)
		return 0;
	/* The failure is the same in all processes, so all of them get here. */
	if (l.rank == 0 && cfg->say)
		cfg->say(err);
	mpi->end();
	return -ECANCELED;
}

void hosts_finish(struct hosts *h)
{
	struct mlgen_err err = { 0 };
	bool is_lost = hosts_is_lost(h);

	if (!h)
		return;
	hosts_watch(h, NULL, NULL);
	atomic_store(&h->is_ending, true);
	if (!is_lost)
		is_lost = hosts_barrier(h, &err) < 0;
	const struct hosts_mpi *mpi = h->mpi;
	free_hosts(h);
	/* MPI_Finalize would wait for a dead process for ever. */
	if (!is_lost)
		mpi->end();
}

/* Stored in place of the length of a part if its process is gone. */
#define PART_GONE UINT64_MAX

/* Move the oldest data of a peer to `to`. The caller holds h->lock. */
static void dequeue_data(struct peer *p, struct buf *to, bool with_length)
{
	uint64_t n;
	size_t skip = with_length ? 0 : sizeof(n);

	memcpy(&n, p->data.s, sizeof(n));
	size_t whole = sizeof(n) + (size_t)n;
	buf_addn(to, p->data.s + skip, whole - skip);
	memmove(p->data.s, p->data.s + whole, p->data.len - whole);
	buf_cut(&p->data, p->data.len - whole);
}

/* The caller holds h->lock. */
static int fail_lost(struct hosts *h, struct mlgen_err *err)
{
	return mlgen_fail(err, -EPIPE, "%s", h->lost.text);
}

/* Is any process gone? 0, or -EPIPE with err, which names the process. */
static int check_lost(struct hosts *h, struct mlgen_err *err)
{
	pthread_mutex_lock(&h->lock);
	int rc = h->lost.code ? fail_lost(h, err) : 0;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

static void gather_from(struct hosts *h, struct peer *p, struct buf *all)
{
	const uint64_t gone = PART_GONE;

	pthread_mutex_lock(&h->lock);
	while (!p->data.len && !p->is_gone)
		pthread_cond_wait(&h->changed, &h->lock);
	if (p->data.len)
		dequeue_data(p, all, true);
	else
		buf_addn(all, (const char *)&gone, sizeof(gone));
	pthread_mutex_unlock(&h->lock);
}

static int send_part(struct hosts *h, const void *mine, size_t n, struct mlgen_err *err)
{
	int rc = 0;

	star_send(&h->peers[0], MESSAGE_DATA, 0, n, mine);
	pthread_mutex_lock(&h->lock);
	if (h->peers[0].is_gone)
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

static int await_share(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	struct peer *p = &h->peers[0];
	int rc = 0;

	buf_reset(b);
	pthread_mutex_lock(&h->lock);
	while (!p->data.len && !h->lost.code)
		pthread_cond_wait(&h->changed, &h->lock);
	if (p->data.len)
		dequeue_data(p, b, false);
	else
		rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* Is the process the first of several processes on its host? */
static bool leads_other_processes(const struct hosts *h, unsigned first)
{
	for (unsigned i = first + 1; i < h->total; i++)
		if (h->host_of[i] == h->host_of[first])
			return hosts_is_first_on_host(h, first);
	return false;
}

/* Rank 0: forward the bytes of the first process of a host to the other processes there. */
static void forward(struct hosts *h, unsigned first, const char *bytes, size_t n)
{
	for (unsigned i = first + 1; i < h->total; i++)
		if (h->host_of[i] == h->host_of[first])
			star_send(star_peer(h, i), MESSAGE_DATA, 0, n, bytes);
}

static int forward_on_all_hosts(struct hosts *h, const struct buf *own, struct mlgen_err *err)
{
	forward(h, 0, buf_str(own), own->len);
	for (unsigned i = 1; i < h->total; i++) {
		struct buf part = { 0 };
		uint64_t n = 0;

		if (!leads_other_processes(h, i))
			continue;
		gather_from(h, star_peer(h, i), &part);
		memcpy(&n, part.s, sizeof(n));
		if (n != PART_GONE)
			forward(h, i, part.s + sizeof(n), (size_t)n);
		buf_fini(&part);
	}
	return check_lost(h, err);
}

/* Print "host n2 (rank 1): ". Print "" if `text` already begins with the name of a process, because
 * this process only forwards the text. */
static void name_process(const struct hosts *h, unsigned rank, const char *text, char *to,
			 size_t size)
{
	for (unsigned i = 0; i < h->total; i++) {
		snprintf(to, size, "host %s (rank %u): ", hosts_name(h, i), i);
		if (strncmp(text, to, strlen(to)) == 0) {
			*to = '\0';
			return;
		}
	}
	snprintf(to, size, "host %s (rank %u): ", hosts_name(h, rank), rank);
}

/* Append the error of the lowest rank that has failed. */
static void add_first_error(const struct hosts *h, const struct buf *all, struct buf *to)
{
	struct mlgen_err e, named = { 0 };
	char of[128];

	for (unsigned rank = 0; rank < h->total; rank++) {
		size_t n;
		const char *part = hosts_part(all, rank, &n);

		if (!part || n != sizeof(e))
			continue;
		memcpy(&e, part, sizeof(e));
		if (!e.code)
			continue;
		name_process(h, rank, e.text, of, sizeof(of));
		mlgen_fail(&named, e.code, "%s%.*s", of, MLGEN_ERR_MAX - 128, e.text);
		break;
	}
	buf_addn(to, (const char *)&named, sizeof(named));
}

void hosts_add_part(struct buf *all, const void *bytes, size_t n)
{
	uint64_t length = n;

	buf_addn(all, (const char *)&length, sizeof(length));
	buf_addn(all, bytes, n);
}

unsigned hosts_rank(const struct hosts *h)
{
	return h ? h->rank : 0;
}

unsigned hosts_total(const struct hosts *h)
{
	return h ? h->total : 1;
}

unsigned hosts_count(const struct hosts *h)
{
	return h ? h->count : 1;
}

unsigned hosts_host_of(const struct hosts *h, unsigned rank)
{
	return h ? h->host_of[rank] : 0;
}

const char *hosts_name(const struct hosts *h, unsigned rank)
{
	return h ? h->hellos[rank].name : "";
}

bool hosts_is_first_here(const struct hosts *h)
{
	return hosts_is_first_on_host(h, hosts_rank(h));
}

bool hosts_is_first_on_host(const struct hosts *h, unsigned rank)
{
	for (unsigned i = 0; h && i < rank; i++)
		if (h->host_of[i] == h->host_of[rank])
			return false;
	return true;
}

int64_t hosts_clock_offset_ns(const struct hosts *h, unsigned rank, uint64_t *unsure_ns)
{
	*unsure_ns = h ? h->hellos[rank].clock_unsure_ns : 0;
	return h ? h->hellos[rank].clock_offset_ns : 0;
}

int hosts_vote(struct hosts *h, uint64_t mine, uint64_t *all, struct mlgen_err *err)
{
	*all = mine;
	if (!h || ballot_vote(h->votes, mine, all) == 0)
		return 0;
	pthread_mutex_lock(&h->lock);
	int rc = fail_lost(h, err);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int hosts_barrier(struct hosts *h, struct mlgen_err *err)
{
	uint64_t none;

	return hosts_vote(h, 0, &none, err);
}

int hosts_gather(struct hosts *h, const void *mine, size_t n, struct buf *all,
		 struct mlgen_err *err)
{
	if (h && h->rank)
		return send_part(h, mine, n, err);
	buf_reset(all);
	hosts_add_part(all, mine, n);
	for (unsigned i = 0; h && i < h->peer_count; i++)
		gather_from(h, &h->peers[i], all);
	return 0;
}

const char *hosts_part(const struct buf *all, unsigned rank, size_t *n)
{
	size_t at = 0;

	for (;; rank--) {
		uint64_t length;

		memcpy(&length, buf_str(all) + at, sizeof(length));
		at += sizeof(length);
		if (rank == 0) {
			*n = length == PART_GONE ? 0 : (size_t)length;
			return length == PART_GONE ? NULL : all->s + at;
		}
		at += length == PART_GONE ? 0 : (size_t)length;
	}
}

int hosts_broadcast(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	int rc;

	if (!h)
		return 0;
	if (h->rank)
		return await_share(h, b, err);
	rc = check_lost(h, err);
	if (rc == 0)
		star_send_all(h, NULL, MESSAGE_DATA, 0, b->len, buf_str(b));
	return rc;
}

int hosts_broadcast_on_host(struct hosts *h, struct buf *b, struct mlgen_err *err)
{
	unsigned first = 0;

	if (!h)
		return 0;
	if (h->rank == 0)
		return forward_on_all_hosts(h, b, err);
	while (h->host_of[first] != h->host_of[h->rank])
		first++;
	if (first != h->rank)
		return await_share(h, b, err);
	return leads_other_processes(h, first) ? send_part(h, b->s, b->len, err) : 0;
}

int hosts_agree(struct hosts *h, int rc, struct mlgen_err *err)
{
	struct buf all = { 0 }, first = { 0 };
	struct mlgen_err lost = { 0 }, e = { 0 };
	uint64_t failed;

	if (!h)
		return rc;
	if (rc < 0)
		mlgen_fail(&e, rc, "%s", err->text);
	int together = hosts_vote(h, rc < 0, &failed, &lost);
	if (together == 0 && failed) {
		together = hosts_gather(h, &e, sizeof(e), &all, &lost);
		if (together == 0 && h->rank == 0)
			add_first_error(h, &all, &first);
		if (together == 0)
			together = hosts_broadcast(h, &first, &lost);
		if (together == 0 && first.len == sizeof(e))
			memcpy(&e, first.s, sizeof(e));
	}
	buf_fini(&all);
	buf_fini(&first);
	if (rc < 0)
		return rc;
	if (together < 0)
		return mlgen_fail(err, together, "%s", lost.text);
	return e.code ? mlgen_fail(err, e.code, "%s", e.text) : 0;
}

void hosts_set_activity(struct hosts *h, const char *what)
{
	if (h)
		star_send_all(h, NULL, MESSAGE_DOES, 0, strlen(what), what);
}

void hosts_watch(struct hosts *h, hosts_news_fn *hear, void *arg)
{
	struct hosts_news news = { .is_death = true };

	if (!h)
		return;
	pthread_mutex_lock(&h->telling);
	h->hear = hear;
	h->hear_arg = arg;
	pthread_mutex_lock(&h->lock);
	news.err = h->lost;
	pthread_mutex_unlock(&h->lock);
	if (hear && news.err.code)
		hear(arg, &news);
	pthread_mutex_unlock(&h->telling);
}

void hosts_announce_end(struct hosts *h, const struct mlgen_err *err)
{
	char text[1024] = "", of[128];

	if (!h)
		return;
	if (err) {
		name_process(h, h->rank, err->text, of, sizeof(of));
		snprintf(text, sizeof(text), "%s%.*s", of, 890, err->text);
	}
	star_send_all(h, NULL, MESSAGE_END, err != NULL, strlen(text), text);
}

bool hosts_is_lost(struct hosts *h)
{
	if (!h)
		return false;
	pthread_mutex_lock(&h->lock);
	bool is_lost = h->lost.code != 0;
	pthread_mutex_unlock(&h->lock);
	return is_lost;
}
