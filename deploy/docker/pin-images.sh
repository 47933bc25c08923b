#!/bin/sh
# Fetches the images of others that docker-compose.yml names, and prints settings that name each by its digest, so that every later
# build and start uses exactly these. usage: deploy/docker/pin-images.sh >> .env
set -eu

cd "$(dirname "$0")/../.."
sed -nE 's/.*\$\{([A-Z_]+_IMAGE):-([^}]+:[^}]+)\}.*/\1 \2/p' docker-compose.yml | sort -u | while read -r setting image; do
  docker pull --quiet "$image" > /dev/null
  digest=$(docker image inspect -f '{{index .RepoDigests 0}}' "$image")
  echo "$setting=$image@${digest#*@}"
done
