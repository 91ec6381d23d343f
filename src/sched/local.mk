# A policy: one file policy/NAME.c defining mc_policy_NAME, and its line here, sorted ('-' in a name is '_' in its file).
SCHED_POLICIES = \
	%D%/policy/adaptive.c \
	%D%/policy/affinity.c \
	%D%/policy/cache_aware.c \
	%D%/policy/frugal.c \
	%D%/policy/kvcache_centric.c \
	%D%/policy/least_loaded.c \
	%D%/policy/random.c \
	%D%/policy/round_robin.c \
	%D%/policy/triage.c
SCHED_DECODE_POLICIES = \
	%D%/decode/least_loaded.c \
	%D%/decode/random.c \
	%D%/decode/round_robin.c
# An admission rule: one file admit/NAME.c defining mc_admission_NAME; a predictor of output lengths: length/NAME.c.
SCHED_ADMISSIONS = \
	%D%/admit/baseline.c \
	%D%/admit/early.c \
	%D%/admit/none.c \
	%D%/admit/predict.c \
	%D%/admit/predict_length.c
SCHED_LENGTHS = \
	%D%/length/class_mean.c \
	%D%/length/noisy_oracle.c \
	%D%/length/oracle.c \
	%D%/length/quantile.c
libmooncake_a_SOURCES += $(SCHED_POLICIES) $(SCHED_DECODE_POLICIES) $(SCHED_ADMISSIONS) $(SCHED_LENGTHS) \
	%D%/admission.c %D%/admission.h \
	%D%/burden.c %D%/burden.h \
	%D%/conductor.c %D%/conductor.h \
	%D%/decision.h \
	%D%/horizon.c %D%/horizon.h \
	%D%/length.c %D%/length.h \
	%D%/load.c %D%/load.h \
	%D%/policy.c %D%/policy.h \
	%D%/rank.c %D%/rank.h \
	%D%/replicate.c %D%/replicate.h \
	%D%/roles.c %D%/roles.h \
	%D%/score.c \
	%D%/search.c %D%/search.h \
	%D%/tally.c %D%/tally.h \
	%D%/view.c %D%/view.h
nodist_libmooncake_a_SOURCES += %D%/policy_registry.c %D%/decode_registry.c %D%/admission_registry.c %D%/length_registry.c
BUILT_SOURCES += %D%/policy_registry.c %D%/decode_registry.c %D%/admission_registry.c %D%/length_registry.c
CLEANFILES += %D%/policy_registry.c %D%/decode_registry.c %D%/admission_registry.c %D%/length_registry.c
%D%/policy_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) sched/policy.h 'struct mc_policy' mc_policies mc_policy_ $(SCHED_POLICIES) >$@.tmp && mv $@.tmp $@
%D%/decode_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) sched/policy.h 'struct mc_decode_policy' mc_decode_policies mc_decode_policy_ $(SCHED_DECODE_POLICIES) >$@.tmp && mv $@.tmp $@
%D%/admission_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) sched/admission.h 'struct mc_admission' mc_admissions mc_admission_ $(SCHED_ADMISSIONS) >$@.tmp && mv $@.tmp $@
%D%/length_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) sched/length.h 'struct mc_length_predictor' mc_length_predictors mc_length_predictor_ $(SCHED_LENGTHS) >$@.tmp && mv $@.tmp $@
