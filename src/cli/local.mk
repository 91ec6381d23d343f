# Commands: one file cmd_NAME.c defining mc_command_NAME, its name here and the file below, both sorted.
CLI_COMMANDS = calib capacity compare config fit help list predict run trace
bin_PROGRAMS += mooncake
mooncake_SOURCES = \
	%D%/across.c %D%/across.h \
	%D%/args.c %D%/args.h \
	%D%/cmd_calib.c \
	%D%/cmd_capacity.c \
	%D%/cmd_compare.c \
	%D%/cmd_config.c \
	%D%/cmd_fit.c \
	%D%/cmd_help.c \
	%D%/cmd_list.c \
	%D%/cmd_predict.c \
	%D%/cmd_run.c \
	%D%/cmd_trace.c \
	%D%/command.c %D%/command.h \
	%D%/fit_cli.h \
	%D%/fit_import.c \
	%D%/fit_network.c \
	%D%/fit_operators.c \
	%D%/fit_report.c \
	%D%/main.c \
	%D%/output.c %D%/output.h \
	%D%/side.c %D%/side.h \
	%D%/simulate.c %D%/simulate.h \
	%D%/trace_cli.c %D%/trace_cli.h \
	%D%/trace_gen.c \
	%D%/trace_head.c \
	%D%/trace_hits.c %D%/trace_hits.h \
	%D%/trace_stat.c \
	%D%/tracepath.c %D%/tracepath.h \
	%D%/watch.c %D%/watch.h
nodist_mooncake_SOURCES = %D%/command_registry.c
mooncake_LDADD = $(MC_LIBS)
CLEANFILES += %D%/command_registry.c
%D%/command_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(REGISTRY) cli/command.h 'struct mc_command' mc_commands mc_command_ \
		$(CLI_COMMANDS) > $@.tmp && mv -f $@.tmp $@
