import { BlockList, isIPv6 } from 'node:net';

/** Whether an address is in one of several networks. */
export type Networks = { include(address: string): boolean };

/** Networks from addresses and CIDR ranges. Throws when an entry is neither. */
export function createNetworks(entries: readonly string[]): Networks {
  const list = new BlockList();
  for (const entry of entries) {
    const [, address, bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    if (address === undefined) throw new Error(`"${entry}" is neither an address nor a range of addresses`);
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return { include: (address) => list.check(address, familyOf(address)) };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
