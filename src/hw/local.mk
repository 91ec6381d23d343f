libmooncake_a_SOURCES += \
	%D%/fields.c \
	%D%/profile.c %D%/profile.h
