/* SPDX-License-Identifier: Apache-2.0 */
/* The user's terminal, to draw on and to take keys from. */
#include "core/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"

static const int watched[] = { SIGINT,	SIGTERM, SIGHUP,
			       SIGQUIT, SIGTSTP, SIGWINCH };
#define WATCHED ARRAY_SIZE(watched)

/* One terminal, one handler: state of the process, as signals are. */
static struct {
	struct termios settings;
	struct sigaction before[WATCHED];
	sigset_t mask;
} saved;
static volatile sig_atomic_t resized, ended;

static void note(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else if (number != SIGTSTP)
		ended = 1;
}

int screen_begin(void)
{
	struct sigaction action = { .sa_handler = note };
	struct termios raw;
	sigset_t blocked;

	if (tcgetattr(0, &saved.settings))
		return -errno;
	resized = ended = 0;
	/* They come only while screen_wait() waits, so none is missed. */
	sigemptyset(&blocked);
	for (size_t i = 0; i < WATCHED; i++)
		sigaddset(&blocked, watched[i]);
	(void)sigprocmask(SIG_BLOCK, &blocked, &saved.mask);
	for (size_t i = 0; i < WATCHED; i++)
		(void)sigaction(watched[i], &action, &saved.before[i]);
	raw = saved.settings;
	cfmakeraw(&raw);
	raw.c_oflag |= OPOST | ONLCR;
	(void)tcsetattr(0, TCSADRAIN, &raw);
	return 0;
}

void screen_end(void)
{
	(void)tcsetattr(0, TCSAFLUSH, &saved.settings);
	for (size_t i = 0; i < WATCHED; i++)
		(void)sigaction(watched[i], &saved.before[i], NULL);
	(void)sigprocmask(SIG_SETMASK, &saved.mask, NULL);
}

void screen_size(int *rows, int *columns)
{
	struct winsize size = { 0 };

	(void)ioctl(1, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}

static enum screen_event take_keys(char *keys, size_t most, size_t *got)
{
	ssize_t n = read(0, keys, most);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return SCREEN_TIME;
	if (n <= 0)
		return SCREEN_END;
	*got = (size_t)n;
	return SCREEN_KEYS;
}

enum screen_event screen_wait(int milliseconds, char *keys, size_t most,
			      size_t *got)
{
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	struct timespec time = { .tv_sec = milliseconds / 1000,
				 .tv_nsec = milliseconds % 1000 * 1000000L };
	sigset_t open = saved.mask;
	int ready;

	*got = 0;
	for (size_t i = 0; i < WATCHED; i++)
		sigdelset(&open, watched[i]);
	ready = ppoll(&fd, 1, &time, &open);
	if (ended)
		return SCREEN_END;
	if (resized) {
		resized = 0;
		return SCREEN_RESIZE;
	}
	return ready > 0 ? take_keys(keys, most, got) : SCREEN_TIME;
}
