/* SPDX-License-Identifier: Apache-2.0 */
/* meet.c - see meet.h. */
#include "hosts/meet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "hosts/ballot.h"
#include "hosts/channels.h"
#include "hosts/hosts_inside.h"
#include "hosts/launcher.h"
#include "hosts/mpi.h"

static void read_boot_id(char *to, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(to, (int)size, f))
		to[0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void introduce(struct hello *mine, const struct hosts_config *cfg)
{
	snprintf(mine->version, sizeof(mine->version), "%s", cfg->version);
	if (cfg->why)
		snprintf(mine->why, sizeof(mine->why), "%s", cfg->why);
	if (gethostname(mine->name, sizeof(mine->name) - 1) < 0 || !mine->name[0])
		snprintf(mine->name, sizeof(mine->name), "(no name)");
	read_boot_id(mine->boot_id, sizeof(mine->boot_id));
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

static struct hosts *new_hosts(const struct hosts_mpi *mpi, unsigned rank, unsigned total)
{
	struct hosts *h = mem_zalloc(sizeof(*h));

	h->mpi = mpi;
	h->rank = rank;
	h->total = total;
	h->wake_fd = -1;
	h->reserved = 1;
	h->hellos = mem_array(total, sizeof(*h->hellos));
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->telling, NULL);
	pthread_cond_init(&h->changed, NULL);
	return h;
}

int hosts_meet_through(struct hosts **out, const struct hosts_mpi *mpi, unsigned rank,
		       unsigned total, const struct hosts_config *cfg, struct mlgen_err *err)
{
	struct hosts *h = new_hosts(mpi, rank, total);

	*out = NULL;
	h->port = cfg->port;
	introduce(&h->hellos[rank], cfg);
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
	int rc = launcher_look(&l, err);

	*out = NULL;
	if (rc < 0 || l.mpi == LAUNCHER_NONE)
		return rc;
	mpi = mpi_start(&l, cfg->binary_dir, err);
	if (!mpi)
		return err->code;
	rc = hosts_meet_through(out, mpi, l.rank, l.total, cfg, err);
	if (rc == 0)
		return 0;
	/* All of them have failed alike, so all of them come to this. */
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
	/* It would wait for who is gone, for ever. */
	if (!is_lost)
		mpi->end();
}
