/* SPDX-License-Identifier: Apache-2.0 */
/* A process that shares our memory. */
#include "core/beside.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_SIZE (256 << 10)

static struct {
	bool used;
	bool known;
	void (*main)(void *context);
	void *context;
	pid_t pid;
	sem_t made;
} it;

#ifdef __SANITIZE_ADDRESS__
int beside_start(void (*main)(void *context), void *context)
{
	it.used = it.known = true;
	it.pid = fork();
	if (it.pid == 0)
		main(context);
	return it.pid < 0 ? -errno : 0;
}
#else

static char stack[STACK_SIZE] __attribute__((aligned(16)));

static int run(void *unused)
{
	(void)unused;
	it.main(it.context);
	return 1;
}

/*
 * Behind the clone this thread's storage is the process's: a call that returns
 * would set errno. None does, as a stop and going on start it anew.
 */
static void *lend(void *unused)
{
	int pid = clone(run, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	(void)unused;
	it.pid = pid < 0 ? -errno : pid;
	(void)sem_post(&it.made);
	if (pid < 0)
		return NULL;
	for (;;)
		(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static int make_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	error = pthread_attr_setstacksize(&attributes, STACK_SIZE / 4);
	if (!error)
		error = pthread_attr_setdetachstate(&attributes,
						    PTHREAD_CREATE_DETACHED);
	if (!error)
		error = pthread_create(&thread, &attributes, lend, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -error;
}

int beside_start(void (*main)(void *context), void *context)
{
	sigset_t all, before;
	int error;

	if (it.used)
		return -EBUSY;
	it.main = main;
	it.context = context;
	if (sem_init(&it.made, 0, 0))
		return -errno;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	error = make_thread();
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	it.used = !error;
	return error;
}
#endif

pid_t beside_pid(void)
{
	if (!it.used)
		return 0;
	while (!it.known && sem_wait(&it.made) && errno == EINTR)
		;
	it.known = true;
	return it.pid;
}
