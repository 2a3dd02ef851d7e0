/* SPDX-License-Identifier: Apache-2.0 */
/* How a coroutine of the host state waits for something of the loop. */
#ifndef SRT_LUA_AWAIT_H
#define SRT_LUA_AWAIT_H

/**
 * struct await - what a suspended coroutine of the host waits for
 * @wake, @context: set by whoever resumed the coroutine, once it has yielded
 * @cancel: set by whoever made it
 *
 * A C function that has to wait yields a light userdata of this. The resumer
 * then either resumes the coroutine, without arguments, when @wake is called;
 * or calls @cancel, once, and never resumes it. @wake is called once, from
 * the loop, never from within the yield.
 */
struct await {
	void (*wake)(void *context);
	void *context;
	void (*cancel)(struct await *await);
};

#endif
