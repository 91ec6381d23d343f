/*
 * libibverbs in memory, linked in its place: two devices, fake0 and fake1, whose queue pairs reach each other
 * within this process. Bytes move, keys, bounds, rights and states are checked, and what a device won't do on
 * demand is asked for here. Thread-safe; all of it returns to a fresh state by fake_reset().
 */
#ifndef MC_TESTS_FAKEVERBS_H
#define MC_TESTS_FAKEVERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_DEVICES = 2 };

void fake_reset(void);
/* Objects that were made and are not destroyed yet. */
int fake_live(void);
/* Calls that can fail, since fake_reset; the n-th of them (from 1) will, and `fails` times each next one. */
int fake_calls(void);
void fake_fail(int n, int times);
/* The next operations complete with that status, or not at all. */
void fake_status(enum ibv_wc_status status, int times);
void fake_lose(int times);
/* Operations are kept back until false; fake_held() are. */
void fake_hold(bool on);
int fake_held(void);
/* The device goes, and tells of it or not; or it comes back. */
void fake_device(int device, bool present, bool tells);
void fake_link(int device, bool up);
/* The first queue pair of the device that peers use has an error event. */
void fake_guest_event(int device);
/* The completion queue of some endpoint of the device overruns: it tells so, and gives no more. */
void fake_overrun(int device);

/* From now on operations take their time, and chance says what comes of them; in 1/1000 of an operation or
 * call, times in us. NULL: no more. */
struct fake_chaos {
	unsigned status; /* it fails, each way in its turn, when some of its bytes have moved */
	unsigned lose;   /* done, and never completed */
	unsigned late;   /* a write whose queue pair was destroyed comes in after that, if the peer lets it */
	unsigned fails;  /* a call of the library */
	unsigned event;  /* an event of its queue pair, its completion queue, or of nothing that matters */
	unsigned slow_us;
};

void fake_chaos(const struct fake_chaos *c, uint64_t seed);
unsigned fake_late(void); /* writes that came in so */
/* Give the key of the last registration that was ended again, so often. */
void fake_same_key(int times);
#endif
