# Beside the source, so that examples can name traces/sample.jsonl.zst.
EXTRA_DIST += %D%/README %D%/conversation-like.json %D%/fetch %D%/sample.jsonl.zst
