libmooncake_a_SOURCES += \
	%D%/check.c \
	%D%/flow.c %D%/flow.h \
	%D%/share.c \
	%D%/solve.c %D%/solve.h \
	%D%/state.h
