import type { ServiceName } from '@gatehouse/core/services';
import { usageSubject } from '@gatehouse/server/usage/usage-batch';
import { REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import type { GeneratedText } from '../generated-files.ts';
import { type DeployedService, natsPasswordVariable } from './services.ts';

/** The service that announces revocations, and the one that all send what they have counted to. */
const ANNOUNCER = 'identity' satisfies ServiceName;
const ANALYTICS = 'notifications' satisfies ServiceName;

const HEADER = `\
# Written by npm run deployment from the table of services (packages/core/src/services.ts).
#
# Each service has an account of its own at NATS, so that none receives or sends messages of another, and in it the subjects that
# it needs and no others. Only ${ANNOUNCER} announces revocations: a service that could do so in its name could hide that a token is
# dead.
# A service publishes its events to a JetStream stream of its own, which it makes when there is none. That takes an account
# of its own: a stream can republish what it stores under any subject of its account, whatever its maker may publish.
# A service with job queues announces its jobs to its other replicas.
# A service that reads the events of another may pull from one consumer, which the other makes, and no more. JetStream of the
# other account is at a prefix of its own, since $JS.API is that of this account.
# Every other service sends its usage counts to the stream ANALYTICS of ${ANALYTICS}, which answers with its
# acknowledgement.
`;

const CLUSTER = `\
# Written by npm run deployment. NATS as a cluster of three servers: nats.conf, and how they find each other.
include "nats.conf"

server_name: $NATS_SERVER_NAME

cluster {
  name: gatehouse
  # Connections to this address need no password: only the other servers may be able to reach it.
  host: $NATS_CLUSTER_HOST
  port: 6222
  # Clients find every server by one host name, and cannot reach the addresses that the servers use among themselves.
  no_advertise: true
  routes: [
    "nats://nats-0.nats:6222"
    "nats://nats-1.nats:6222"
    "nats://nats-2.nats:6222"
  ]
}
`;

/**
 * The configuration of NATS: the accounts of the services, with what each may publish, hear, and share with the others; and the same for
 * a cluster. kustomize reads no files above its folder, so there are two copies.
 */
export function natsConfiguration(services: readonly DeployedService[]): GeneratedText[] {
  const members = services.filter(({ usesNats }) => usesNats);
  const accounts = members.map((service) => account(service, members));
  return ['deploy/docker', 'deploy/kubernetes/nats'].flatMap((folder) => [
    { path: `${folder}/nats.conf`, text: `${HEADER}accounts {\n${accounts.join('\n')}}\n` },
    { path: `${folder}/nats-cluster.conf`, text: CLUSTER },
  ]);
}

function account(service: DeployedService, members: readonly DeployedService[]): string {
  const { name, hasJobQueues = false } = service;
  const own = consumersOf(service);
  const read = members.flatMap(consumersOf).filter(({ reader }) => reader === name);
  const others = members.filter((other) => other.name !== name);
  const isAnnouncer = name === ANNOUNCER;
  const exports = [
    isAnnouncer ? `      { stream: "${REVOCATIONS_SUBJECT}" }\n` : '',
    ...own.map(consumerExports),
    ...(name === ANALYTICS ? others.map(usageExport) : []),
  ].join('');
  return `\
  ${accountOf(name)} {
    jetstream: enabled
    users: [
      {
        user: ${name}
        password: $${natsPasswordVariable(name)}
        permissions: {
          publish: [
${isAnnouncer ? `            "${REVOCATIONS_SUBJECT}"\n` : ''}\
            "${name}.>"
${hasJobQueues ? `            "jobs.${name}.>"\n` : ''}\
${name === ANALYTICS ? ALL_STREAMS : streamSubjects(name)}\
${own.map(ownConsumerSubjects).join('')}${read.map(readConsumerSubjects).join('')}\
            "${usageSubject(name)}"
          ]
          subscribe: ["${REVOCATIONS_SUBJECT}", ${hasJobQueues ? `"jobs.${name}.>", ` : ''}"_INBOX.>"]
        }
      }
    ]
${exports === '' ? '' : `    exports: [\n${exports}    ]\n`}\
    imports: [
${isAnnouncer ? '' : `      { stream: { account: ${accountOf(ANNOUNCER)}, subject: "${REVOCATIONS_SUBJECT}" } }\n`}\
${name === ANALYTICS ? '' : `      { service: { account: ${accountOf(ANALYTICS)}, subject: "${usageSubject(name)}" } }\n`}\
${read.map(consumerImports).join('')}\
    ]
  }
`;
}

const accountOf = (service: string) => service.toUpperCase();

/** The consumers by which others read the events of a service. Its stream has the name of its account. */
function consumersOf({ name, eventConsumers = [] }: DeployedService) {
  return eventConsumers.map((consumer) => ({ ...consumer, owner: accountOf(name) }));
}

type Consumer = ReturnType<typeof consumersOf>[number];

const streamSubjects = (name: string) => `\
            "$JS.API.STREAM.INFO.${accountOf(name)}"
            "$JS.API.STREAM.CREATE.${accountOf(name)}"
`;

/** All streams of its account. */
const ALL_STREAMS = `\
            "$JS.API.STREAM.INFO.*"
            "$JS.API.STREAM.CREATE.*"
            "$JS.API.CONSUMER.INFO.*.*"
            "$JS.API.CONSUMER.CREATE.>"
            "$JS.API.CONSUMER.DELETE.*.*"
            "$JS.API.CONSUMER.MSG.NEXT.*.*"
            "$JS.ACK.>"
`;

const ownConsumerSubjects = ({ owner, name }: Consumer) => `\
            "$JS.API.CONSUMER.INFO.${owner}.${name}"
            "$JS.API.CONSUMER.CREATE.${owner}.${name}.>"
            "$JS.API.CONSUMER.DELETE.${owner}.${name}"
`;

const readConsumerSubjects = ({ owner, name }: Consumer) => `\
            "JS.${owner}.API.CONSUMER.INFO.${owner}.${name}"
            "JS.${owner}.API.CONSUMER.MSG.NEXT.${owner}.${name}"
            "$JS.ACK.${owner}.${name}.>"
`;

const consumerExports = ({ owner, name, reader }: Consumer) => `\
      { service: "$JS.API.CONSUMER.INFO.${owner}.${name}", accounts: [${accountOf(reader)}] }
      {
        service: "$JS.API.CONSUMER.MSG.NEXT.${owner}.${name}"
        response_type: stream
        accounts: [${accountOf(reader)}]
      }
      { service: "$JS.ACK.${owner}.${name}.>", accounts: [${accountOf(reader)}] }
`;

const usageExport = ({ name }: DeployedService) =>
  `      { service: "${usageSubject(name)}", accounts: [${accountOf(name)}] }\n`;

const consumerImports = ({ owner, name }: Consumer) => `\
      {
        service: { account: ${owner}, subject: "$JS.API.CONSUMER.INFO.${owner}.${name}" }
        to: "JS.${owner}.API.CONSUMER.INFO.${owner}.${name}"
      }
      {
        service: { account: ${owner}, subject: "$JS.API.CONSUMER.MSG.NEXT.${owner}.${name}" }
        to: "JS.${owner}.API.CONSUMER.MSG.NEXT.${owner}.${name}"
      }
      { service: { account: ${owner}, subject: "$JS.ACK.${owner}.${name}.>" } }
`;
