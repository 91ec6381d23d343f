/* Linked to a test program (--wrap=_ck_assert_failed), it ends the whole of it at the first failure. */
#include <unistd.h>

void __wrap__ck_assert_failed(void);

void __wrap__ck_assert_failed(void)
{
	_exit(3);
}
