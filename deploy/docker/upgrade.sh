#!/bin/sh
# Replaces the containers of the services by ones with the image and the settings of now, one after another and without a
# failed request. If one does not become healthy, all go back to the image that they had. usage: deploy/docker/upgrade.sh
set -eu

# A container that waits for what it needs is healthy later than others, and never is if that is not there.
limit_seconds=120

fail() {
  echo "$*" >&2
  exit 1
}

cd "$(dirname "$0")/../.."
docker compose version > /dev/null 2>&1 || fail 'Docker Compose 2 is needed: "docker compose" does not work.'

running() { docker compose ps -q "$1"; }
inspect() { docker inspect -f "$1" "$2"; }
health() { inspect '{{.State.Health.Status}}' "$new"; }

# Starts another container of the service $1, waits until it is healthy, and stops the container $2. If it does not become
# healthy, it is removed, and $2 goes on.
replace() {
  echo "$1: replacing $(inspect '{{.Name}}' "$2" | tr -d /)"
  # A container that has stopped would be started again instead of a new one.
  docker compose rm -f "$1" > /dev/null 2>&1 || return 1
  before=$(running "$1")
  count=$(($(echo "$before" | wc -l) + 1))
  docker compose up -d --no-deps --no-build --no-recreate --scale "$1=$count" "$1" || return 1
  new=$(docker compose ps -aq "$1" | grep -vxF "$before") || return 1
  seconds=0
  until [ "$(health)" = healthy ]; do
    if [ "$(health)" = unhealthy ] || [ "$seconds" -ge "$limit_seconds" ]; then
      docker logs --tail 20 "$new" >&2
      image=$(inspect '{{.Config.Image}}' "$new")
      image_id=$(inspect '{{.Image}}' "$new")
      docker rm -f "$new" > /dev/null
      new=
      return 1
    fi
    sleep 1
    seconds=$((seconds + 1))
  done
  new=
  docker stop "$2" > /dev/null && docker rm "$2" > /dev/null
}

# Makes $previous the image again, and replaces the containers that have another.
go_back() {
  echo "The new container of $service did not become healthy. Its last messages are above." >&2
  [ -n "${image_id:-}" ] && [ "$image_id" != "$previous" ] ||
    fail 'There is no other image to go back to: check the settings in .env. The other containers go on.'
  docker tag "$previous" "$image"
  for service in $services; do
    for container in $(running "$service"); do
      [ "$(inspect '{{.Image}}' "$container")" = "$previous" ] || replace "$service" "$container" ||
        fail "$service does not become healthy with the image of before, either. Its other containers go on."
    done
  done
  fail "All containers have the image of before again, and so has the name $image."
}

new=
trap '[ -z "$new" ] || docker rm -f "$new" > /dev/null; exit 130' INT TERM

# Identity first, since all others ask it.
services="identity $(ls services | grep -vx identity)"
for service in $services; do
  for container in $(running "$service"); do
    previous=$(inspect '{{.Image}}' "$container")
    replace "$service" "$container" || go_back
  done
done
echo 'All containers of the services have been replaced.'
