#!/usr/bin/env bash
# Starts a service with starter records in an empty folder, and runs the three commands that it prints:
#   .github/first-requests.sh PATH-OF/bin/backscroll.js
set -euo pipefail

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(mktemp -d)"
touch output.txt
PORT=0 node "$program" serve --starter > output.txt &
service=$!
trap 'kill "$service"' EXIT

commands() { grep '^curl ' output.txt || true; }

for _ in $(seq 240); do
  [ "$(commands | wc -l)" -ge 3 ] && break
  kill -0 "$service" || break
  sleep 0.5
done

sent=0
while read -r command; do
  echo "$ $command"
  bash -o pipefail -c "${command/#curl /curl --fail --show-error }" < /dev/null
  echo
  sent=$((sent + 1))
done < <(commands)

if [ "$sent" -lt 3 ]; then
  cat output.txt
  echo "$sent of three commands were printed"
  exit 1
fi
