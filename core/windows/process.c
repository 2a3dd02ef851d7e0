/* SPDX-License-Identifier: Apache-2.0 */
/* Processes in jobs: none outlives whoever waits for it. */
#include "core/windows/process.h"

STARTUPINFOW process_start_info(void)
{
	return (STARTUPINFOW){
		.cb = sizeof(STARTUPINFOW),
		.dwFlags = STARTF_USESTDHANDLES,
		.hStdInput = GetStdHandle(STD_INPUT_HANDLE),
		.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
		.hStdError = GetStdHandle(STD_ERROR_HANDLE),
	};
}

wchar_t *process_block(struct variables *variables)
{
	size_t size = 2, used = 0;
	wchar_t *out;

	variables_sort(variables);
	for (size_t i = 0; i < variables->count; i++)
		size += strlen(variables->list[i]) + 1;
	/* UTF-16 never has more units than UTF-8 has bytes. */
	out = calloc(size, sizeof(*out));
	for (size_t i = 0; out && i < variables->count; i++) {
		owned_ptr wchar_t *text = wide(variables->list[i]);

		if (!text)
			continue;
		wcscpy(out + used, text);
		used += wcslen(text) + 1;
	}
	return out;
}

static HANDLE make_job(void)
{
	HANDLE job = CreateJobObjectW(NULL, NULL);
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
		.BasicLimitInformation.LimitFlags =
			JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
			JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
	};
	JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {
		JOB_OBJECT_UILIMIT_DESKTOP |
		JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
		JOB_OBJECT_UILIMIT_EXITWINDOWS |
		JOB_OBJECT_UILIMIT_GLOBALATOMS | JOB_OBJECT_UILIMIT_HANDLES |
		JOB_OBJECT_UILIMIT_READCLIPBOARD |
		JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS |
		JOB_OBJECT_UILIMIT_WRITECLIPBOARD
	};

	if (job &&
	    SetInformationJobObject(job, JobObjectExtendedLimitInformation,
				    &limits, sizeof(limits)) &&
	    SetInformationJobObject(job, JobObjectBasicUIRestrictions, &ui,
				    sizeof(ui)))
		return job;
	if (job)
		CloseHandle(job);
	return NULL;
}

int process_run(PROCESS_INFORMATION *started, DWORD *status,
		struct failure *failure)
{
	owned_handle HANDLE process = started->hProcess;
	owned_handle HANDLE thread = started->hThread;
	owned_handle HANDLE job = make_job();

	if (!job || !AssignProcessToJobObject(job, process) ||
	    ResumeThread(thread) == (DWORD)-1) {
		TerminateProcess(process, 1);
		return win_failed(failure, GetLastError(),
				  "the process can't be put into a job");
	}
	if (WaitForSingleObject(process, INFINITE) == WAIT_OBJECT_0 &&
	    GetExitCodeProcess(process, status))
		return 0;
	return win_failed(failure, GetLastError(), "waiting for the command");
}
