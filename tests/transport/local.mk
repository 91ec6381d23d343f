# The verbs transport on a libibverbs that does what the tests say, linked in its place.
EXTRA_LIBRARIES += libmcfakeverbs.a
libmcfakeverbs_a_SOURCES = %D%/fakeverbs.c %D%/fakeverbs.h %D%/fakeverbs_chaos.c %D%/fakeverbs_objects.c %D%/fakeverbs_state.h %D%/verbs_world.h
CLEANFILES += libmcfakeverbs.a
VERBS_TESTS = \
	%D%/test_verbs \
	%D%/test_verbs_faults \
	%D%/test_verbs_peers
# The fault matrix: by hand for its lines, in the tests for what it expects of them.
check_PROGRAMS += %D%/fault_matrix
TESTS += %D%/fault_matrix
%C%_fault_matrix_SOURCES = %D%/fault_matrix.c %D%/matrix.h %D%/matrix_faults.c %D%/matrix_faults.h %D%/matrix_world.c %D%/matrix_world.h tests/unit/proxy.c tests/unit/proxy.h
if HAVE_VERBS
%C%_fault_matrix_CPPFLAGS = $(AM_CPPFLAGS) -DMATRIX_VERBS
%C%_fault_matrix_LDADD = libmctransport.a libmcfakeverbs.a libmooncake.a $(JANSSON_LIBS) $(NETTLE_LIBS) -ldl -lpthread
else
%C%_fault_matrix_LDADD = $(MC_TRANSPORT_LIBS)
endif
if HAVE_VERBS
if HAVE_CHECK
check_PROGRAMS += $(VERBS_TESTS)
TESTS += $(VERBS_TESTS)
endif
endif
MC_FAKEVERBS_LIBS = libmctransport.a libmcfakeverbs.a libmooncake.a $(JANSSON_LIBS) $(NETTLE_LIBS) $(CHECK_LIBS) -ldl -lpthread
%C%_test_verbs_LDADD = $(MC_FAKEVERBS_LIBS)
%C%_test_verbs_peers_LDADD = $(MC_FAKEVERBS_LIBS)
%C%_test_verbs_faults_SOURCES = %D%/test_verbs_faults.c tests/unit/engine_areas.h tests/unit/engine_world.h tests/unit/proxy.c tests/unit/proxy.h
%C%_test_verbs_faults_LDADD = $(MC_FAKEVERBS_LIBS)
