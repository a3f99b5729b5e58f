/**
 * Addresses that no sandbox reaches by itself, each with its reason. Ranges for documentation are not among them: some
 * networks give them to real machines, and nothing of the host listens there.
 */
export const closedRanges: readonly (readonly [range: string, reason: string])[] = [
  ['0.0.0.0/8', 'this host'],
  ['10.0.0.0/8', 'private network'],
  ['100.64.0.0/10', 'shared by a provider and its customers'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private network'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.168.0.0/16', 'private network'],
  ['198.18.0.0/15', 'benchmarks of network devices'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved, and broadcast'],
  ['::/128', 'this host'],
  ['::1/128', 'loopback'],
  ['64:ff9b:1::/48', 'translation to IPv4 within one network'],
  ['100::/64', 'discarded'],
  ['fc00::/7', 'private network'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private network'],
  ['ff00::/8', 'multicast'],
];

/** Where clouds hand out credentials and settings of the machine itself. */
export const metadataAddresses: readonly (readonly [address: string, reason: string])[] = [
  ['169.254.169.254', 'metadata of most clouds'],
  ['169.254.170.2', 'credentials of containers on AWS'],
  ['169.254.170.23', 'credentials of pods on AWS'],
  ['169.254.42.42', 'metadata of Scaleway'],
  ['169.254.0.23', 'metadata of Tencent Cloud'],
  ['100.100.100.200', 'metadata of Alibaba Cloud'],
  ['168.63.129.16', 'platform of Azure'],
  ['192.0.0.192', 'metadata of Oracle Cloud'],
  ['fd00:ec2::254', 'metadata of AWS'],
  ['fd00:ec2::23', 'credentials of pods on AWS'],
  ['fd20:ce::254', 'metadata of Google Cloud'],
  ['fd00:42::42', 'metadata of Scaleway'],
  ['fd00:c1::a9fe:a9fe', 'metadata of Oracle Cloud'],
  ['fe80::a9fe:a9fe', 'metadata of OpenStack'],
];

/**
 * IPv6 ranges whose addresses carry IPv4 ones, and how far each lies from the right: whoever reaches such an address
 * may reach the one inside. `inverted` ones are written with every bit turned.
 */
export const embeddings: readonly {
  readonly range: string;
  readonly name: string;
  readonly shifts: readonly { readonly shift: bigint; readonly inverted?: true }[];
}[] = [
  { range: '::/96', name: 'IPv4-compatible', shifts: [{ shift: 0n }] },
  { range: '::ffff:0:0:0/96', name: 'IPv4-translated', shifts: [{ shift: 0n }] },
  { range: '64:ff9b::/96', name: 'NAT64', shifts: [{ shift: 0n }] },
  { range: '2002::/16', name: '6to4', shifts: [{ shift: 80n }] },
  { range: '2001::/32', name: 'Teredo', shifts: [{ shift: 64n }, { shift: 0n, inverted: true }] },
];
