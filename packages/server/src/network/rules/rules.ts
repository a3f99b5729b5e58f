import { BlockList, isIP, isIPv6 } from 'node:net';
import type { EgressRefusal, NetworkRules } from '@caisson/contract';
import { addTo, type ClosedAddresses } from './closed-addresses.ts';
import { hostText, type Target } from './host.ts';

export type Ruling =
  | { readonly allowed: true; readonly rule?: string }
  | { readonly allowed: false; readonly why: EgressRefusal; readonly rule?: string; readonly suggestion?: string };

export interface Rules {
  readonly namesMatter: boolean;
  decideTarget(target: Target): Ruling;
  decideAddress(target: Target, address: string): Ruling;
}

interface Entry {
  readonly text: string;
  readonly name: string | undefined;
  matches(host: string, port: number): boolean;
}

function entryOf(text: string): Entry {
  const found = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text);
  const bare = (found?.[1] ?? text).replace(/^\[|\]$/g, '');
  const wanted = found?.[2] === undefined ? undefined : Number(found[2]);
  const portFits = (port: number) => wanted === undefined || wanted === port;
  if (bare.includes('/') || isIP(bare) !== 0) {
    const list = new BlockList();
    addTo(list, bare);
    const check = (host: string) => isIP(host) !== 0 && list.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
    return { text, name: undefined, matches: (host, port) => portFits(port) && check(host) };
  }
  const fits = bare.startsWith('*.') ? (host: string) => host.endsWith(bare.slice(1)) : (host: string) => host === bare;
  return { text, name: bare, matches: (host, port) => portFits(port) && fits(host) };
}

export function compileRules(rules: NetworkRules, closed: ClosedAddresses): Rules {
  const allow = rules.allow.map(entryOf);
  const deny = rules.deny.map(entryOf);
  const decide = (host: string, port: number): Ruling => {
    if (rules.mode === 'off') return { allowed: false, why: 'network_off' };
    const denied = deny.find((entry) => entry.matches(host, port));
    if (denied) return { allowed: false, why: 'denied', rule: denied.text };
    const allowed = allow.find((entry) => entry.matches(host, port));
    if (allowed) return { allowed: true, rule: allowed.text };
    if (rules.mode === 'open') return { allowed: true };
    const suggestion = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
    return { allowed: false, why: 'not_allowed', suggestion };
  };
  const decideTarget = ({ host, port }: Target): Ruling => {
    const ruling = decide(hostText(host), port);
    if (!ruling.allowed || host.kind === 'name' || !closed.refuses(host.address, port)) return ruling;
    return { allowed: false, why: 'private_address' };
  };
  return {
    namesMatter: rules.mode === 'allowlist' || deny.some(({ name }) => name !== undefined),
    decideTarget,
    decideAddress(target, address) {
      const ruling = decideTarget(target);
      if (!ruling.allowed) return ruling;
      const denied = deny.find((entry) => entry.matches(address, target.port));
      if (denied) return { allowed: false, why: 'denied', rule: denied.text };
      return closed.refuses(address, target.port) ? { allowed: false, why: 'private_address' } : ruling;
    },
  };
}
