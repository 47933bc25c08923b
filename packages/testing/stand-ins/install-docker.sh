#!/bin/sh
# Installs what `npm run test:containers` needs on Debian, as root, where Docker's own packages cannot be had: Debian's engine,
# which is started if none runs, Compose 2 from its Go module, and debootstrap for the stand-ins. Go must be there.
set -eu

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io debootstrap iptables > /dev/null

if ! docker info > /dev/null 2>&1; then
  setsid dockerd > /var/log/dockerd.log 2>&1 < /dev/null &
  seconds=0
  until docker info > /dev/null 2>&1; do
    seconds=$((seconds + 1))
    [ "$seconds" -le 30 ] || { tail /var/log/dockerd.log >&2; exit 1; }
    sleep 1
  done
fi

if ! docker compose version > /dev/null 2>&1; then
  plugins=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
  mkdir -p "$plugins"
  GOBIN=$plugins CGO_ENABLED=0 go install github.com/docker/compose/v2/cmd@v2.29.7
  mv "$plugins/cmd" "$plugins/docker-compose"
fi
docker compose version
