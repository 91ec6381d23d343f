libmooncake_a_SOURCES += \
	%D%/metrics.c %D%/metrics.h \
	%D%/metrics_defs.c \
	%D%/verdict.c %D%/verdict.h
