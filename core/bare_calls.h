/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the agent of a sandbox without namespaces carries out. */
#ifndef SRT_BARE_CALLS_H
#define SRT_BARE_CALLS_H

#include "core/bare_agent.h"

/** bare_serve() - answer the call in @agent->notify */
void bare_serve(struct bare_agent *agent);

#endif
