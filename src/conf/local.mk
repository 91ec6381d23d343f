libmooncake_a_SOURCES += \
	%D%/conf.c \
	%D%/dump.c \
	%D%/field.h \
	%D%/help.c \
	%D%/internal.h \
	%D%/load.c \
	%D%/locate.c \
	%D%/value.c
