libmooncake_a_SOURCES += \
	%D%/admit.c \
	%D%/answers.c \
	%D%/arrivals.c %D%/arrivals.h \
	%D%/check.c \
	%D%/classes.c %D%/classes.h \
	%D%/clients.c %D%/clients.h \
	%D%/cluster.c %D%/cluster.h \
	%D%/copy.c \
	%D%/coupled.c \
	%D%/dispatch.c \
	%D%/explain.c \
	%D%/fabric.c \
	%D%/face.c \
	%D%/fault_events.c %D%/fault_events.h \
	%D%/faults.c %D%/faults.h \
	%D%/limits.c \
	%D%/loads.c %D%/loads.h \
	%D%/metrics.c %D%/metrics.h \
	%D%/metrics_class.c \
	%D%/metrics_defs.c \
	%D%/metrics_range.c \
	%D%/outage.c \
	%D%/recover.c \
	%D%/replicas.c %D%/replicas.h \
	%D%/replicate.c \
	%D%/result.h \
	%D%/roles.c %D%/roles.h \
	%D%/sample.c \
	%D%/scenario.c %D%/scenario.h \
	%D%/ssd.c \
	%D%/stale.c \
	%D%/state.h \
	%D%/tiers.c \
	%D%/transfer.c \
	%D%/verdict.c %D%/verdict.h
