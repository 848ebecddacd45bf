/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - hand TCP connections on to another address, and each byte of them late. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 *	relay ADDRESS PORT DELAY_US
 *
 * Listens at PORT of all addresses, and connects to the same PORT of ADDRESS for
 * each connection that it takes; its own have the mark 1, for a rule of ip that
 * lets them through. What is read goes on DELAY_US later, in both directions.
 * Ends when it is killed.
 */
struct way {
	int from, to;
};

static long delay_us;

static void write_whole(int fd, const char *bytes, ssize_t n)
{
	while (n > 0) {
		ssize_t done = send(fd, bytes, (size_t)n, MSG_NOSIGNAL);

		if (done <= 0)
			return;
		bytes += done;
		n -= done;
	}
}

static void *carry(void *arg)
{
	struct way *w = arg;
	char bytes[65536];
	ssize_t n;

	while ((n = recv(w->from, bytes, sizeof(bytes), 0)) > 0) {
		struct timespec t = { .tv_sec = delay_us / 1000000,
				      .tv_nsec = delay_us % 1000000 * 1000 };

		nanosleep(&t, NULL);
		write_whole(w->to, bytes, n);
	}
	shutdown(w->to, SHUT_WR);
	free(w);
	return NULL;
}

static void start(int from, int to)
{
	struct way *w = malloc(sizeof(*w));
	const int on = 1;
	pthread_t thread;

	if (!w)
		exit(1);
	*w = (struct way){ from, to };
	setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (pthread_create(&thread, NULL, carry, w) != 0)
		exit(1);
	pthread_detach(thread);
}

static int connect_to(const struct sockaddr_in *to)
{
	const unsigned mark = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
		return fd;
	close(fd);
	return -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET }, to;
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 4)
		return 2;
	at.sin_port = htons((uint16_t)atoi(argv[2]));
	to = at;
	delay_us = atol(argv[3]);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* It answers from an address that is another host's. */
	setsockopt(listener, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
	    bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 16) != 0) {
		perror("relay");
		return 1;
	}
	puts("listening");
	fflush(stdout);
	for (;;) {
		int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int out = in < 0 ? -1 : connect_to(&to);

		if (out < 0) {
			if (in >= 0)
				close(in);
			continue;
		}
		start(in, out);
		start(out, in);
	}
}
