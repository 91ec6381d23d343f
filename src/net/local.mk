libmooncake_a_SOURCES += \
	%D%/check.c \
	%D%/contend.c \
	%D%/fabric.c %D%/fabric.h \
	%D%/fabric_state.h \
	%D%/fault.c \
	%D%/flow.c %D%/flow.h \
	%D%/share.c \
	%D%/solve.c %D%/solve.h \
	%D%/state.h \
	%D%/topology.c %D%/topology.h \
	%D%/transfer.c
