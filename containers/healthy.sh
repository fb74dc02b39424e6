#!/bin/bash
# The health of a container of the service: every instance answers /readyz, and every consumer of
# every order worker made progress lately. Without Node, whose start costs 40 times as much.
set -u
within="$((${PROGRESS_WITHIN_MS:-10000} / 1000 + 1)) seconds"

ready() { # PORT
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
  read -r -t 2 _ status _ <&3 && [ "$status" = 200 ]
}

for ((index = 0; index < INSTANCES; index++)); do
  ready $((PORT + index)) || { echo "no instance is ready on port $((PORT + index))"; exit 1; }
done

consumers=$((ORDER_WORKERS * ${SALE_SHARDS:-1}))
[ "$consumers" -eq 0 ] && exit 0
moving=$(find "$HEARTBEAT_FOLDER" -name '*.progress' -newermt "-$within" | wc -l)
[ "$moving" -ge "$consumers" ] && exit 0
echo "$moving of $consumers consumers made progress in the last $within"
exit 1
