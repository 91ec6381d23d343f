# A sink: one file sink_NAME.c defining mc_sink_NAME, and its line here, sorted.
OUT_SINKS = \
	%D%/sink_csv.c \
	%D%/sink_json.c \
	%D%/sink_text.c
libmooncake_a_SOURCES += $(OUT_SINKS) \
	%D%/capacity.c %D%/capacity.h \
	%D%/chart.c %D%/chart.h \
	%D%/chart_axis.c \
	%D%/compare.c %D%/compare.h \
	%D%/compare_columns.c \
	%D%/explain.c %D%/explain.h \
	%D%/fitlines.c %D%/fitlines.h \
	%D%/fitpage.c %D%/fitpage.h \
	%D%/fitpage_compare.c \
	%D%/fitpage_gaps.c \
	%D%/fitpage_group.c \
	%D%/fitpage_net.c \
	%D%/fitpage_text.c \
	%D%/fitpredict.c %D%/fitpredict.h \
	%D%/flat.c %D%/flat.h \
	%D%/html.c %D%/html.h \
	%D%/json.h \
	%D%/report.c %D%/report.h \
	%D%/seeds.c %D%/seeds.h \
	%D%/tables.c %D%/tables.h \
	%D%/textfmt.c %D%/textfmt.h \
	%D%/times.c %D%/times.h
nodist_libmooncake_a_SOURCES += %D%/sink_registry.c
CLEANFILES += %D%/sink_registry.c
%D%/sink_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) out/report.h 'struct mc_sink' mc_sinks mc_sink_ $(OUT_SINKS) >$@.tmp && mv -f $@.tmp $@
