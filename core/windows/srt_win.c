/* SPDX-License-Identifier: Apache-2.0 */
/* srt-win.exe: reads its command line and hands over. Only this file prints. */
#include <stdio.h>

#include "core/windows/account.h"
#include "core/windows/launch.h"
#include "core/windows/lists.h"
#include "core/windows/trust.h"
#include "core/windows/wfp.h"

#include <shellapi.h>

static int install(const struct win_options *options, struct failure *failure)
{
	struct sid sid;
	int error = 0;

	if (!options->skip_account)
		error = account_install(options->account, options->group,
					failure);
	if (error || options->skip_wfp)
		return error;
	error = account_sid(options->account, &sid, failure);
	return error ? error
		     : wfp_install(options->sublayer, &sid, options->range,
				   failure);
}

/* The account first: without it the fence keeps nobody. */
static int uninstall(const struct win_options *options, struct failure *failure)
{
	struct sid sid;
	int error = 0;

	if (!options->skip_account) {
		if (account_sid(options->account, &sid, NULL) == 0)
			lists_release(&sid, NULL);
		error = account_remove(options->account, options->group,
				       failure);
	}
	if (error || options->skip_wfp)
		return error;
	return wfp_remove(options->sublayer, failure);
}

static int recover(const struct win_options *options, struct failure *failure)
{
	struct sid sid;
	int error = account_sid(options->account, &sid, failure);

	return error ? error : lists_release(&sid, failure);
}

static int load(const char *file, struct win_plan *plan,
		struct failure *failure)
{
	owned_ptr char *text = NULL;
	size_t size = 0;
	int error = file_named(file, &text, &size, failure);

	return error ? error : win_plan_read(plan, text, size, failure);
}

static int execute(const struct win_options *options, DWORD *status,
		   struct failure *failure)
{
	struct win_plan plan;
	struct sid sid;
	int error = load(options->file, &plan, failure), other;

	if (error)
		return error;
	error = account_sid(plan.account, &sid, failure);
	if (!error)
		error = lists_apply(&plan, &sid, failure);
	if (!error) {
		error = launch_broker(&plan, options->argv, status, failure);
		other = lists_release(&sid, error ? NULL : failure);
		error = error ? error : other;
	}
	win_plan_free(&plan);
	return error;
}

static int check(const struct win_options *options, struct failure *failure)
{
	struct win_plan plan;
	int error = load(options->file, &plan, failure);

	if (error)
		return error;
	printf("account %s, ports %u to %u, %zu paths\n", plan.account,
	       plan.range.low, plan.range.high, plan.path_count);
	win_plan_free(&plan);
	return 0;
}

static int dispatch(const struct win_options *options, DWORD *status,
		    struct failure *failure)
{
	*status = 0;
	switch (options->command) {
	case WIN_HELP:
		fputs(win_usage, stdout);
		return 0;
	case WIN_INSTALL:
		return install(options, failure);
	case WIN_UNINSTALL:
		return uninstall(options, failure);
	case WIN_TRUST_CA:
		return trust_install(options->file, options->account, failure);
	case WIN_EXEC:
		return execute(options, status, failure);
	case WIN_RECOVER:
		return recover(options, failure);
	case WIN_CHECK:
		return check(options, failure);
	case WIN_RUNNER:
		return launch_runner(options, status, failure);
	}
	return failure_set(failure, 0, "unknown command");
}

/* The words in UTF-8, whatever the code page of the console is. */
static char **words(void)
{
	int count = 0;
	wchar_t **wide_words = CommandLineToArgvW(GetCommandLineW(), &count);
	char **out = calloc((size_t)count + 1, sizeof(*out));

	for (int i = 1; wide_words && out && i < count; i++) {
		out[i - 1] = narrow(wide_words[i]);
		if (!out[i - 1])
			return NULL;
	}
	LocalFree(wide_words);
	return out;
}

int main(void)
{
	struct win_options options;
	struct failure failure = { 0 };
	char **argv = words();
	DWORD status = EXIT_OURS;
	int error = argv ? options_parse(&options, argv, &failure)
			 : failure_set(&failure, 0, "a word is no UTF-16");

	if (error) {
		fprintf(stderr, "srt-win: %s\n%s", failure.text, win_usage);
		return EXIT_OURS;
	}
	error = dispatch(&options, &status, &failure);
	if (!error)
		return (int)status;
	fprintf(stderr, "srt-win: %s\n", failure.text);
	return status ? (int)status : EXIT_OURS;
}
