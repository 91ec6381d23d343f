# One program a file: tests/unit/test_NAME.c, using Check, TAP on stdout.
UNIT_TESTS = \
	%D%/test_admission \
	%D%/test_admit \
	%D%/test_answers \
	%D%/test_belady \
	%D%/test_bisect \
	%D%/test_calib_measure \
	%D%/test_calib_net \
	%D%/test_ci \
	%D%/test_classes \
	%D%/test_clients \
	%D%/test_clients_random \
	%D%/test_cluster \
	%D%/test_cluster_edges \
	%D%/test_cluster_net \
	%D%/test_cluster_order \
	%D%/test_compose \
	%D%/test_conf \
	%D%/test_conf_load \
	%D%/test_cost \
	%D%/test_coupled \
	%D%/test_coupled_cluster \
	%D%/test_curve \
	%D%/test_decode \
	%D%/test_decode_lost \
	%D%/test_discover \
	%D%/test_diskload \
	%D%/test_engine \
	%D%/test_engine_faults \
	%D%/test_engine_limits \
	%D%/test_err \
	%D%/test_evict \
	%D%/test_evict_traces \
	%D%/test_fabric \
	%D%/test_fabric_faults \
	%D%/test_fabric_random \
	%D%/test_faults \
	%D%/test_figures \
	%D%/test_file \
	%D%/test_fit \
	%D%/test_flow \
	%D%/test_flow_contend \
	%D%/test_flow_random \
	%D%/test_ghost \
	%D%/test_horizon \
	%D%/test_hostile_owner \
	%D%/test_import \
	%D%/test_length \
	%D%/test_loop \
	%D%/test_map \
	%D%/test_metrics \
	%D%/test_metrics_range \
	%D%/test_mirror \
	%D%/test_mixed \
	%D%/test_netfit \
	%D%/test_nettime \
	%D%/test_operators \
	%D%/test_opfit \
	%D%/test_opgap \
	%D%/test_opsamples \
	%D%/test_optable \
	%D%/test_optime \
	%D%/test_order \
	%D%/test_out \
	%D%/test_outage \
	%D%/test_outage_links \
	%D%/test_outage_random \
	%D%/test_peer_bytes \
	%D%/test_perftest \
	%D%/test_pipeline \
	%D%/test_policy \
	%D%/test_policy_rules \
	%D%/test_pool \
	%D%/test_pool_take \
	%D%/test_prefill \
	%D%/test_profile \
	%D%/test_queue \
	%D%/test_replicas \
	%D%/test_replicate \
	%D%/test_ring \
	%D%/test_roles \
	%D%/test_rounds \
	%D%/test_search \
	%D%/test_shape \
	%D%/test_shm \
	%D%/test_shm_greedy \
	%D%/test_shm_peers \
	%D%/test_stale \
	%D%/test_stale_oracle \
	%D%/test_stale_random \
	%D%/test_station \
	%D%/test_stream \
	%D%/test_summary \
	%D%/test_tally \
	%D%/test_tcp_faults \
	%D%/test_tiers \
	%D%/test_topology \
	%D%/test_trace_gen \
	%D%/test_trace_input \
	%D%/test_trace_mooncake \
	%D%/test_trace_reader \
	%D%/test_trace_stats \
	%D%/test_transport \
	%D%/test_tree \
	%D%/test_turns \
	%D%/test_units
if HAVE_CHECK
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
LDADD = $(MC_LIBS) $(CHECK_LIBS)
%C%_test_calib_measure_LDADD = libmccalib.a $(MC_KERNEL_LIBS) $(CHECK_LIBS)
%C%_test_calib_net_LDADD = $(MC_CALIB_LIBS) $(CHECK_LIBS)
%C%_test_diskload_LDADD = libmccalib.a $(MC_KERNEL_LIBS) $(CHECK_LIBS)
%C%_test_ring_LDADD = libmccalib.a $(MC_KERNEL_LIBS) $(CHECK_LIBS)
%C%_test_rounds_LDADD = libmccalib.a $(MC_KERNEL_LIBS) $(CHECK_LIBS)
# What moves real bytes, and stands beside the simulator.
ENGINE_WORLD = %D%/engine_areas.h %D%/engine_pair.h %D%/engine_world.h %D%/fake_transport.c %D%/fake_transport.h
%C%_test_discover_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_engine_SOURCES = %D%/test_engine.c $(ENGINE_WORLD)
%C%_test_engine_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_peer_bytes_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_shm_SOURCES = %D%/shm_world.h %D%/test_shm.c
%C%_test_shm_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_shm_greedy_SOURCES = %D%/shm_world.h %D%/test_shm_greedy.c
%C%_test_shm_greedy_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_shm_peers_SOURCES = %D%/shm_world.h %D%/test_shm_peers.c
%C%_test_shm_peers_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_transport_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_engine_faults_SOURCES = %D%/test_engine_faults.c $(ENGINE_WORLD)
%C%_test_engine_faults_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_engine_limits_SOURCES = %D%/test_engine_limits.c $(ENGINE_WORLD)
%C%_test_engine_limits_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_hostile_owner_SOURCES = %D%/test_hostile_owner.c %D%/engine_world.h
%C%_test_hostile_owner_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
%C%_test_tcp_faults_SOURCES = %D%/test_tcp_faults.c %D%/engine_areas.h %D%/engine_world.h %D%/proxy.c %D%/proxy.h
%C%_test_tcp_faults_LDADD = $(MC_TRANSPORT_LIBS) $(CHECK_LIBS)
# The test stands before these functions.
%C%_test_diskload_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mc_ring_take
%C%_test_stale_oracle_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=mc_cluster_report -Wl,--wrap=mc_cluster_sample -Wl,--wrap=mc_conductor_decide
AM_DEFAULT_SOURCE_EXT = .c
EXTRA_DIST += %D%/cluster_fixture.h %D%/cluster_random.h %D%/conf_thing.h %D%/coupled_naive.h %D%/decode_sim.h %D%/evict_oracle.h %D%/fabric_world.h %D%/fixture.h %D%/flow_world.h %D%/kv_naive.h %D%/kv_prompts.h %D%/operators_made.h %D%/outage_fixture.h %D%/policy_world.h %D%/profile_text.h %D%/result_fixture.h %D%/trace_unit.h %D%/unit.h
