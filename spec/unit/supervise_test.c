/* SPDX-License-Identifier: Apache-2.0 */
/* What waits without a command leaves nothing in the loop. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/attend.h"
#include "core/signals.h"

static void test_stopped(void **state)
{
	uv_loop_t *loop = uv_default_loop();

	(void)state;
	uv_stop(loop);
	assert_int_equal(attend_wait(loop), 0);
	assert_false(uv_loop_alive(loop));
}

static void test_signal(void **state)
{
	uv_loop_t *loop = uv_default_loop();

	(void)state;
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(attend_wait(loop), SIGTERM);
	uv_run(loop, UV_RUN_NOWAIT);
	assert_false(uv_loop_alive(loop));
}

/* Both at once: the signal is told, and its watcher goes as well. */
static void test_signal_as_it_stops(void **state)
{
	uv_loop_t *loop = uv_default_loop();

	(void)state;
	assert_int_equal(raise(SIGHUP), 0);
	uv_stop(loop);
	assert_int_equal(attend_wait(loop), SIGHUP);
	assert_false(uv_loop_alive(loop));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_signal_as_it_stops),
	};

	signals_hold(signals_ending);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
