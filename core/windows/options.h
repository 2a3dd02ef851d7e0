/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of srt-win.exe. Pure. */
#ifndef SRT_WINDOWS_OPTIONS_H
#define SRT_WINDOWS_OPTIONS_H

#include <stdbool.h>

#include "core/util.h"
#include "core/windows/fence.h"

enum win_command {
	WIN_HELP,
	WIN_INSTALL,
	WIN_UNINSTALL,
	WIN_TRUST_CA,
	WIN_EXEC,
	WIN_RECOVER,
	WIN_CHECK,  /* reads a plan, and does nothing */
	WIN_RUNNER, /* the second hop, as the account */
};

/** struct win_options - what was asked for; all strings are borrowed */
struct win_options {
	enum win_command command;
	bool skip_account, skip_wfp;
	struct port_range range;
	const char *sublayer, *account, *group;
	const char *file; /* plan, or certificate */
	const char *ca;	  /* fingerprint in hex */
	unsigned keep_groups, restricting, probe;
	char **argv; /* the command, ends with NULL */
};

extern const char win_usage[];

/**
 * options_parse() - read a command line
 * @argv: ends with NULL; a first word --srt-win is passed over, so that another
 * program may have the helper in it
 * Return: 0, or -EINVAL with @failure filled
 */
int options_parse(struct win_options *out, char **argv,
		  struct failure *failure);

#endif
