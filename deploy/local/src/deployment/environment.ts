import type { Setting } from '@gatehouse/core/config';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { mongodbUriSetting } from '@gatehouse/server/service-settings';
import type { GeneratedText } from '../generated-files.ts';
import { comment, isFromEnv } from './compose.ts';
import { type DeployedService, natsPasswordVariable, sharedSettings } from './services.ts';

/** The settings that docker-compose.yml takes from .env; make-env.sh puts a fresh secret in the place of each SECRET. */
export function environmentExample(services: readonly DeployedService[]): GeneratedText[] {
  const head = composeSettings(services);
  const configurable = sharedSettings(services).filter(
    ({ setting }) => isFromEnv(setting, services) && !head.includes(`\n${setting.name}=`),
  );
  const required = configurable.filter(({ setting }) => setting.fallback === undefined);
  const optional = Map.groupBy(
    configurable.filter(({ setting }) => setting.fallback !== undefined),
    ({ services: readers }) => (readers.length === services.length ? 'every service' : readers.join(', ')),
  );
  const text = [
    head,
    ...required.map(({ setting }) => entry(setting)),
    ...[...optional].flatMap(([readers, settings]) => [
      `# ----- ${readers} -----\n`,
      ...settings.map(({ setting }) => entry(setting)),
    ]),
  ].join('\n');
  return [{ path: 'deploy/docker/.env.example', text }];
}

/** The settings of docker-compose.yml itself, and those that it shares between services, databases and NATS. */
function composeSettings(services: readonly DeployedService[]): string {
  const passwords = services.filter(({ usesNats }) => usesNats).map(({ name }) => natsPasswordVariable(name));
  const secrets = [...CLIENT_SERVICES.map(clientSecretSetting), ...passwords];
  return `\
# The settings of docker-compose.yml. Written by npm run deployment from the settings of the services (docs/settings.md).
# deploy/docker/make-env.sh copies this file to .env and replaces each SECRET by a fresh one. Without it, copy the file
# yourself and do the same; secrets of letters and digits only, since some stand in URLs. Lines such as "# NAME=value" show
# defaults and examples: they count without the "# ".

# Where browsers and clients reach Gatehouse, and the issuer of its tokens: choose it once.
PUBLIC_URL=https://localhost
# The ports to publish. A port other than 443 is part of PUBLIC_URL too.
HTTP_PORT=80
HTTPS_PORT=443
# \`internal\`: the edge signs its certificate itself. An email address: it gets one from Let's Encrypt.
EDGE_TLS=internal
# Change it when the network is in use elsewhere on this machine.
EDGE_SUBNET=172.16.117.0/24
# How many days backups are kept, and a folder for them instead of a volume.
# BACKUP_DAYS=14
# BACKUP_VOLUME=/srv/gatehouse-backups
# An image of Gatehouse from a registry, instead of one that is built here.
# GATEHOUSE_IMAGE=registry.example.com/gatehouse:YOUR_TAG
# Images to use instead of the usual ones.
# NODE_IMAGE=node:24-bookworm-slim
# MONGO_IMAGE=mongo:8
# NATS_IMAGE=nats:2.11-alpine
# CADDY_IMAGE=caddy:2.11
# PROMETHEUS_IMAGE=prom/prometheus:v3.8.0
# GRAFANA_IMAGE=grafana/grafana:12.3.0
# ALERTMANAGER_IMAGE=prom/alertmanager:v0.28.1
# BLACKBOX_EXPORTER_IMAGE=prom/blackbox-exporter:v0.27.0
# MONGODB_EXPORTER_IMAGE=percona/mongodb_exporter:0.53.0
# NATS_EXPORTER_IMAGE=natsio/prometheus-nats-exporter:0.20.1
# The ports of this machine for Prometheus and Grafana (docker compose --profile observability).
# PROMETHEUS_PORT=9090
# GRAFANA_PORT=3001
# The folder with the secrets of deploy/observability/alertmanager.yml.
# ALERTMANAGER_SECRETS=./deploy/docker/alertmanager
# With both of the first two, NATS is a cluster of three servers. The third names them to its exporter.
# COMPOSE_PROFILES=ha
# NATS_CONFIG=nats-cluster.conf
# NATS_MONITORS=http://nats:8222 http://nats-1:8222 http://nats-2:8222

# Identity knows each other service by its secret, of 32 characters or more, and NATS knows each by its password.
${secrets.map((name) => `${name}=SECRET\n`).join('')}
# Each service has a MongoDB user with access to its own database. The users are made when MongoDB starts
# with an empty volume; docs/guides/deploy-with-docker.md says how to make those that a later version needs. To use
# another MongoDB, put its URIs here.
MONGO_ROOT_PASSWORD=SECRET
${services.map(({ name }) => `${mongodbUriSetting(name).name}=mongodb://${name}:SECRET@mongo:27017/${name}\n`).join('')}\
# The user of the exporter, which reads MongoDB's statistics and no data.
MONITORING_MONGODB_URI=mongodb://monitoring:SECRET@mongo:27017/admin

# The first administrator and the first machine application, made at start unless they exist. Once they
# do, these lines may go.
USERS_ADMIN_USERNAME=admin
USERS_ADMIN_EMAIL=admin@example.com
USERS_ADMIN_PASSWORD=SECRET
IDENTITY_MACHINE_ID=first-machine
IDENTITY_MACHINE_SECRET=SECRET
`;
}

/** The lines of a setting. A default that has spaces is a description of one. */
function entry({ name, description, type, fallback, example = '', isSecret }: Setting<unknown>): string {
  const sentences = [description, ...(type === 'text' ? [] : [`${type[0]?.toUpperCase()}${type.slice(1)}.`])];
  if (fallback === undefined)
    return `${comment(sentences.join(' '))}${name}=${isSecret ? 'SECRET' : example}\n`;
  const isDescribed = fallback.includes(' ');
  if (isDescribed) sentences.push(`By default ${fallback}.`);
  return `${comment(sentences.join(' '))}# ${name}=${(isDescribed ? '' : fallback) || example}\n`;
}
