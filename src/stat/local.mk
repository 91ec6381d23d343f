libmooncake_a_SOURCES += \
	%D%/ci.c %D%/ci.h \
	%D%/sort.c %D%/sort.h \
	%D%/summary.c %D%/summary.h \
	%D%/wquant.c %D%/wquant.h
