/* SPDX-License-Identifier: Apache-2.0 */
/* hold_aio.c - take asynchronous I/O requests from the system, and hold them. */
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 *	hold_aio LEFT
 *
 * Takes all that fs.aio-max-nr still allows but LEFT, prints how many it got,
 * and holds them until its standard input ends. There is one such number for
 * the whole system: what is left is for whoever else runs.
 */
static unsigned long take(unsigned requests, unsigned long most)
{
	unsigned long taken = 0;
	aio_context_t context = 0;

	while (taken + requests <= most && syscall(SYS_io_setup, requests, &context) == 0) {
		taken += requests;
		context = 0;
	}
	return taken;
}

static unsigned long number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long n = 0;

	if (f && fscanf(f, "%lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	unsigned long max = number_in("/proc/sys/fs/aio-max-nr");
	unsigned long gone =
		number_in("/proc/sys/fs/aio-nr") + (argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
	unsigned long taken = 0, most = max > gone ? max - gone : 0;
	char byte;

	if (most == 0) {
		fputs("hold_aio: there is nothing to take\n", stderr);
		return 77;
	}
	/* Large steps, then down to single ones. */
	for (unsigned requests = 4096; requests; requests /= 2)
		taken += take(requests, most - taken);
	printf("%lu\n", taken);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
