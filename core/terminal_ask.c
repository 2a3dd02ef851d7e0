/* SPDX-License-Identifier: Apache-2.0 */
/* The user's terminal, while something is asked on it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/terminal.h"

enum { SAY_MS = 1000 };

/* A process of a PID namespace below ours has more than one id. */
static bool is_inside(pid_t pid)
{
	char path[64], line[256], *second = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!second && fgets(line, sizeof(line), file))
		if (strncmp(line, "NSpid:\t", 7) == 0)
			second = strchr(line + 7, '\t');
	fclose(file);
	return second != NULL;
}

bool terminal_askable(const struct terminal *terminal)
{
	pid_t now = terminal->fd < 0 ? -1 : tcgetpgrp(terminal->fd);

	return now > 0 && (now == getpgrp() || is_inside(now));
}

/* An unfinished escape sequence, or colours, would hide what is asked. */
static void clear_line(const struct terminal *terminal)
{
	const char *name = getenv("TERM");
	bool dumb = !name || !*name || strcmp(name, "dumb") == 0;

	terminal_say(terminal, dumb ? "\n" : "\x18\x1b\\\x1b[0m\n");
}

bool terminal_borrow(struct terminal *terminal)
{
	struct termios *ask = &terminal->asking;

	if (!terminal_askable(terminal) ||
	    tcgetattr(terminal->fd, &terminal->settings))
		return false;
	terminal->lender = tcgetpgrp(terminal->fd);
	if (terminal->lender != getpgrp() && tcsetpgrp(terminal->fd, getpgrp()))
		return false;
	*ask = terminal->settings;
	cfmakeraw(ask);
	ask->c_oflag |= OPOST | ONLCR;
	/* Not TCSADRAIN: what the command wrote may never drain. */
	if (tcsetattr(terminal->fd, TCSANOW, ask) ||
	    tcgetattr(terminal->fd, ask) || ask->c_lflag & (ICANON | ISIG)) {
		terminal_return(terminal);
		return false;
	}
	terminal_flush(terminal);
	clear_line(terminal);
	return true;
}

bool terminal_held(const struct terminal *terminal)
{
	const struct termios *ask = &terminal->asking;
	struct termios now;

	return !tcgetattr(terminal->fd, &now) &&
	       tcgetpgrp(terminal->fd) == getpgrp() &&
	       now.c_iflag == ask->c_iflag && now.c_oflag == ask->c_oflag &&
	       now.c_cflag == ask->c_cflag && now.c_lflag == ask->c_lflag &&
	       now.c_line == ask->c_line &&
	       !memcmp(now.c_cc, ask->c_cc, sizeof(now.c_cc));
}

void terminal_return(struct terminal *terminal)
{
	terminal_flush(terminal);
	(void)tcsetattr(terminal->fd, TCSANOW, &terminal->settings);
	if (terminal->lender != getpgrp())
		(void)tcsetpgrp(terminal->fd, terminal->lender);
}

bool terminal_say(const struct terminal *terminal, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		struct pollfd fd = { .fd = terminal->fd, .events = POLLOUT };
		ssize_t n = write(terminal->fd, text, size);

		if (n > 0) {
			text += n;
			size -= (size_t)n;
		} else if (errno == EINTR) {
			continue;
		} else if (errno != EAGAIN || poll(&fd, 1, SAY_MS) <= 0) {
			/* Stopped by Ctrl-S, perhaps: nobody reads this. */
			return false;
		}
	}
	return true;
}

void terminal_flush(const struct terminal *terminal)
{
	(void)tcflush(terminal->fd, TCIFLUSH);
}
