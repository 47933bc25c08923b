#!/bin/sh
# Writes .env for docker-compose.yml, with fresh secrets. usage: deploy/docker/make-env.sh [PUBLIC_URL]
set -eu

url=${1:-https://localhost}
here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/../.." && pwd)/.env

if ! printf '%s\n' "$url" | grep -Eqx 'https://[A-Za-z0-9.-]+(:[0-9]+)?'; then
  echo "PUBLIC_URL must be an origin such as https://id.example.com or https://localhost:8443." >&2
  exit 1
fi
port=${url#https://*:}
[ "$port" != "$url" ] || port=443

secret() { od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n'; }

umask 077
# With noclobber a file that exists is left alone, also when it was made a moment ago.
if ! (set -C && : > "$target") 2> /dev/null; then
  echo "$target is there already, or cannot be written: nothing was changed." >&2
  exit 1
fi
while IFS= read -r line; do
  case $line in
    \#*) ;;
    PUBLIC_URL=*) line=PUBLIC_URL=$url ;;
    HTTPS_PORT=*) line=HTTPS_PORT=$port ;;
    *=SECRET) line=${line%SECRET}$(secret) ;;
    *:SECRET@*) line=${line%%:SECRET@*}:$(secret)@${line#*:SECRET@} ;;
  esac
  printf '%s\n' "$line"
done < "$here/.env.example" > "$target"
echo "Wrote $target. Keep a copy of its master keys in a safe place."
