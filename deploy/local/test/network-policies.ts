import { BlockList, isIPv6 } from 'node:net';

/** An object of Kubernetes; what is in `spec` depends on its kind. */
export type KubernetesObject = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: its shape depends on the kind
  spec?: any;
  data?: Record<string, string>;
  /** Of a ServiceAccount. */
  automountServiceAccountToken?: boolean;
};

/** A pod with its labels, or an address outside the cluster. */
export type Peer =
  | { namespace: string; labels: Record<string, string>; namespaceLabels: Record<string, string> }
  | { address: string };

type Selector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
};
type PolicyPeer = {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
};
type Rule = { from?: PolicyPeer[]; to?: PolicyPeer[]; ports?: { port: number }[] };

/** Whether the policies let one peer connect to a port of another (networking.k8s.io/v1: a policy that selects a pod isolates it). */
export function allows(policies: readonly KubernetesObject[], from: Peer, to: Peer, port: number): boolean {
  const [egress, ingress] = (['Egress', 'Ingress'] as const).map((direction) => {
    const [pod, other] = direction === 'Egress' ? [from, to] : [to, from];
    const own = policies.filter(
      ({ metadata, spec }) =>
        spec.policyTypes.includes(direction) &&
        'namespace' in pod &&
        pod.namespace === metadata.namespace &&
        isSelected(spec.podSelector, pod.labels),
    );
    if (own.length === 0) return true;
    return own.some(({ metadata, spec }) => {
      const rules: Rule[] = spec[direction.toLowerCase()] ?? [];
      return rules.some(({ from, to, ports }) => {
        const isPort = ports?.some((it) => it.port === port) ?? true;
        return isPort && ((from ?? to)?.some((peer) => isPeer(peer, other, metadata.namespace)) ?? true);
      });
    });
  });
  return egress === true && ingress === true;
}

function isPeer({ podSelector, namespaceSelector, ipBlock }: PolicyPeer, peer: Peer, own?: string): boolean {
  if ('address' in peer) {
    if (ipBlock === undefined) return false;
    return isIn(ipBlock.cidr, peer.address) && !ipBlock.except?.some((cidr) => isIn(cidr, peer.address));
  }
  if (ipBlock !== undefined) return false;
  const isNamespace =
    namespaceSelector === undefined
      ? peer.namespace === own
      : isSelected(namespaceSelector, peer.namespaceLabels);
  return isNamespace && isSelected(podSelector ?? {}, peer.labels);
}

function isSelected({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>) {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} is not known here`);
      return values.includes(labels[key] ?? '');
    })
  );
}

function isIn(cidr: string, address: string): boolean {
  const [net = '', bits] = cidr.split('/');
  // A BlockList takes an IPv4 address for a mapped one of ::/0.
  if (isIPv6(net) !== isIPv6(address)) return false;
  const family = isIPv6(net) ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(net, Number(bits), family);
  return list.check(address, family);
}
