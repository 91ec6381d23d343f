/* Shared main() of the unit tests: a file defines `static Suite *suite(void)` and ends with UNIT_MAIN. */
#ifndef MC_TESTS_UNIT_H
#define MC_TESTS_UNIT_H
#include <check.h>
#include <stdlib.h>

#define UNIT_MAIN                                                                                            \
	int main(void)                                                                                       \
	{                                                                                                    \
		SRunner *sr = srunner_create(suite());                                                       \
		int bad;                                                                                     \
		srunner_run_all(sr, CK_ENV);                                                                 \
		bad = srunner_ntests_failed(sr);                                                             \
		srunner_free(sr);                                                                            \
		return bad ? EXIT_FAILURE : EXIT_SUCCESS;                                                    \
	}
#endif
