/*
 * The order of events within one instant. What ends comes before what begins: transfers and computations that
 * end now are seen by everything that is decided now, and all that is ready by now joins the iteration that
 * starts now.
 */
#ifndef MC_ENGINE_KINDS_H
#define MC_ENGINE_KINDS_H

enum mc_event_kind {
	/* The first token exists: known before the last bytes that stream beside the prefill arrive. */
	MC_EV_PREFILL_END = 1,
	MC_EV_NET,          /* a flow's rate or state changes, or it ends */
	MC_EV_PREFILL_FREE, /* the first stage can take the next prompt */
	MC_EV_DECODE_LOAD,  /* KV has been loaded from DRAM to VRAM */
	MC_EV_DECODE_STEP,  /* an iteration boundary at which the batch changes */
	MC_EV_FAULT,        /* something fails, is back, or is found out */
	MC_EV_ARRIVAL,
	MC_EV_DECIDE, /* the Conductor has decided */
	/* An iteration boundary of a coupled node: all that was sent there by now can be in the next one. */
	MC_EV_COUPLED_STEP,
	MC_EV_REPLICATE, /* the replication policy looks */
	MC_EV_ROLES,     /* nodes change their roles */
	MC_EV_SAMPLE,    /* time series */
};

#endif
