/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is on the user's terminal. */
#include "core/terminal.h"

#include <fcntl.h>
#include <unistd.h>

void terminal_open(struct terminal *terminal)
{
	*terminal =
		(struct terminal){ .fd = open("/dev/tty", O_RDWR | O_CLOEXEC |
								  O_NOCTTY |
								  O_NONBLOCK) };
	if (terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp())
		terminal->ours = getpgrp();
}

void terminal_take_back(struct terminal *terminal)
{
	pid_t now;

	if (!terminal->ours)
		return;
	now = tcgetpgrp(terminal->fd);
	if (now > 0 && now != terminal->ours &&
	    !tcsetpgrp(terminal->fd, terminal->ours))
		terminal->theirs = now;
	/* If it has stopped all output, ours would wait; not the user's ^S. */
	(void)tcflow(terminal->fd, TCOON);
}

void terminal_hand_over(struct terminal *terminal)
{
	/* In the background (bg) it is not ours to give. */
	if (terminal->theirs && tcgetpgrp(terminal->fd) == terminal->ours)
		(void)tcsetpgrp(terminal->fd, terminal->theirs);
	terminal->theirs = 0;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->fd >= 0)
		close(terminal->fd);
	terminal->fd = -1;
}
