/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - how long I/O takes in virtual time: one device that all share, with a latency for
 * each call. */
#include "sim.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_S UINT64_C(1000000000)
#define FILES 8192

/* What a memory copy moves; 1 byte takes at least 1 ns of it. */
#define MEMORY_BYTES_PER_SEC (UINT64_C(8) << 30)

static struct {
	struct sim_storage done;
	uint64_t free_ns; /* when the device has served all so far */
	uint64_t first_read_ns;
	struct file {
		ino_t inode;   /* 0 = unused */
		uint64_t name; /* its hash, when it was opened last */
	} files[FILES];
	unsigned count;
} storage;

const struct sim_storage *sim_storage(void)
{
	return &storage.done;
}

/* Splitmix64's finalizer. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* By its inode, for threads have tables of descriptors of their own. */
static struct file *file_of(int fd)
{
	int error = errno; /* the caller's, of what it has just done */
	struct file *f;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		errno = error;
		return NULL;
	}
	f = &storage.files[mix(st.st_ino) % FILES];
	while (f->inode && f->inode != st.st_ino)
		f = f + 1 < storage.files + FILES ? f + 1 : storage.files;
	if (!f->inode && ++storage.count == FILES)
		abort();
	f->inode = st.st_ino;
	return f;
}

void sim_opened(int fd, const char *path)
{
	struct file *f = file_of(fd);
	const char *slash = strrchr(path, '/');
	uint64_t h = 0;

	/* Once more, by a descriptor, whose number is chance. */
	if (!f || strncmp(path, "/proc/", 6) == 0)
		return;
	/* The name alone: folders may be temporary ones. */
	for (path = slash ? slash + 1 : path; *path; path++)
		h = mix(h + (unsigned char)*path);
	f->name = h;
}

/* The main thread sets up and reports; that takes no time. */
static void take(uint64_t until_ns)
{
	if (sim_thread() != 0 && until_ns > sim_now_ns())
		sim_sleep_until(until_ns);
}

static uint64_t pass(uint64_t bytes)
{
	uint64_t rate = sim_option("STORAGE_BANDWIDTH", UINT64_C(2) << 30);
	uint64_t now = sim_now_ns(), ns = bytes * NS_PER_S / rate;

	if (storage.free_ns < now)
		storage.free_ns = now;
	storage.free_ns += ns;
	storage.done.busy_ns += ns;
	return storage.free_ns;
}

static uint64_t name_of(int fd)
{
	const struct file *f = file_of(fd);

	return f ? f->name : 0;
}

static uint64_t draw(uint64_t name, uint64_t off, uint64_t what)
{
	return mix(name + mix(off + what));
}

/* From half of the mean to one and a half. */
static uint64_t latency(uint64_t mean_ns, uint64_t drawn)
{
	return mean_ns / 2 + drawn % (mean_ns ? mean_ns : 1);
}

void sim_open_takes(void)
{
	take(sim_now_ns() + sim_option("STORAGE_OPEN_NS", 20000));
}

/* The option says how long after the first read memory serves all of them. */
static bool is_warm(void)
{
	uint64_t after_ms = sim_option("STORAGE_WARM_AFTER_MS", UINT64_MAX);

	if (storage.first_read_ns == 0)
		storage.first_read_ns = sim_now_ns();
	return (sim_now_ns() - storage.first_read_ns) / 1000000 >= after_ms;
}

void sim_read_takes(int fd, uint64_t off, ssize_t bytes)
{
	uint64_t size = bytes > 0 ? (uint64_t)bytes : 0;
	uint64_t mean_ns = sim_option("STORAGE_READ_NS", 100000);
	uint64_t copied_ns = size * NS_PER_S / MEMORY_BYTES_PER_SEC;
	uint64_t name;

	if (sim_thread() == 0)
		return;
	name = name_of(fd);
	if (is_warm() || draw(name, off, 1) % 100 < sim_option("STORAGE_CACHED", 0)) {
		take(sim_now_ns() + 1000 + copied_ns);
		return;
	}
	storage.done.reads++;
	storage.done.read_bytes += size;
	take(pass(size) + latency(mean_ns, draw(name, off, 2)));
}

void sim_write_takes(int fd, uint64_t off, ssize_t bytes)
{
	uint64_t size = bytes > 0 ? (uint64_t)bytes : 0;
	uint64_t mean_ns = sim_option("STORAGE_WRITE_NS", 40000);

	if (sim_thread() == 0)
		return;
	storage.done.writes++;
	storage.done.written_bytes += size;
	take(pass(size) + latency(mean_ns, draw(name_of(fd), off, 3)));
}

void sim_flush_takes(int fd)
{
	uint64_t mean_ns = sim_option("STORAGE_FLUSH_NS", 2000000);

	take(sim_now_ns() + latency(mean_ns, draw(name_of(fd), 0, 4)));
}
