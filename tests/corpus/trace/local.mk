# Traces that are wrong in one way each, and what is said of them; valid.jsonl is right in unusual ways.
EXTRA_DIST += \
	%D%/blank.jsonl \
	%D%/corrupt.jsonl.zst \
	%D%/cut-line.jsonl \
	%D%/duplicate-key.jsonl \
	%D%/empty.jsonl \
	%D%/expected \
	%D%/few-ids.jsonl \
	%D%/fraction.jsonl \
	%D%/gzip.jsonl.gz \
	%D%/id-overflow.jsonl \
	%D%/many-ids.jsonl \
	%D%/missing-field.jsonl \
	%D%/negative.jsonl \
	%D%/nested.jsonl \
	%D%/no-input.jsonl \
	%D%/not-json.jsonl \
	%D%/nul.jsonl \
	%D%/parent.jsonl \
	%D%/repeated-id.jsonl \
	%D%/step-back.jsonl \
	%D%/string.jsonl \
	%D%/time-overflow.jsonl \
	%D%/truncated.jsonl.zst \
	%D%/valid.jsonl
