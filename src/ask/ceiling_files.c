/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_files.c - see ceiling_files.h. */
#include "ask/ceiling_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signals.h"
#include "io/pagecache.h"
#include "io/sysfile.h"

/* What to read into memory at most, of what is free there. */
#define MEMORY_PART 4
#define WARM_BATCHES 4
#define WARM_BYTES (256.0 * 1024 * 1024) /* beyond the caches of a CPU */
#define CHUNK_BYTES ((size_t)1 << 20)

#define MOST_LOOKS 256 /* at files, whether they are still there */

/* 1: to its end; 0: the time is over; -errno. */
static int read_through(int fd, char *chunk, const struct clock *clock, uint64_t deadline_ns,
			uint64_t *bytes)
{
	ssize_t n;

	/* The whole of it at once: a slow storage answers requests side by side faster than one
	 * after the other. What fails costs only time. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
	while ((n = read(fd, chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (signals_taken())
			return -EINTR;
		if (clock_now(clock) >= deadline_ns)
			return 0;
		*bytes += n > 0 ? (uint64_t)n : 0;
	}
	return 1;
}

static int warm_file(const struct dataset *ds, uint64_t file, char *chunk,
		     const struct clock *clock, uint64_t deadline_ns, uint64_t *bytes,
		     struct mlgen_err *err)
{
	char path[PATH_MAX];
	int n = dataset_path(ds, file, path, sizeof(path));

	if (n < 0)
		return mlgen_fail(err, n, "%s: %s", ds->directory, strerror(-n));
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	int rc = read_through(fd, chunk, clock, deadline_ns, bytes);
	close(fd);
	if (rc < 0 && rc != -EINTR)
		return mlgen_fail(err, rc, "%s: %s", path, strerror(-rc));
	return rc;
}

uint64_t ceiling_memory(const struct host *host)
{
	uint64_t available = host->memory_bytes;
	uint64_t free_bytes;

	if (sysfile_keyed(&free_bytes, "", "/proc/meminfo", "MemAvailable") == 0 &&
	    free_bytes < available)
		available = free_bytes;
	return available / MEMORY_PART;
}

uint64_t ceiling_files(const struct job_result *j, uint64_t most_bytes)
{
	const struct dataset *ds = j->dataset;
	const struct job *job = j->job;
	double mean = fmax(j->totals.mean_file_bytes, 1);
	double batches = (double)WARM_BATCHES * (double)job->accelerators * (double)job->batch_size;
	double files = fmax(ceil(batches / (double)ds->samples_per_file), ceil(WARM_BYTES / mean));

	files = fmin(files, floor((double)most_bytes / mean));
	files = fmin(files, (double)ds->files);
	if (job->distinct_files)
		files = fmin(files, (double)job->distinct_files);
	return files < 1 ? 1 : (uint64_t)files;
}

int ceiling_warm(struct ceiling_warm *w, const struct dataset *ds, uint64_t files,
		 const struct clock *clock, uint64_t deadline_ns, struct mlgen_err *err)
{
	char *chunk = mem_array(CHUNK_BYTES, 1);
	int rc = 1;

	*w = (struct ceiling_warm){ 0 };
	while (rc > 0 && w->files < files) {
		uint64_t bytes = 0;

		for (unsigned part = 0; rc > 0 && part < ds->parts; part++) {
			uint64_t file = part * ds->files + w->files;

			if (dataset_has_file(ds, file))
				rc = warm_file(ds, file, chunk, clock, deadline_ns, &bytes, err);
		}
		if (rc > 0) {
			w->files++;
			w->bytes += bytes;
		}
	}
	mem_free(chunk);
	return rc < 0 ? rc : 0;
}

double ceiling_kept_percent(const struct dataset *ds, const struct ceiling_warm *w)
{
	uint64_t resident = 0, all = 0;
	char path[PATH_MAX];

	for (uint64_t i = 0; i < w->files && i < MOST_LOOKS; i++) {
		uint64_t here, size;

		if (dataset_path(ds, i, path, sizeof(path)) < 0 ||
		    pagecache_resident(path, &here, &size) < 0)
			return (double)NAN;
		resident += here;
		all += size;
	}
	return all ? 100 * (double)resident / (double)all : (double)NAN;
}
