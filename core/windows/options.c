/* SPDX-License-Identifier: Apache-2.0 */
/* One loop over a table of options. */
#include "core/windows/options.h"

#include <stddef.h>
#include <string.h>

const char win_usage[] =
	"usage: srt-win [--srt-win] COMMAND\n"
	"\n"
	"  windows-install [--proxy-port-range LOW-HIGH] [--sublayer-guid "
	"GUID]\n"
	"                  [--user NAME] [--skip-account] [--skip-wfp]\n"
	"      makes the account that commands run as, its group and its "
	"fence;\n"
	"      when they are there, gives the account a new password and the\n"
	"      fence these ports. Needs an elevated prompt, as all but the "
	"last\n"
	"      three do\n"
	"  windows-uninstall [--sublayer-guid GUID] [--user NAME] [--skip-…]\n"
	"      takes all of it away\n"
	"  trust-ca FILE [--user NAME]\n"
	"      lets the account trust the CA of network.tlsTerminate\n"
	"  exec PLAN [--] COMMAND ARG…\n"
	"      runs a command by a plan of `srt-lua compile --backend "
	"windows`\n"
	"  recover\n"
	"      takes back what runs that were killed have left in access "
	"lists\n"
	"  check PLAN\n"
	"      reads a plan and says what is wrong with it\n";

static const struct {
	const char *name;
	enum win_command command;
	bool file, rest;
} commands[] = {
	{ "--help", WIN_HELP, false, false },
	{ "windows-install", WIN_INSTALL, false, false },
	{ "windows-uninstall", WIN_UNINSTALL, false, false },
	{ "trust-ca", WIN_TRUST_CA, true, false },
	{ "exec", WIN_EXEC, true, true },
	{ "recover", WIN_RECOVER, false, false },
	{ "check", WIN_CHECK, true, false },
	{ "--runner", WIN_RUNNER, false, true },
};

/* What an option is of: a bit for each command. */
enum {
	FOR_INSTALL = 1 << WIN_INSTALL,
	FOR_BOTH = FOR_INSTALL | 1 << WIN_UNINSTALL,
	FOR_ALL = FOR_BOTH | 1 << WIN_TRUST_CA,
	FOR_RUNNER = 1 << WIN_RUNNER,
};

enum kind { FLAG, TEXT, NUMBER, RANGE };

#define AT(field) offsetof(struct win_options, field)
static const struct {
	const char *name;
	unsigned commands;
	enum kind kind;
	size_t field;
} options[] = {
	{ "--proxy-port-range", FOR_INSTALL, RANGE, AT(range) },
	{ "--sublayer-guid", FOR_BOTH, TEXT, AT(sublayer) },
	{ "--user", FOR_ALL, TEXT, AT(account) },
	{ "--skip-account", FOR_BOTH, FLAG, AT(skip_account) },
	{ "--skip-wfp", FOR_BOTH, FLAG, AT(skip_wfp) },
	{ "--ca", FOR_RUNNER, TEXT, AT(ca) },
	{ "--keep", FOR_RUNNER, NUMBER, AT(keep_groups) },
	{ "--restrict", FOR_RUNNER, NUMBER, AT(restricting) },
	{ "--probe", FOR_RUNNER, NUMBER, AT(probe) },
};

static bool number(const char *text, unsigned *out)
{
	for (*out = 0; *text >= '0' && *text <= '9' && *out < 100000; text++)
		*out = *out * 10 + (unsigned)(*text - '0');
	return !*text;
}

static int store(struct win_options *out, size_t option, const char *value,
		 struct failure *failure)
{
	char *field = (char *)out + options[option].field;
	bool good = true;

	if (options[option].kind == FLAG)
		*(bool *)(void *)field = true;
	else if (!value)
		return failure_set(failure, 0, "%s needs a value",
				   options[option].name);
	else if (options[option].kind == TEXT)
		*(const char **)(void *)field = value;
	else if (options[option].kind == NUMBER)
		good = number(value, (unsigned *)(void *)field);
	else
		good = port_range_parse((struct port_range *)(void *)field,
					value);
	if (good)
		return 0;
	return failure_set(failure, 0, "%s: \"%s\" is no %s",
			   options[option].name, value,
			   options[option].kind == RANGE
				   ? "range of 100 ports at most from 1024 up, "
				     "such as 60080-60089"
				   : "number");
}

static int unknown(const struct win_options *out, const char *name,
		   struct failure *failure)
{
	if (out->command == WIN_EXEC && strncmp(name, "--allow-", 8) == 0)
		return failure_set(
			failure, 0,
			"%s: a run can't be granted more than its plan grants: "
			"all runs have one account, and would have it too; "
			"name it in filesystem of the policy",
			name);
	return failure_set(failure, 0, "unknown option %s", name);
}

static int option_at(struct win_options *out, char ***argv,
		     struct failure *failure)
{
	const char *name = **argv, *value = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, name) != 0 ||
		    !(options[i].commands & 1U << out->command))
			continue;
		if (options[i].kind != FLAG && (*argv)[1])
			value = *++*argv;
		++*argv;
		return store(out, i, value, failure);
	}
	return unknown(out, name, failure);
}

static int options_at(struct win_options *out, char ***argv,
		      struct failure *failure)
{
	int error = 0;

	while (!error && **argv && strncmp(**argv, "--", 2) == 0 && (**argv)[2])
		error = option_at(out, argv, failure);
	return error;
}

static int words(struct win_options *out, size_t command, char **argv,
		 struct failure *failure)
{
	int error = options_at(out, &argv, failure);

	if (!error && commands[command].file) {
		if (!*argv)
			return failure_set(failure, 0, "%s needs a file",
					   commands[command].name);
		out->file = *argv++;
		error = options_at(out, &argv, failure);
	}
	if (error)
		return error;
	if (*argv && commands[command].rest && strcmp(*argv, "--") == 0)
		argv++;
	if (commands[command].rest ? !*argv : *argv != NULL)
		return failure_set(failure, 0,
				   *argv ? "too much: %s"
					 : "no command given%s",
				   *argv ? *argv : "");
	out->argv = argv;
	return 0;
}

int options_parse(struct win_options *out, char **argv, struct failure *failure)
{
	*out = (struct win_options){
		.range = { 60080, 60089 },
		.sublayer = "{5b0c8a39-6f0e-4c3e-9a8e-3f1d7c2a64e1}",
		.account = "srt-sandbox",
		.group = "srt-sandbox-users",
	};
	if (*argv && strcmp(*argv, "--srt-win") == 0)
		argv++;
	if (!*argv)
		return failure_set(failure, 0, "no command given");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, *argv) == 0) {
			out->command = commands[i].command;
			return words(out, i, argv + 1, failure);
		}
	return failure_set(failure, 0, "unknown command %s", *argv);
}
