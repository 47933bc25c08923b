#!/bin/sh
# Writes MongoDB's files of one moment into an archive in the volume `backup`, and prints its name. Requests wait while the files
# are copied. usage: deploy/docker/backup.sh
set -eu

cd "$(dirname "$0")/../.."
mongo=$(docker compose ps -q mongo)
file=gatehouse-mongo-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
paused=
copier=$(docker compose --profile backup run -d --rm backup)
inside() { docker exec "$copier" sh -euc "umask 077; $1"; }
end() {
  [ -z "$paused" ] || docker unpause "$mongo" > /dev/null
  docker rm -f "$copier" > /dev/null
}
trap end EXIT
trap 'exit 130' HUP INT TERM

inside 'rm -rf part*'
# The files are those that a power cut at this moment would leave, from which MongoDB starts with all that it has acknowledged.
paused=yes
docker pause "$mongo" > /dev/null
inside 'cp -r --reflink=auto /data/db part'
docker unpause "$mongo" > /dev/null
paused=
inside "tar -czf part.tar.gz -C part .; mv part.tar.gz $file; rm -r part
  find . -name 'gatehouse-mongo-*.tar.gz' -mtime +\$BACKUP_DAYS -delete"
echo "$file"
